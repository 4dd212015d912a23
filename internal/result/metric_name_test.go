package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMetricName(t *testing.T) {
	for text, want := range map[string]string{
		`(?P<latency>[0-9.]+) ms`:           "latency",
		`rps=([0-9.]+)`:                     "rps",
		`score (\d+)`:                       "score",
		`Requests per second: *([0-9.]+)`:   "Requests per second",
		`"p99":\s*([0-9.]+)`:                "p99",
		`(?m)^tps = ([0-9.]+)`:              "tps",
		"rps=([0-9.]+)\nerrors=([0-9]+)":    "rps",
		`(?:a|b) rate: ([0-9.]+)`:           "rate",
		`([0-9.]+) requests`:                MetricColumn,
		`\w+ ([0-9]+)`:                      MetricColumn,
		`redis_commands_total`:              "redis_commands_total",
		`requests_total{code="200"}`:        "requests_total",
		`process:run-queue`:                 "process:run-queue",
		`histogram_quantile(0.9, x_bucket)`: MetricColumn,
		``:                                  MetricColumn,
		`a very long name of a figure that no title has room for=([0-9]+)`: MetricColumn,
	} {
		run := &Run{Cells: []Cell{{Flags: map[string]string{MetricColumn: text}}}}
		assert.Equal(t, want, run.MetricName(), "%s", text)
		run = &Run{Cells: []Cell{{}}, Spec: map[string]any{MetricColumn: text}} // of live
		assert.Equal(t, want, run.MetricName(), "%s", text)
	}
}
