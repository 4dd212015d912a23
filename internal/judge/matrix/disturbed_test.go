package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// A difference is confounded if a disturbance affected only one of the two cells and could be its cause.
func TestDisturbed(t *testing.T) {
	const rounds = 40
	cell := func(of string) bool { return of == "workers=1" }
	baseline := func(of string) bool { return of == "workers=0" }
	both := func(string) bool { return true }
	// A sample is watched for 0.1 s on 2 CPUs. signal sets one of its signals, on some cells to another figure than on the others.
	signal := func(of func(*result.Signals) **float64, there, elsewhere float64, on func(string) bool) func(*result.Sample, string) {
		return func(s *result.Sample, cell string) {
			s.Quality.Signals = result.Signals{WatchedSeconds: 0.1}
			figure := elsewhere
			if on(cell) {
				figure = there
			}
			*of(&s.Quality.Signals) = &figure
		}
	}
	steal := func(seconds float64, on func(string) bool) func(*result.Sample, string) {
		return signal(func(s *result.Signals) **float64 { return &s.StealSeconds }, seconds, 0, on)
	}
	others := func(inCell, inBaseline float64) func(*result.Sample, string) {
		return signal(func(s *result.Signals) **float64 { return &s.OtherSeconds }, inCell, inBaseline, cell)
	}
	canary := func(inCell, inBaseline float64) func(*result.Sample, string) {
		return signal(func(s *result.Signals) **float64 { return &s.CanarySeconds }, inCell, inBaseline, cell)
	}
	throttled := func(times int, on func(string) bool) func(*result.Sample, string) {
		stopped := signal(func(s *result.Signals) **float64 { return &s.ThrottledSeconds }, 0.001, 0, on)
		return func(s *result.Sample, of string) {
			if s.Round < times {
				stopped(s, of)
			}
		}
	}
	first := func(n int, spoil func(*result.Sample, string)) func(*result.Sample, string) {
		return func(s *result.Sample, of string) {
			if s.Round < n {
				spoil(s, of)
			} else {
				steal(0, both)(s, of)
			}
		}
	}
	without := func(of string, round int, spoil func(*result.Sample, string)) func(*result.Sample, string) {
		return func(s *result.Sample, cell string) {
			if spoil(s, cell); cell == of && s.Round == round {
				s.Quality.Signals = result.Signals{}
			}
		}
	}
	inTurn := func(s *result.Sample, of string) {
		steal(0.02, []func(string) bool{cell, baseline}[s.Round%2])(s, of)
	}
	stole := "the hypervisor disturbed the two sides unequally (5% of the CPU time, and 0% during the baseline)"
	for name, c := range map[string]struct {
		ratio float64
		spoil func(*result.Sample, string)
		kind  stats.Kind
		words string // why
	}{
		"nothing":                                      {1.05, nil, stats.Slower, ""},
		"steal on the cell":                            {1.05, steal(0.01, cell), stats.Confounded, stole},
		"steal, and no difference":                     {1, steal(0.01, cell), stats.Confounded, stole},
		"steal on both":                                {1.05, steal(0.01, both), stats.Slower, ""},
		"steal on each in turn":                        {1.05, inTurn, stats.Slower, ""},
		"steal within the margin":                      {1.05, steal(0.0038, cell), stats.Slower, ""},
		"steal that explains nothing":                  {2, steal(0.01, cell), stats.Slower, ""},
		"steal that explains a third":                  {1.3, steal(0.019, cell), stats.Confounded, "the hypervisor disturbed the two sides unequally (9.5%"},
		"and less than a third":                        {1.3, steal(0.016, cell), stats.Slower, ""},
		"a faster one is as large":                     {0.5, steal(0.01, cell), stats.Faster, ""},
		"steal from the baseline makes nothing slower": {1.05, steal(0.01, baseline), stats.Slower, ""},
		"but the cell faster": {
			0.95, steal(0.01, baseline), stats.Confounded,
			"the hypervisor disturbed the two sides unequally (0% of the CPU time, and 5% during the baseline)",
		},
		"steal by chance": {1.05, first(12, steal(0.04, cell)), stats.Slower, ""},
		"steal beyond chance": {
			1.05, first(13, steal(0.04, cell)), stats.Confounded,
			"the hypervisor disturbed the two sides unequally (6.5% of the CPU time, and 0% during the baseline)",
		},
		"a sample without the counter":     {1.05, without("workers=1", 7, steal(0.01, cell)), stats.Slower, ""},
		"a baseline's without the counter": {1.05, without("workers=0", 7, steal(0.01, cell)), stats.Slower, ""},
		"others": {
			1.05, others(0.02, 0.004), stats.Confounded,
			"other programs disturbed the two sides unequally (10% of the CPU time, and 2% during the baseline)",
		},
		"canary": {
			1.05, canary(110e-6, 100e-6), stats.Confounded,
			"(a fixed loop took 110.0 µs, and 100.0 µs before the baseline)",
		},
		"canary alike":                 {1.05, canary(101e-6, 100e-6), stats.Slower, ""},
		"canary of no length":          {1.05, canary(0, 100e-6), stats.Slower, ""},
		"throttled":                    {1.2, throttled(3, cell), stats.CantTell, "the CPU quota stopped threads in 3 of 40 rounds"},
		"throttled baseline":           {1.2, throttled(3, baseline), stats.CantTell, "the CPU quota stopped threads in 3 of 40"},
		"throttled both, counted once": {1.2, throttled(4, both), stats.CantTell, "the CPU quota stopped threads in 4 of 40"},
		"throttled in one of twenty":   {1.2, throttled(2, both), stats.Slower, ""},
	} {
		run := workers(3)
		run.Matrix.Rounds = rounds
		fake{ratios: map[string]float64{"workers=1": c.ratio}, spoil: c.spoil}.play(t, run, rounds)
		v := run.Cells[1].Verdict
		require.Equal(t, c.kind, v.Kind, "%s: %s", name, v)
		if c.words == "" {
			assert.Empty(t, v.Reason, name)
		} else {
			assert.Contains(t, run.Cells[1].Words, c.words, name)
		}
		assert.NotContains(t, run.Cells[1].Words, "more rounds", name)
		if c.spoil != nil && c.kind == stats.Confounded && c.ratio > 1 {
			assert.Equal(t, stats.Same, run.Cells[2].Verdict.Kind, "%s: the other cell was disturbed as the baseline was", name)
		}
	}
}

// A share refers to the CPUs of the cell.
func TestDisturbedByCPUs(t *testing.T) {
	for name, c := range map[string]struct {
		cell, baseline int // CPUs
		kind           stats.Kind
		words          string
	}{
		"alike":         {2, 2, stats.Same, ""},
		"cell wider":    {4, 2, stats.Confounded, "unequally (5% of the CPU time, and 10% during"},
		"cell narrower": {2, 4, stats.Confounded, "unequally (10% of the CPU time, and 5% during"},
	} {
		run := workers(2)
		run.Matrix.Rounds = 40
		run.Cells[0].CPUs["cpus"] = result.CPUs{Count: c.baseline}
		run.Cells[1].CPUs["cpus"] = result.CPUs{Count: c.cell}
		fake{spoil: func(s *result.Sample, _ string) {
			s.Quality.Signals = result.Signals{WatchedSeconds: 0.1, StealSeconds: new(0.02)}
		}}.play(t, run, 40)
		assert.Equal(t, c.kind, run.Cells[1].Verdict.Kind, name)
		assert.Contains(t, run.Cells[1].Words, c.words, name)
	}
}
