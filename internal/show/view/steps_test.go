package view

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// What a search in order says first, by how far it came.
func TestSteps(t *testing.T) {
	verdict := func(kind stats.Kind, lo, hi float64) *stats.Verdict {
		v := stats.Verdict{Kind: kind, Typical: stats.Effect{Ratio: (lo + hi) / 2, Lo: lo, Hi: hi}, Rounds: 9, Margin: 0.02, Step: 0.001, Scale: 2 / 1.02}
		if kind == stats.CantTell {
			v.Forecast = &stats.Forecast{Kind: stats.Decision, Rounds: 12, Seconds: 8}
		}
		return &v
	}
	scales, stops, open := verdict(stats.Scales, 1, 1.25), verdict(stats.Stops, 2, 2.5), verdict(stats.CantTell, 1.6, 2.5)
	first := stats.Verdict{Margin: 0.02}.Unjudged("not tried")
	for _, c := range []struct {
		flag     string
		verdicts []*stats.Verdict
		reached  int
		want     string
	}{
		{"copies", []*stats.Verdict{nil, scales, scales}, 2, "Scales to 4 copies, the most that was asked for; from 2 to 4 copies: 1.60–2.00 × as much"},
		{"copies", []*stats.Verdict{nil, scales, stops}, 1, "Scales to 2 copies; not from 2 to 4 copies: 0.800–1.00 × as much"},
		{"copies", []*stats.Verdict{nil, stops, &first}, 0, "Does not scale from 1 to 2 copies: 0.800–1.00 × as much"},
		{
			"copies",
			[]*stats.Verdict{nil, scales, open},
			1,
			"Scales to 2 copies; not shown to scale from 2 to 4 copies: 0.800–1.25 × as much; about 12 more rounds (8 s) would decide",
		},
		{
			"copies",
			[]*stats.Verdict{nil, open, &first},
			0,
			"Can't tell whether it scales from 1 to 2 copies: 0.800–1.25 × as much; about 12 more rounds (8 s) would decide",
		},
		{"gomaxprocs", []*stats.Verdict{nil, scales, stops}, 1, "Scales to GOMAXPROCS 2; not from GOMAXPROCS 2 to 4: 0.800–1.00 × as much"},
	} {
		run := &result.Run{Matrix: &result.Matrix{Steps: []result.Step{{Cell: 1, Work: 2}, {Cell: 2, Work: 2}}, Reached: &c.reached}}
		for i, v := range c.verdicts {
			run.Cells = append(run.Cells, result.Cell{Flags: map[string]string{c.flag: []string{"1", "2", "4"}[i]}, Verdict: v})
		}
		assert.Equal(t, c.want, Verdicts(run)[0].Text)
	}
}
