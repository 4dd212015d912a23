package matrix

import (
	"bytes"
	"fmt"
	"strings"

	"gorun/internal/hint"
	presets "gorun/testdata/matrix"
)

// Presets lists gorun's own matrices, each in a file of testdata/matrix.
var Presets = []struct{ Name, Experiment, Usage string }{
	{"quick", "primes", "8 ways to place the workers of gorun primes, within a minute"},
	{"classic", "primes", "38 rows: goroutines, threads, CPUs and priority, each from 50 to 20000 workers"},
	{"original", "primes", "the rows of classic with the original's division, n % i: takes hours"},
}

// Preset returns the spec with this name.
func Preset(name string) (Spec, error) {
	names := make([]string, len(Presets))
	for i, p := range Presets {
		names[i] = p.Name
		if p.Name != name {
			continue
		}
		text, err := presets.Files.ReadFile(name + ".yaml")
		if err != nil {
			return Spec{}, err
		}
		return ReadSpec(bytes.NewReader(text))
	}
	return Spec{}, hint.With(fmt.Errorf("there is no preset %q", name), "presets: "+strings.Join(names, ", "))
}
