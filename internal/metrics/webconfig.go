package metrics

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"

	"gorun/internal/hint"
)

// ErrWebConfig is wrapped by Serve's error if the file with TLS and users is faulty: wrong usage.
var ErrWebConfig = errors.New("it does not say how to serve")

// readWebConfig checks the file, including certificates and password hashes, and returns the scheme by which the
// metrics are served. The file is in the format of Prometheus's own servers and exporters:
// https://prometheus.io/docs/prometheus/latest/configuration/https
func readWebConfig(path string) (scheme string, err error) {
	if path == "" {
		return "http", nil
	}
	var config web.Config
	text, err := os.ReadFile(path)
	if err == nil {
		err = web.Validate(path)
	}
	if err == nil {
		err = yaml.Unmarshal(text, &config)
	}
	if err != nil {
		words := strings.Join(strings.Fields(err.Error()), " ") // YAML's errors have several lines
		return "", hint.With(fmt.Errorf("%s: %w: %s", path, ErrWebConfig, words),
			"write tls_server_config with cert_file and key_file, basic_auth_users with bcrypt hashes (htpasswd -B), or both")
	}
	if config.TLSConfig.IsEnabled() {
		return "https", nil
	}
	return "http", nil
}
