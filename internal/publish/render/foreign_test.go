package render

import (
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
	"gorun/internal/show/rendertest"
	"gorun/internal/show/term"
	"gorun/internal/stats"
)

// Whatever a journal or a machine holds, nothing in it reaches the terminal but what can be printed. TestViewsOfHostileRuns of
// the report has the formats of a run, and its other tests those of two.
func TestForeignTextsAreHarmless(t *testing.T) {
	interim := &result.Interim{Running: "a", Rounds: 12, Cells: []result.InterimCell{
		{Name: "a", Seconds: 0.161, Verdict: *rendertest.Effect(stats.CantTell, 1, -1.2, 3.4, 12), Open: true},
		{Name: "b", Seconds: 0.181, Verdict: *rendertest.Effect(stats.Slower, 12, 11, 13, 12)},
	}}
	for name, write := range map[string]func(w io.Writer) error{
		"plan": func(w io.Writer) error { return all.Plan(w, rendertest.Soiled(t, matrixPlan()), "table") },
		"interim": func(w io.Writer) error {
			(&term.Scoreboard{W: w, Opts: term.Options{Terminal: true}}).Draw(*rendertest.Soiled(t, interim))
			return nil
		},
		"machine": func(w io.Writer) error {
			return Topo(w, &topology.Machine{Warnings: []string{rendertest.Hostile}}, topology.Details{
				CPUModel: rendertest.Hostile, Warnings: []string{rendertest.Hostile}, Devices: []topology.DeviceInterrupts{
					{Device: topology.Device{PCI: rendertest.Hostile, Kind: rendertest.Hostile, Names: []string{rendertest.Hostile}}},
				},
			}, term.Options{})
		},
	} {
		var page strings.Builder
		require.NoError(t, write(&page), name)
		assert.Contains(t, page.String(), "title", "the text is there")
		own := strings.NewReplacer("\x1b[K", "", "\r", "", "\n", "") // of the live table
		assert.False(t, strings.ContainsFunc(own.Replace(page.String()), func(r rune) bool { return !unicode.IsPrint(r) }), name)
	}
}
