package metrics

import (
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Metric is a gauge outside a run, with at most one label.
type Metric struct {
	Name  string
	Help  string
	Label string // "": none

	values []labelled
}

type labelled struct {
	label string
	value float64
}

// Set sets the value for a value of the label; "" for a metric without one.
func (g *Metric) Set(label string, value float64) {
	g.values = append(g.values, labelled{label, value})
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
		for _, v := range g.values {
			of := []string{}
			if g.Label != "" {
				of = []string{v.label}
			}
			vector.WithLabelValues(of...).Set(v.value)
		}
	}
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
