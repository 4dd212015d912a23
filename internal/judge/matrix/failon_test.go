package matrix_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

func failOn(t require.TestingT, text string) (f matrix.FailOn) {
	require.NoError(t, f.Set(text))
	return f
}

// one is a run with one cell besides the baseline; no kind: it has no verdict.
func one(v stats.Verdict) *result.Run {
	run := &result.Run{Matrix: &result.Matrix{}, Cells: []result.Cell{{Name: "A"}, {Name: "B"}}}
	if v.Kind != "" {
		run.Cells[1].Verdict = &v
	}
	return run
}

func TestFailOn(t *testing.T) {
	verdict := func(kind stats.Kind, lo, hi float64) stats.Verdict {
		return stats.Verdict{Kind: kind, Typical: stats.Effect{Ratio: 1, Lo: lo, Hi: hi}, Margin: 0.02, Step: 0.001}
	}
	inTotal := func(v stats.Verdict, lo, hi float64) stats.Verdict {
		v.Total = &stats.Effect{Ratio: (lo + hi) / 2, Lo: lo, Hi: hi}
		return v
	}
	spoilt := verdict(stats.CantTell, 0.99, 1.01)
	spoilt.Reason = "half of its samples are invalid"
	all := []struct {
		is      string
		verdict stats.Verdict
	}{
		{"slower", verdict(stats.Slower, 1.02, 1.04)},
		{"maybe much slower", verdict(stats.Slower, 1.02, 1.09)},
		{"much slower", verdict(stats.Slower, 1.06, 1.09)},
		{"faster", verdict(stats.Faster, 0.96, 0.98)},
		{"much faster", verdict(stats.Faster, 0.5, 0.9)},
		{"same", verdict(stats.Same, 0.99, 1.01)},
		{"mixed", inTotal(verdict(stats.Mixed, 0.8, 0.9), 1.2, 1.8)},
		{"stalled", inTotal(verdict(stats.Slower, 0.99, 1.01), 1.2, 1.8)},
		{"maybe stalled", inTotal(verdict(stats.Slower, 1.02, 1.04), 1.03, 1.8)},
		{"faster, total open", inTotal(verdict(stats.Faster, 0.77, 0.78), 0.9, 1.3)},
		{"narrow", verdict(stats.CantTell, 0.97, 1.04)},
		{"open", verdict(stats.CantTell, 0, math.MaxFloat64)},
		{"spoilt", spoilt},
		{"confounded", verdict(stats.Confounded, 1.2, 1.3)},
		{"invalid", stats.InvalidVerdict("elsewhere")},
		{"none", stats.Verdict{}},
	}
	const uncertain = " narrow open spoilt confounded invalid"
	for text, want := range map[string][3]string{ // failed, undecided, passed
		"slower":               {"slower maybe much slower much slower stalled maybe stalled", "mixed" + uncertain + " none", "faster much faster same faster, total open"},
		"worse":                {"slower maybe much slower much slower stalled maybe stalled", "mixed" + uncertain + " none", "faster much faster same faster, total open"},
		"slower>5%":            {"much slower stalled", "maybe much slower mixed maybe stalled open spoilt confounded invalid none", "slower faster much faster same faster, total open narrow"},
		"slower>0.05":          {"much slower stalled", "maybe much slower mixed maybe stalled open spoilt confounded invalid none", "slower faster much faster same faster, total open narrow"},
		"faster":               {"faster much faster faster, total open", "mixed" + uncertain + " none", "slower maybe much slower much slower same stalled maybe stalled"},
		"better>5%":            {"much faster faster, total open", "mixed open spoilt confounded invalid none", "slower maybe much slower much slower faster same stalled maybe stalled narrow"},
		"difference":           {"slower maybe much slower much slower faster much faster mixed stalled maybe stalled faster, total open", "narrow open spoilt confounded invalid none", "same"},
		"difference>5%":        {"much slower much faster stalled faster, total open", "maybe much slower mixed maybe stalled open spoilt confounded invalid none", "slower faster same narrow"},
		"undecided":            {uncertain[1:], "none", "slower maybe much slower much slower faster much faster same mixed stalled maybe stalled faster, total open"},
		"slower>5%, undecided": {"much slower stalled" + uncertain, "maybe much slower mixed maybe stalled none", "slower faster much faster same faster, total open"},
	} {
		f := failOn(t, text)
		got := map[string]string{}
		for _, v := range all {
			gate := f.Gate(one(v.verdict))
			if got[gate.Result] != "" {
				got[gate.Result] += " "
			}
			got[gate.Result] += v.is
		}
		assert.Equal(t, want, [3]string{got[result.GateFailed], got[result.GateUndecided], got[result.GatePassed]}, text)
		assert.Equal(t, f, failOn(t, f.String()), "what is shown can be typed")
	}
	for _, text := range []string{"", "nosuch", "slower>", "slower>x", "slower>200%", "undecided>5%", "slower,", "cpu:", "cpu:nosuch"} {
		assert.Error(t, new(matrix.FailOn).Set(text), text)
	}
	assert.Nil(t, matrix.FailOn(nil).Gate(&result.Run{}))
	assert.Equal(t, result.GatePassed, failOn(t, "slower").Gate(&result.Run{}).Result, "a first benchmark is compared with nothing")
}

