package render

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/rendertest"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/topology"
)

func assertHarmless(t *testing.T, page string) {
	t.Helper()
	assert.Contains(t, page, "title", "the text is there")
	for line := range strings.Lines(page) {
		assert.False(t, strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool {
			return !unicode.IsPrint(r)
		}), "%q", line)
	}
}

// Whatever a journal or a machine holds, nothing in it reaches the terminal but what can be printed. TestViewsOfHostileRuns of
// the report has the formats of a run.
func TestForeignTextsAreHarmless(t *testing.T) {
	var page strings.Builder
	require.NoError(t, Comparison(&page, rendertest.Soiled(t, comparison()), "table", term.Options{}))
	assertHarmless(t, page.String())

	page.Reset()
	require.NoError(t, all.Plan(&page, rendertest.Soiled(t, matrixPlan()), "table"))
	assertHarmless(t, page.String())

	page.Reset()
	standing := result.Standing{Running: "a", Rounds: 12, Cells: []result.StandingCell{
		{Name: "a", Seconds: 0.161, Verdict: *rendertest.Effect(stats.CantTell, 1, -1.2, 3.4, 12), Open: true},
		{Name: "b", Seconds: 0.181, Verdict: *rendertest.Effect(stats.Slower, 12, 11, 13, 12)},
	}}
	board := term.Scoreboard{W: &page, Opts: term.Options{Terminal: true}}
	board.Draw(*rendertest.Soiled(t, &standing))
	assertHarmless(t, strings.NewReplacer("\x1b[K", "", "\r", "").Replace(page.String())) // the live table's own

	page.Reset()
	require.NoError(t, Topo(&page, &topology.Machine{Warnings: []string{rendertest.Hostile}}, topology.Details{
		CPUModel: rendertest.Hostile, Warnings: []string{rendertest.Hostile}, Devices: []topology.DeviceInterrupts{
			{Device: topology.Device{PCI: rendertest.Hostile, Kind: rendertest.Hostile, Names: []string{rendertest.Hostile}}},
		},
	}, term.Options{}))
	assertHarmless(t, page.String())

	page.Reset()
	require.NoError(t, all.BenchfmtPair(&page, rendertest.Soiled(t, matrixRun()), matrixRun(), rendertest.Hostile, "b"))
	assertHarmless(t, page.String())
}
