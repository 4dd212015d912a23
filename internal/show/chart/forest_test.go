package chart

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// The ratios of a cell have marks of different shape, and the words of their figures.
func TestRatiosDiffer(t *testing.T) {
	seen := map[Markup]bool{}
	for k := range shapes {
		mark := svgMark(k, 0, 0)
		assert.False(t, seen[mark], k)
		seen[mark] = true
	}
	v := stats.Verdict{Typical: stats.Effect{Ratio: 3, Lo: 2.5, Hi: 3.5}}
	amount := v
	amount.Amount = true
	run := &result.Run{Matrix: &result.Matrix{Figures: []result.JudgedFigure{{Column: "a", Label: "CPU time"}, {Column: "b", Label: "misses"}}}}
	ratios := ratiosOf(run, result.Cell{Verdict: &v, Verdicts: map[string]stats.Verdict{"a": v, "b": amount}})
	for k, want := range map[int]string{0: "2.5–3.5 × as long", 2: "2.5–3.5 × as long", 3: "2.5–3.5 × as much"} {
		assert.Equal(t, want, ratios[k].words)
	}
}

// The words at the ends of the axis are true for all that is drawn.
func TestEndsOfTheAxis(t *testing.T) {
	time := stats.Verdict{Kind: stats.Slower, Typical: stats.Effect{Ratio: 1.25, Lo: 1.24, Hi: 1.26}, Step: 0.001, Margin: 0.02}
	rate, amount := time, time
	rate.Rate, amount.Amount = true, true
	for _, c := range []struct {
		decides stats.Verdict
		figure  *stats.Verdict
		want    []string
	}{
		{time, &time, []string{"← takes less time", "takes longer →", ": +24% to +26%"}},
		{rate, nil, []string{"← lower rate", "higher rate →", ": −21% to −19%"}},
		{rate, &rate, []string{"← lower rate", "higher rate →"}},
		{amount, &amount, []string{"← less", "more →"}},
		{rate, &amount, []string{"← less", "more →", "misses: less is better", "typical sample: more is better"}},
	} {
		run := &result.Run{
			Matrix: &result.Matrix{Figures: []result.JudgedFigure{{Column: "a", Label: "misses"}}, Margin: 0.02},
			Cells:  []result.Cell{{Name: "a"}, {Name: "b", Verdict: &c.decides}},
		}
		if c.figure != nil {
			run.Cells[1].Verdicts = map[string]stats.Verdict{"a": *c.figure}
		}
		f, ok := RatioForest(run, view.Shape{Columns: column.Common()})
		assert.True(t, ok)
		for _, want := range c.want {
			assert.Contains(t, f.SVG, want)
		}
		assert.Contains(t, f.SVG, `<g class="slower">`)
	}
}

// An interval that is not bounded is words.
func TestUnboundedIntervals(t *testing.T) {
	for want, e := range map[string]stats.Effect{
		"not bounded yet": {Ratio: 1, Hi: math.MaxFloat64}, "at least −20%": {Ratio: 1.1, Lo: 0.8, Hi: math.MaxFloat64}, "at most +30%": {Ratio: 1.1, Hi: 1.3},
	} {
		for _, v := range []stats.Verdict{{Kind: stats.CantTell, Typical: e, Step: 0.001}} {
			run := &result.Run{Matrix: &result.Matrix{Margin: 0.02}, Cells: []result.Cell{{Name: "a"}, {Name: "b", Verdict: &v}}}
			f, ok := RatioForest(run, view.Shape{Columns: column.Common()})
			assert.True(t, ok)
			assert.Contains(t, f.SVG, `">`+want+"</text>")
			assert.NotContains(t, f.SVG, "l7-4v8z", "no arrow")
		}
	}
}
