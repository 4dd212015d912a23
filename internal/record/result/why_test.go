package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// TestConclude: a part is the cause if it holds at least half of the difference and its interval leaves out 0.
func TestConclude(t *testing.T) {
	known := func(name string, ms float64) result.Part {
		lo, hi := (ms-0.1)/1e3, (ms+0.1)/1e3
		return result.Part{Name: name, Unit: result.WhySeconds, Shift: stats.Shift{Typical: ms / 1e3, Lo: &lo, Hi: &hi}}
	}
	vague := func(name string, ms float64) result.Part {
		lo, hi := -1.0, 1.0
		return result.Part{Name: name, Unit: result.WhySeconds, Shift: stats.Shift{Typical: ms / 1e3, Lo: &lo, Hi: &hi}}
	}
	for name, c := range map[string]struct {
		parts []result.Part
		gap   float64
		cause string
	}{
		"waiting":         {[]result.Part{known("running", 3), known("waiting", 17), known("blocked", 0)}, 0, "waiting"},
		"centres":         {[]result.Part{known("running", 3), known("waiting", 18), known("blocked", 1)}, -0.002, "waiting"},
		"not known":       {[]result.Part{known("running", 3), vague("waiting", 17), known("blocked", 0)}, 0, ""},
		"too little":      {[]result.Part{known("running", 7), known("waiting", 7), known("blocked", 6)}, 0, ""},
		"other direction": {[]result.Part{known("running", -20), known("waiting", 9), known("blocked", 9)}, 0.022, ""},
		"ticks":           {[]result.Part{known("running", 19), known("user", 9.9), known("kernel", 9.1), known("waiting", 1)}, 0, "running"},
		"kernel":          {[]result.Part{known("running", 19), known("user", 1), known("kernel", 18), known("waiting", 1)}, 0, "kernel"},
		"neither":         {[]result.Part{known("running", 19), known("user", 0), vague("kernel", 18), known("waiting", 1)}, 0, "running"},
		"others":          {[]result.Part{known("running", 0), known("blocked", 20), known("others", 18)}, 0, "others"},
		"slept":           {[]result.Part{known("running", 0), known("blocked", 20), known("others", 2)}, 0, "blocked"},
	} {
		w := result.Why{Wall: known("", 20), Parts: c.parts}
		w.Conclude(true)
		assert.Equal(t, c.cause, w.Cause, name)
		assert.InDelta(t, c.gap, w.Gap, 1e-9, name)
		w.Cause = ""
		w.Conclude(false)
		assert.Empty(t, w.Cause, "a difference that was not claimed has no cause")
	}
}

// TestDrivers: what may explain the cause is named if it holds half of the difference, or if there is more of it than the longer time explains.
func TestDrivers(t *testing.T) {
	driver := func(name, unit string, baseline, lo, hi float64, of ...string) result.Part {
		return result.Part{Name: name, Unit: unit, Of: of, Baseline: baseline, Shift: stats.Shift{Typical: (lo + hi) / 2, Lo: &lo, Hi: &hi}}
	}
	short := func(p result.Part, longest float64) result.Part {
		p.Longest = longest
		return p
	}
	for name, c := range map[string]struct {
		drivers []result.Part
		causes  []string
		sign    float64 // of the difference
	}{
		"more faults":      {[]result.Part{driver("faults", "count", 100, 201, 300, "waiting")}, []string{"faults"}, 1},
		"as many a second": {[]result.Part{driver("faults", "count", 100, 199, 300, "waiting")}, nil, 1},
		"of another part":  {[]result.Part{driver("faults", "count", 100, 1000, 1001, "kernel")}, nil, 1},
		"less":             {[]result.Part{driver("faults", "count", 100, -300, -201, "waiting")}, []string{"faults"}, -1},
		"fewer, not less":  {[]result.Part{driver("faults", "count", 100, -300, -199, "waiting")}, nil, -1},
		"both": {[]result.Part{
			driver("throttled", "s", 0, 0.009, 0.013, "waiting", "blocked"), driver("faults", "count", 0, 1, 2, "kernel", "waiting"),
		}, []string{"throttled", "faults"}, 1},
		"too short":        {[]result.Part{driver("throttled", "s", 0, 0.008, 0.011, "waiting")}, nil, 1},
		"as much a second": {[]result.Part{driver("pressure", "s", 0.01, 0.019, 0.023, "waiting")}, nil, 1},
		"not known":        {[]result.Part{driver("throttled", "s", 0, -0.001, 0.03, "waiting")}, nil, 1},
		"long enough":      {[]result.Part{short(driver("moves", "count", 0, 10, 12, "waiting"), 0.001)}, []string{"moves"}, 1},
		"too few":          {[]result.Part{short(driver("moves", "count", 0, 8, 10, "waiting"), 0.001)}, nil, 1},
	} {
		lo, hi := c.sign*0.02-0.001, c.sign*0.02+0.001
		whole := result.Part{Name: "waiting", Unit: "s", Baseline: 0.01, Shift: stats.Shift{Typical: c.sign * 0.02, Lo: &lo, Hi: &hi}}
		w := result.Why{Wall: whole, Parts: []result.Part{whole}, Drivers: c.drivers}
		w.Conclude(true)
		assert.Equal(t, "waiting", w.Cause, name)
		assert.Equal(t, c.causes, w.ExplainedBy, name)
	}
}

