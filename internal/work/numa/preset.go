package numa

import (
	"slices"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
)

// latency is the preset without a distance.
const latency = "latency"

// distances are the flags that a machine with one node has rows of the RFC for only when asked.
var distances = []string{
	"mem", "cpu", "numa-balancing", "scan-delay", "migration-cost", "preferred-node", "rows", "full", "blocks", "mem-policy",
	"first-touch", "load",
}

// fill sets the flags that are not given to the preset's values, and returns its number of samples; 0: there is no preset.
func (f *flags) fill(m experiment.Machine) (samples int, err error) {
	if f.preset == "" && len(m.Nodes) == 1 && !slices.ContainsFunc(distances, f.given) {
		f.preset = latency
	}
	if f.preset == "" {
		return 0, nil
	}
	spec, err := matrix.Preset(f.preset)
	if err != nil {
		return 0, err
	}
	for _, axis := range spec.Groups[0].Axes {
		if !f.given(axis.Flag) {
			_ = f.set.Lookup(axis.Flag).Value.Set(strings.Join(axis.Values, ",")) // valid, and not given
		}
	}
	return *spec.Samples, nil
}

// setsBalancing reports whether the command line or the preset gives values of NUMA balancing.
func (f *flags) setsBalancing() bool {
	text := *f.text["numa-balancing"]
	return f.given("numa-balancing") || text != "" && text != keep
}
