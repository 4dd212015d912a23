package view

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/render/term"
	"gorun/internal/result"
)

// Figures make reasons many; they are told together, and few of them.
func TestReasonsAreCounted(t *testing.T) {
	var samples []result.Sample
	for i, kind := range []string{"a", "a", "a", "b", "c", "c", "d", "e", "f"} {
		s := result.Sample{Index: i}
		s.Quality.Verdict = result.Suspect
		s.Quality.Reasons = []string{kind + " took the same time"}
		if kind == "a" {
			s.Quality.Reasons = []string{fmt.Sprintf("a took %d.5 s", i)}
		}
		samples = append(samples, s)
	}
	assert.Equal(t, `  suspect: a took 0.5 s (3 samples alike)
  suspect: c took the same time (2 samples)
  suspect: b took the same time
  suspect: d took the same time
  suspect: … and 2 other reasons; --format json has all
`, reasonLines(samples, term.Options{}))
}
