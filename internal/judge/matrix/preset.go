package matrix

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/hint"
)

// Predefined is a preset.
type Predefined struct{ Name, Experiment, Usage string }

// Entry implements catalog.Entry.
func (p Predefined) Entry() (name, usage string) { return p.Name, p.Usage }

//go:embed presets/*.yaml
var presets embed.FS

// Presets lists gorun's own matrices, each in a file of presets.
var Presets = []Predefined{
	{"quick", "primes", "8 ways to place the workers of gorun primes, within a minute"},
	{"classic", "primes", "38 rows: goroutines, threads, CPUs and priority, each from 50 to 20000 workers"},
	{"original", "primes", "the rows of classic with the original's division, n % i: takes hours"},
	{"rfc-intel", "numa", "the RFC's 36 rows of December 2023 on nodes 0 and 1, 64 samples of each"},
	{"rfc-amd", "numa", "the same rows as in February 2024, 36 samples of each"},
}

// PresetsOf returns the presets of an experiment.
func PresetsOf(experiment string) []Predefined {
	return slices.DeleteFunc(slices.Clone(Presets), func(p Predefined) bool { return p.Experiment != experiment })
}

// Preset returns the spec with this name.
func Preset(name string) (Spec, error) {
	if name == "latency" {
		return Spec{}, hint.With(errors.New("gorun memory measures the time of an access by the size of the memory"), "gorun memory --latency")
	}
	var names []string
	for _, p := range Presets {
		if p.Name == name {
			text, _ := presets.ReadFile("presets/" + name + ".yaml") // a test reads all
			return ReadSpec(bytes.NewReader(text))
		}
		names = append(names, p.Name)
	}
	return Spec{}, hint.With(fmt.Errorf("there is no preset %q", name), "presets: "+strings.Join(names, ", "))
}
