package fleet

import (
	"fmt"
	"slices"

	"gorun/internal/publish/document"
	"gorun/internal/publish/metrics"
)

// Drains implements document.Draining: each node of which this is certain, in the order of the names. A comment says why another node that
// is named has none.
func (j *Judgement) Drains() (drains []document.Drain, comments []string) {
	unexpected := map[string]bool{}
	for _, n := range j.Nodes {
		unexpected[n.Name] = n.State == Unexpected
	}
	var nodes []string
	reasons := map[string]string{}
	add := func(node, reason string) {
		if reasons[node] == "" {
			nodes = append(nodes, node)
			reasons[node] = "gorun: " + reason
			return
		}
		reasons[node] += ", " + reason
	}
	leave := func(node, reason, why string) {
		comments = append(comments, fmt.Sprintf("no line for %s (%s): %s", node, reason, why))
	}
	for _, w := range j.Wrong {
		reason := "wrong result at " + w.Time
		switch {
		case unexpected[w.Node]:
			leave(w.Node, reason, "it is not in --expect")
		case reasons[w.Node] == "": // the first is enough
			add(w.Node, reason)
		}
	}
	for _, s := range j.Slow {
		reason := s.words()
		if s.Part != "" {
			reason += " (" + s.Part + ")"
		}
		if s.Unsure != "" {
			leave(s.Node, reason, s.Unsure)
		} else {
			add(s.Node, reason)
		}
	}
	for _, node := range nodes {
		drains = append(drains, document.Drain{Node: node, Reason: reasons[node]})
	}
	return drains, comments
}

// Gauges implements document.Metered.
func (j *Judgement) Gauges() []metrics.Metric {
	slow := metrics.Metric{Name: "gorun_fleet_slow_ratio", Help: "Of a node that is named: its time divided by its peers', or their rate divided by its own.", Labels: []string{"node", "measure"}}
	for _, s := range j.Slow {
		slow.Points = append(slow.Points, metrics.Point{Labels: []string{s.Node, s.Measure}, Value: s.Ratio})
	}
	wrong := metrics.Metric{Name: "gorun_fleet_wrong_results", Help: "The number of wrong results of a node.", Labels: []string{"node"}}
	for _, node := range distinct(j.Wrong, func(w Wrong) string { return w.Node }) {
		n := len(slices.DeleteFunc(slices.Clone(j.Wrong), func(w Wrong) bool { return w.Node != node }))
		wrong.Points = append(wrong.Points, metrics.Point{Labels: []string{node}, Value: float64(n)})
	}
	states := metrics.Metric{Name: "gorun_fleet_nodes", Help: "The number of nodes in each state.", Labels: []string{"state"}}
	for _, state := range States {
		states.Points = append(states.Points, metrics.Point{Labels: []string{string(state)}, Value: float64(j.States[state])})
	}
	medians := metrics.Metric{Name: "gorun_fleet_class_median", Help: "The median figure of a class of nodes, in the measure's unit.", Labels: []string{"class", "measure"}}
	for _, c := range j.Classes {
		for _, m := range c.Measures {
			medians.Points = append(medians.Points, metrics.Point{Labels: []string{c.Name, m.Measure}, Value: m.Median})
		}
	}
	visits := metrics.Metric{Name: "gorun_fleet_visits_judged", Help: "The number of visits that were judged.", Points: []metrics.Point{{Value: float64(j.Visits.Judged)}}}
	return []metrics.Metric{slow, wrong, states, visits, medians}
}
