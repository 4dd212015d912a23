package pair

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render"
	"gorun/internal/result"
)

func TestPlan(t *testing.T) {
	plan := &result.Plan{Experiment: "pair", CPUs: "0-1", PairRows: []result.PairRow{
		{CPUA: 0, CPUB: 0, Relation: "same-cpu", Loops: 500},
		{CPUA: -1, CPUB: -1, Relation: "same-core", Lacking: "no core has two of the CPUs"},
		{CPUA: 0, CPUB: 1, Relation: "same-llc", Loops: 500_000},
	}}
	var out strings.Builder
	require.NoError(t, render.Views{Experiment}.Plan(&out, plan, "table"))
	assert.Equal(t, `Plan of gorun pair (nothing was run)
  CPUs of the run    0-1

  relation   CPUs   loops
  same-cpu   0,0      500
  same-core  -          -  no core has two of the CPUs
  same-llc   0,1   500000
`, out.String())
}

// The judged CPU time is the sum of both processes over the loops of one.
func TestCPUPerLoop(t *testing.T) {
	s := result.Sample{UserSeconds: 0.5, SystemSeconds: 0.25, Values: result.FiguresOf(&Figures{Loops: 1000})}
	figure, known := cpuPerLoop.Number(&s)
	assert.True(t, known)
	assert.InDelta(t, 0.75e9/1000, figure, 1e-9)
	_, known = cpuPerLoop.Number(&result.Sample{UserSeconds: 1})
	assert.False(t, known, "a sample without loops")
}

// Shares are as in top(1): CPU time over elapsed time.
func TestShare(t *testing.T) {
	assert.Equal(t, 75.0, share(1.5, 2))
	assert.Zero(t, share(1, 0))
}
