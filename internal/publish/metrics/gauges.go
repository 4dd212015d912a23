package metrics

import (
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"gorun/internal/base/hint"
)

// Metric is a gauge outside a run.
type Metric struct {
	Name   string
	Help   string
	Labels []string // names
	Points []Point
}

// Point is a value of a metric, with the values of its labels.
type Point struct {
	Labels []string
	Value  float64
}

// plain returns the value of a label, in which the format itself escapes line ends.
func plain(label string) string { return hint.Plain(label, "\n") }

// WriteGauges writes metrics in the text exposition format
// (https://prometheus.io/docs/instrumenting/exposition_formats).
func WriteGauges(w io.Writer, gauges []Metric) error {
	registry := prometheus.NewRegistry()
	for _, g := range gauges {
		vector := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: g.Name, Help: g.Help}, g.Labels)
		if err := registry.Register(vector); err != nil {
			return err
		}
		for _, p := range g.Points {
			labels := make([]string, len(p.Labels))
			for i, text := range p.Labels {
				labels[i] = plain(text)
			}
			vector.WithLabelValues(labels...).Set(p.Value)
		}
	}
	return writeText(w, registry)
}

// writeText writes what a registry gathers in the text exposition format.
func writeText(w io.Writer, registry *prometheus.Registry) error {
	families, err := registry.Gather()
	if err != nil {
		return err
	}
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(w, family); err != nil {
			return err
		}
	}
	return nil
}
