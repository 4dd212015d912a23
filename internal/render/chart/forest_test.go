package chart

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/result"
	"gorun/internal/stats"
)

// The ratios of a cell have marks of different shape and ink, and the words of their figures.
func TestRatiosDiffer(t *testing.T) {
	seen := map[string]bool{}
	for k := range 12 {
		mark := markClass(k) + svgMark(k, 0, 0)
		assert.False(t, seen[mark], k)
		seen[mark] = true
	}
	v := stats.Verdict{Typical: stats.Effect{Ratio: 3, Lo: 2.5, Hi: 3.5}}
	run := &result.Run{Matrix: &result.Matrix{Figures: []result.JudgedColumn{{Column: "a", Label: "CPU time"}, {Column: "b", Label: "misses"}}}}
	ratios := ratiosOf(run, result.Cell{Verdict: &v, Verdicts: map[string]stats.Verdict{"a": v, "b": v}})
	for k, want := range map[int]string{0: "2.5–3.5 × as long", 2: "2.5–3.5 × as long", 3: "2.5–3.5 × as much"} {
		assert.Equal(t, want, ratios[k].text())
	}
}
