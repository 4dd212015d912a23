package metrics

import (
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Metric is a gauge outside a run, with at most one label.
type Metric struct {
	Name   string
	Help   string
	Label  string             // "": none
	Values map[string]float64 // by the value of the label; "" without one
}

// WriteGauges writes metrics in the text exposition format
// (https://prometheus.io/docs/instrumenting/exposition_formats).
func WriteGauges(w io.Writer, gauges []Metric) error {
	registry := prometheus.NewRegistry()
	for _, g := range gauges {
		var labels []string
		if g.Label != "" {
			labels = []string{g.Label}
		}
		vector := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: g.Name, Help: g.Help}, labels)
		if err := registry.Register(vector); err != nil {
			return err
		}
		for label, value := range g.Values {
			vector.WithLabelValues([]string{label}[:len(labels)]...).Set(value)
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
