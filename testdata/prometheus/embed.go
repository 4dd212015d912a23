// Package prometheus holds the files with which a Prometheus server and Grafana show gorun's metrics. It is in their directory,
// since go:embed cannot embed files of a parent directory.
package prometheus

import "embed"

// Files are an example of a server's configuration, recording rules and alerts, and a dashboard.
//
//go:embed prometheus.yml rules.yml grafana-dashboard.json
var Files embed.FS
