package contend

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/rendertest"
	"gorun/internal/result"
)

// The range of a row's samples is drawn around their median, and mentioned.
func TestCurvesShowTheSpread(t *testing.T) {
	run := &result.Run{Experiment: "contend", Samples: append(row(0, 1, 0, ByTime, 1, 30), row(1, 2, 0, ByTime, 1, 147, 165, 150)...)}
	f, ok := drawCurves(run)
	require.True(t, ok)
	rendertest.Figure(t, f)
	assert.Contains(t, f.SVG, "<title>xadd, 2 CPUs: 150 ns (147 … 165)</title>")
	assert.Equal(t, 1, strings.Count(f.SVG, `stroke-width="5" opacity=".4"`))
	run.Samples = run.Samples[:2]
	f, ok = drawCurves(run)
	require.True(t, ok)
	assert.NotContains(t, f.SVG, `stroke-width="5"`, "one sample has no range")
	run.Samples[1].Quality.Verdict = result.Invalid
	_, ok = drawCurves(run)
	assert.False(t, ok, "an invalid row is no point of a curve")
}
