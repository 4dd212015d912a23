// Package prometheus holds what a Prometheus server and Grafana need for gorun's metrics. It stands beside the files, since
// go:embed reaches no folder above its own file.
package prometheus

import "embed"

// Files are an example of a server's configuration, recording rules and alerts, and a dashboard.
//
//go:embed prometheus.yml rules.yml grafana-dashboard.json
var Files embed.FS
