package fleet

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// settings returns the settings in which nodes differ from most nodes of the same processor. A setting in which the nodes are
// divided, so that fewer than half have the same value, has no usual value and is not reported.
func (j *judge) settings() (all []Setting) {
	models := map[string]map[string]map[string]string{} // settings by node, by processor
	for name, n := range j.nodes {
		if n.last == nil || n.unexpected {
			continue
		}
		model := n.last.host.CPUModel
		if models[model] == nil {
			models[model] = map[string]map[string]string{}
		}
		models[model][name] = n.last.conditions()
	}
	for _, nodes := range models {
		names := map[string]bool{}
		for _, settings := range nodes {
			for name := range settings {
				names[name] = true
			}
		}
		for name := range names {
			by := map[string][]string{} // nodes by value
			for node, settings := range nodes {
				value := cmp.Or(settings[name], asItShould)
				by[value] = append(by[value], node)
			}
			all = append(all, unusual(name, by, len(nodes))...)
		}
	}
	slices.SortFunc(all, func(a, b Setting) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value), slices.Compare(a.Nodes, b.Nodes))
	})
	return all
}

// unusual returns the values that most nodes do not have, if most have one.
func unusual(name string, by map[string][]string, nodes int) (all []Setting) {
	for usual, of := range by {
		if 2*len(of) <= nodes {
			continue
		}
		for value, of := range by {
			if value != usual {
				all = append(all, Setting{name, value, usual, slices.Sorted(slices.Values(of))})
			}
		}
	}
	return all
}

// asItShould is the value of a condition of which a visit says nothing.
const asItShould = "as it should be"

// notSettings are the conditions that differ between nodes by nature.
var notSettings = []string{"host", "boot", "kernel-command-line", "environment", "cpu-model"}

// conditions returns the conditions of a machine, and those of `gorun doctor` that are not as they should be.
func (m *machine) conditions() map[string]string {
	all := result.ConditionsOf(&result.Run{Host: m.host, Tool: m.tool})
	for _, name := range notSettings {
		delete(all, name)
	}
	for name, value := range m.settings {
		if !slices.Contains(slices.Collect(maps.Values(all)), value) { // the same, under another name
			all["doctor: "+name] = value
		}
	}
	return all
}

const (
	// clockOff is a difference of clocks that is reported.
	clockOff = 10 * time.Minute
	// clockAgrees is how close the files of most nodes must be to the ends of their visits, for a difference to mean anything: files that
	// were copied one day later say nothing about clocks.
	clockAgrees = time.Minute
)

// clocks returns the nodes whose clocks differ from the time at which their files were last written, where most nodes' do not.
func (j *judge) clocks(visits []visit) (off []Clock) {
	lags := map[string][]float64{}
	for i := range visits {
		v := &visits[i]
		if n := j.nodes[v.node]; !v.cut && (n == nil || !n.unexpected) {
			lags[v.node] = append(lags[v.node], v.modified.Sub(v.end).Seconds())
		}
	}
	close := 0
	for _, of := range lags {
		if math.Abs(stats.Median(of)) <= clockAgrees.Seconds() {
			close++
		}
	}
	if 2*close <= len(lags) {
		return nil
	}
	for _, node := range slices.Sorted(maps.Keys(lags)) {
		if lag := stats.Median(lags[node]); math.Abs(lag) >= clockOff.Seconds() {
			off = append(off, Clock{node, -lag})
		}
	}
	return off
}
