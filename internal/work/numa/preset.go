package numa

import (
	"fmt"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/judge/matrix"
)

// parsePreset returns the table of numa with this name.
func parsePreset(name string) (matrix.Spec, error) {
	spec, err := matrix.Preset(name)
	if err == nil && spec.Experiment != "numa" {
		err = hint.With(fmt.Errorf("its cells are for gorun %s", spec.Experiment), "gorun matrix "+spec.Experiment+" --preset "+name)
	}
	return spec, err
}

// fill sets the flags that are not given to the preset's values, and returns its number of samples; 0: there is no preset.
func (f *flags) fill() (samples int) {
	if f.preset == "" {
		return 0
	}
	for _, axis := range f.table.Groups[0].Axes {
		if !f.given(axis.Flag) {
			_ = f.set.Lookup(axis.Flag).Value.Set(strings.Join(axis.Values, ",")) // valid, and not given
		}
	}
	return *f.table.Samples
}

// setsBalancing reports whether the command line or the preset gives values of NUMA balancing.
func (f *flags) setsBalancing() bool {
	text := *f.text["numa-balancing"]
	return f.given("numa-balancing") || text != "" && text != keep
}
