package numa

// preset gives the rows of one of the RFC's tables.
type preset struct {
	name, usage string
	samples     int // of each row
}

// Entry implements catalog.Entry.
func (p preset) Entry() (name, usage string) { return p.name, p.usage }

// presets lists the tables of the RFC: the same 36 rows on machines with two and with eight nodes.
var presets = [...]preset{
	{"rfc-intel", "the 36 rows of December 2023 on nodes 0 and 1, 64 samples of each", 64},
	{"rfc-amd", "the 36 rows of February 2024 on nodes 0 and 1, 36 samples of each", 36},
}

// presetFlags returns the flags to which a preset gives values unless the command line does; none without a preset.
func (f *flags) presetFlags() map[string]*string {
	if f.preset == "" {
		return nil
	}
	return map[string]*string{
		"mem": &f.mem, "cpu": &f.cpu, "numa-balancing": &f.balancing, "preferred-node": &f.preferred,
		"first-touch": &f.firstTouch,
	}
}

// presetValues are the presets' values. The RFC's probe touched its memory before the memory was bound.
var presetValues = map[string]string{
	"mem": "0,1,float", "cpu": "0,1,float", "numa-balancing": "0,1", "preferred-node": "none,0,1",
	"first-touch": TouchBefore,
}

// fill sets the flags that are not given to the preset's values, and returns the preset.
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

// asks reports whether a flag has a value, on the command line or from the preset.
func (f *flags) asks(flag string) bool {
	_, preset := f.presetFlags()[flag]
	return preset || f.given(flag)
}