// TestWork: what changes the time of running in proportion explains it if it does so by half of the difference, and what comes with instructions if
// there is more of it than of them. Of 80 ms, 40 ms were running, which took 40 ms longer.
func TestWork(t *testing.T) {
	driver := func(name, unit string, baseline, lo, hi float64) result.Part {
		return result.Part{Name: name, Unit: unit, Of: []string{"running"}, Baseline: baseline, Shift: stats.Shift{Typical: (lo + hi) / 2, Lo: &lo, Hi: &hi}}
	}
	misses := func(lo, hi float64) result.Part {
		p := driver("misses", "count", 1e5, lo, hi)
		p.Per, p.Longest = "instructions", 1e-6
		return p
	}
	for name, c := range map[string]struct {
		drivers []result.Part
		causes  []string
		sign    float64 // of the difference
	}{
		"twice the work":           {[]result.Part{driver("instructions", "count", 1e8, 0.99e8, 1.01e8)}, []string{"instructions"}, 1},
		"half of the cause":        {[]result.Part{driver("instructions", "count", 1e8, 0.5e8, 0.52e8)}, []string{"instructions"}, 1},
		"a little more work":       {[]result.Part{driver("instructions", "count", 1e8, 0.48e8, 0.499e8)}, nil, 1},
		"less work":                {[]result.Part{driver("instructions", "count", 1e8, -1.01e8, -0.99e8)}, nil, 1},
		"perhaps no more":          {[]result.Part{driver("instructions", "count", 1e8, -1, 2e8)}, nil, 1},
		"half the clock":           {[]result.Part{driver("clock", "MHz", 3000, -1501, -1499)}, []string{"clock"}, 1},
		"a slower clock":           {[]result.Part{driver("clock", "MHz", 3000, -901, -899)}, nil, 1},
		"a faster clock":           {[]result.Part{driver("clock", "MHz", 3000, 1499, 1501)}, nil, 1},
		"misses of as much work":   {[]result.Part{driver("instructions", "count", 1e8, -1, 1), misses(2e4, 5e4)}, []string{"misses"}, 1},
		"too few misses":           {[]result.Part{driver("instructions", "count", 1e8, -1, 1), misses(0.9e4, 1.8e4)}, nil, 1},
		"misses of more work":      {[]result.Part{driver("instructions", "count", 1e8, 0.49e8, 0.498e8), misses(4e4, 5.5e4)}, nil, 1},
		"misses, work not known":   {[]result.Part{misses(4.9e4, 6e4)}, nil, 1},
		"more misses than time":    {[]result.Part{misses(5.1e4, 6e4)}, []string{"misses"}, 1},
		"less work and fewer":      {[]result.Part{driver("instructions", "count", 1e8, -0.9e8, -0.8e8), misses(-9e4, -7e4)}, []string{"instructions"}, -1},
		"fewer misses, as much":    {[]result.Part{driver("instructions", "count", 1e8, -1, 1), misses(-9e4, -7e4)}, []string{"misses"}, -1},
		"more misses, less work":   {[]result.Part{driver("instructions", "count", 1e8, -0.2e8, -0.1e8), misses(-1e3, -1)}, nil, 1},
		"a miss in no instruction": {[]result.Part{driver("instructions", "count", 0, 0, 0), misses(5e4, 6e4)}, nil, 1},
	} {
		part := func(name string, baseline, ms float64) result.Part {
			lo, hi := ms/1e3-0.001, ms/1e3+0.001
			return result.Part{Name: name, Unit: "s", Baseline: baseline, Shift: stats.Shift{Typical: ms / 1e3, Lo: &lo, Hi: &hi}}
		}
		ms := 40 * c.sign
		w := result.Why{Wall: part("", 0.08, ms), Parts: []result.Part{part("running", 0.04, ms)}, Drivers: c.drivers}
		w.Conclude(true)
		assert.Equal(t, "running", w.Cause, name)
		assert.Equal(t, c.causes, w.ExplainedBy, name)
	}
}

func TestDifferenceInWords(t *testing.T) {
	p := result.Part{Unit: result.WhySeconds, Shift: stats.Shift{Typical: -0.0019}}
	assert.Equal(t, "−1.90 ms (not bounded yet)", p.Words())
	p.Lo = new(-0.002)
	assert.Equal(t, "at least −2.00 ms", p.Interval())
	p.Hi = new(0.0)
	assert.Equal(t, "−1.90 ms (−2.00 ms to 0 s)", p.Words())
	p.Lo = nil
	assert.Equal(t, "at most 0 s", p.Interval())
	assert.Equal(t, "+59.5 M", result.Part{Unit: result.WhyCount, Shift: stats.Shift{Typical: 59460572}}.Centre())
	assert.Equal(t, "−1500 MHz", result.Part{Unit: result.WhyMHz, Shift: stats.Shift{Typical: -1500}}.Centre())
	assert.Equal(t, "+36.0", result.Part{Unit: result.WhyCount, Shift: stats.Shift{Typical: 36}}.Centre())
}
