package numa

import (
	"slices"

	"gorun/internal/experiment"
)

// preset gives the rows of a table.
type preset struct {
	name, usage string
	samples     int               // of each row
	values      map[string]string // of flags that the command line does not give
}

// Entry implements catalog.Entry.
func (p preset) Entry() (name, usage string) { return p.name, p.usage }

// latency is the preset without a distance.
const latency = "latency"

// presets lists the tables of the RFC, which are the same 36 rows on machines with two and with eight nodes, and the one for a
// machine with one node.
var presets = [...]preset{
	{"rfc-intel", "the 36 rows of December 2023 on nodes 0 and 1, 64 samples of each", 64, rfcValues},
	{"rfc-amd", "the 36 rows of February 2024 on nodes 0 and 1, 36 samples of each", 36, rfcValues},
	{latency, "the time of an access by the size of the buffer, the default on a machine with one node", 3, map[string]string{
		"mem": "float", "cpu": "float", "numa-balancing": keep, "preferred-node": "none", "load": "0", "access": "chase",
		"buffer": "32KiB,1MiB,32MiB,256MiB", "accesses": "262144",
	}},
}

// rfcValues are those of the RFC, whose probe touched its memory before the memory was bound.
var rfcValues = map[string]string{
	"mem": "0,1,float", "cpu": "0,1,float", "numa-balancing": "0,1", "preferred-node": "none,0,1",
	"first-touch": TouchBefore,
}

// distances are the flags that a machine with one node has rows of the RFC for only when asked.
var distances = []string{
	"mem", "cpu", "numa-balancing", "scan-delay", "migration-cost", "preferred-node", "rows", "full", "blocks", "mem-policy",
	"first-touch", "load", "load-only",
}

// fill sets the flags that are not given to the preset's values, and returns the preset.
func (f *flags) fill(m experiment.Machine) (p preset) {
	if f.preset == "" && len(m.Nodes) == 1 && !slices.ContainsFunc(distances, f.given) {
		f.preset = latency
	}
	for _, one := range presets {
		if one.name == f.preset {
			p = one
		}
	}
	for name, value := range p.values {
		if !f.given(name) {
			_ = f.set.Lookup(name).Value.Set(value) // valid, and not given
		}
	}
	return p
}

// asks reports whether a flag has a value, on the command line or from the preset.
func (f *flags) asks(flag string) bool {
	if f.given(flag) {
		return true
	}
	i := slices.IndexFunc(presets[:], func(p preset) bool { return p.name == f.preset })
	return i >= 0 && presets[i].values[flag] != "" && presets[i].values[flag] != keep
}