// A condition can name a figure, as the command line calls it.
func TestFailOnFigures(t *testing.T) {
	slower := stats.Verdict{Kind: stats.Slower, Typical: stats.Effect{Ratio: 1.3, Lo: 1.291, Hi: 1.31}, Step: 0.001}
	more := stats.Verdict{Kind: stats.Slower, Typical: stats.Effect{Ratio: 3, Lo: 2.7, Hi: 4}, Step: 0.001, Amount: true, Second: true}
	fewer := stats.Verdict{Kind: stats.Slower, Typical: stats.Effect{Ratio: 1.25, Lo: 1.2, Hi: 1.3}, Step: 0.001, Amount: true, Rate: true}
	run := &result.Run{
		Matrix: &result.Matrix{Compared: result.MetricColumn, Figures: []result.JudgedFigure{
			{Column: "cpu_seconds", Label: "CPU time"},
			{Column: "metric_2", Label: "requests"},
			{Column: result.MaxRSS, Label: "peak memory", Second: true},
			{Column: "own_a/op", Label: "a/op", Second: true, Cells: 1},
		}},
		Cells: []result.Cell{
			{Name: "A", Flags: map[string]string{"metric": "(?<score>[0-9]+)\n(?<requests>[0-9]+)"}},
			{Name: "B", Verdict: &stats.Verdict{Kind: stats.Same}, Verdicts: map[string]stats.Verdict{
				"cpu_seconds": slower, "metric_2": fewer, result.MaxRSS: more, "own_a/op": {Kind: stats.Same},
			}},
			{Name: "C", Verdict: &stats.Verdict{Kind: stats.Same}, Verdicts: map[string]stats.Verdict{"cpu_seconds": slower}},
		},
	}
	for text, want := range map[string]string{
		"slower":            "--fail-on slower: passed",
		"score:worse":       "--fail-on score:worse: passed",
		"cpu:worse>5%":      "--fail-on cpu:worse>5%: failed: by cpu, B is slower by at least 29%, and 1 more",
		"memory:worse>150%": "", // not a share
		"memory:worse":      "--fail-on memory:worse: failed: by memory, B is worse: at least 2.7 × as much",
		"requests:worse":    "--fail-on requests:worse: failed: by requests, B is lower by at least 16%",
		"metric_2:worse":    "--fail-on metric_2:worse: failed: by metric_2, B is lower by at least 16%",
		"requests:slower":   "--fail-on requests:slower: failed: by requests, B is lower by at least 16%",
		"a/op:worse":        "--fail-on a/op:worse: passed", // C cannot have it
		"memory:undecided":  "--fail-on memory:undecided: undecided: by memory, C has no verdict",
	} {
		var f matrix.FailOn
		if err := f.Set(text); want == "" {
			assert.Error(t, err)
			continue
		}
		require.NoError(t, f.Check(run))
		assert.Equal(t, want, f.Gate(run).String())
	}
	assert.EqualError(t, failOn(t, "joules:worse").Check(run), `--fail-on joules:worse: this run does not judge "joules"`)
}

// A condition passes only once the total was looked at and does not speak against it. It says what it could have missed.
func TestGateLooks(t *testing.T) {
	same := stats.Verdict{Kind: stats.Same, Typical: stats.Effect{Ratio: 1, Lo: 0.99, Hi: 1.012}, Margin: 0.02, Step: 0.001, Rounds: 30}
	total := func(ratio float64, doubt bool) stats.Verdict {
		v := same
		v.Total, v.Doubt = &stats.Effect{Ratio: ratio, Lo: 0.9, Hi: 1.3}, doubt
		return v
	}
	for _, c := range []struct {
		condition string
		verdict   stats.Verdict
		want      string
	}{
		{"slower", same, "undecided after 30 rounds: B: the total is looked at after 25 rounds"},
		{"slower", total(1.01, false), "passed after 30 rounds: smaller differences are possible: B −1.0% to +1.2%"},
		{"slower", total(1.1, true), "undecided after 30 rounds: B: typical: same within 1.2%; total: +10%, not certain"},
		{"slower>15%", total(1.1, true), "passed after 30 rounds: smaller differences are possible: B −1.0% to +1.2%"},
		{"faster", total(1.1, true), "passed after 30 rounds: smaller differences are possible: B −1.0% to +1.2%"},
	} {
		run := one(c.verdict)
		run.Matrix.Rules = matrix.Rules
		assert.Equal(t, "--fail-on "+c.condition+": "+c.want, failOn(t, c.condition).Gate(run).String())
		if c.verdict.Total == nil {
			run.Matrix.Rules = 2
			assert.Equal(t, result.GatePassed, failOn(t, c.condition).Gate(run).Result, "as before")
		}
	}
}
