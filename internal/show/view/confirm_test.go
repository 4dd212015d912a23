package view

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
	"gorun/internal/show/term"
	"gorun/internal/stats"
)

// What confirms a cause is in the answer, and its share is a row of the table.
func TestConfirmedCause(t *testing.T) {
	shift := stats.Shift{Typical: 0.03, Lo: new(0.029), Hi: new(0.031)}
	verdict := worse
	why := &result.Why{
		Rounds: 20, Cause: result.WhyWaiting, Wall: result.Part{Name: result.WhyWall, Label: "wall time", Unit: result.WhySeconds, Shift: shift},
		Parts: []result.Part{{Name: result.WhyWaiting, Label: "waiting for a CPU", Unit: result.WhySeconds, Shift: shift}},
		Confirmed: &result.Confirmed{
			Result: result.ConfirmedCause, Candidate: &result.Candidate{Axis: result.AxisNice, Value: "-20"}, Rounds: 12,
			Share: &stats.Shift{Typical: 0.95, Lo: new(0.9), Hi: new(1.02)},
		},
	}
	run := &result.Run{Matrix: &result.Matrix{}, Cells: []result.Cell{{Name: "a"}, {Name: "b", Verdict: &verdict, Why: why}}}
	name := func(cell int) string { return run.Cells[cell].Name }
	shown := func() string {
		run.Cells[1].Why.Asked = true
		text := ""
		for _, of := range WhyTables(run) {
			text += term.Table(of, term.Options{})
		}
		return strings.Join(strings.Fields(text), " ")
	}
	assert.Equal(t, "Why: waiting for a CPU +30.0 ms (+29.0 ms to +31.0 ms), of a difference of +30.0 ms; "+
		"confirmed: --nice -20 for the slower one takes away 90% to 102% of the difference", Causes(run, name)[0].Text)
	assert.Contains(t, shown(), "taken away by --nice -20 95.0% 90% to 102%")
	assert.Contains(t, shown(), "of 12 rounds in addition")

	why.Confirmed = &result.Confirmed{Result: result.ConfirmedUntried, Why: "no flag of gorun sets this cause alone"}
	assert.True(t, strings.HasSuffix(Causes(run, name)[0].Text, "; not confirmed: no flag of gorun sets this cause alone"))
	assert.NotContains(t, shown(), "taken away")
}
