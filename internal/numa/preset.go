package numa

// preset has the rows of one of the RFC's tables.
type preset struct {
	name, usage string
	samples     int // of each row
}

// Entry implements catalog.Entry.
func (p preset) Entry() (name, usage string) { return p.name, p.usage }

// presets are the tables of the RFC. Both have the same 36 rows, on machines with two and with eight nodes.
var presets = [...]preset{
	{"rfc-intel", "the 36 rows of December 2023 on nodes 0 and 1, 64 samples of each", 64},
	{"rfc-amd", "the 36 rows of February 2024 on nodes 0 and 1, 36 samples of each", 36},
}

// presetFlags returns the flags that a preset gives where the command line does not; none without a preset.
func (f *flags) presetFlags() map[string]*string {
	if f.preset == "" {
		return nil
	}
	return map[string]*string{
		"mem": &f.mem, "cpu": &f.cpu, "numa-balancing": &f.balancing, "preferred-node": &f.preferred,
		"first-touch": &f.firstTouch,
	}
}

// presetValues are their values. The RFC's probe had touched its memory before it was bound.
var presetValues = map[string]string{
	"mem": "0,1,float", "cpu": "0,1,float", "numa-balancing": "0,1", "preferred-node": "none,0,1",
	"first-touch": TouchBefore,
}

// fill puts the preset's values into the flags that are not given, and returns the preset.
func (f *flags) fill() (p preset) {
	for name, value := range f.presetFlags() {
		if !f.given(name) {
			*value = presetValues[name]
		}
	}
	for _, one := range presets {
		if one.name == f.preset {
			p = one
		}
	}
	return p
}

// asks reports whether a flag, or the preset in its place, has a value.
func (f *flags) asks(flag string) bool {
	_, preset := f.presetFlags()[flag]
	return preset || f.given(flag)
}
