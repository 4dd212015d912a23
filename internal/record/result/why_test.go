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
	before := func(p result.Part, ms float64) result.Part {
		p.Baseline = ms / 1e3
		return p
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
		"others":          {[]result.Part{known("running", 0), known("blocked", 20), known("cpu", 18)}, 0, "cpu"},
		"moves":           {[]result.Part{known("running", 8), known("waiting", 3), known("blocked", 9), known("cpu", 17)}, 0, "cpu"},
		"all in kernel":   {[]result.Part{known("running", 0), known("blocked", 20), known("cpu", 18), known("user", 1), known("kernel", 17)}, 0, "kernel"},
		"waits meanwhile": {[]result.Part{known("running", 0), known("waiting", 20), known("cpu", 18)}, 0, "waiting"},
		"others wait":     {[]result.Part{known("blocked", 20), known("cpu", 2), known("others_waiting", 30)}, 0, "others_waiting"},
		"both":            {[]result.Part{known("blocked", 20), known("cpu", 18), known("others_waiting", 30)}, 0, "cpu"},
		"first waits":     {[]result.Part{known("waiting", 15), known("blocked", 5), known("others_waiting", 15)}, 0, "waiting"},
		"perhaps wait":    {[]result.Part{known("blocked", 20), known("cpu", 2), vague("others_waiting", 12)}, 0, ""},
		"perhaps run":     {[]result.Part{known("blocked", 20), vague("cpu", 12)}, 0, ""},
		"hardly wait":     {[]result.Part{known("blocked", 20), known("cpu", 2), vague("others_waiting", 8)}, 0, "blocked"},
		"as they do":      {[]result.Part{known("blocked", 20), before(known("others_waiting", 18), 10)}, 0, "blocked"},
		"slept":           {[]result.Part{known("running", 0), known("blocked", 20), known("cpu", 2)}, 0, "blocked"},
	} {
		w := result.Why{Wall: before(known("", 20), 10), Parts: c.parts}
		w.Conclude(1, true)
		assert.Equal(t, c.cause, w.Cause, name)
		assert.InDelta(t, c.gap, w.Gap, 1e-9, name)
		w.Cause = ""
		w.Conclude(0, true)
		assert.Empty(t, w.Cause, "a difference that was not claimed has no cause")
	}
}

// TestAlong: a claim about another figure is explained by the wall time if that differs in the same direction; otherwise what else differs
// is named.
func TestAlong(t *testing.T) {
	part := func(name string, lo, hi float64) result.Part {
		return result.Part{Name: name, Unit: result.WhySeconds, Baseline: 1, Shift: stats.Shift{Typical: (lo + hi) / 2, Lo: &lo, Hi: &hi}}
	}
	of := func(wall result.Part) result.Why {
		return result.Why{
			Wall: wall, Parts: []result.Part{part("running", 1, 3), part("waiting", -0.1, 0.1)},
			Drivers: []result.Part{part("moves", -3, -1), part("faults", -1, 1)},
		}
	}
	same := of(part("wall", -0.1, 0.1))
	same.Conclude(1, false)
	assert.Equal(t, []string{"running", "moves"}, same.Along)
	assert.Empty(t, same.Cause)
	opposite := of(part("wall", 1, 3))
	opposite.Conclude(-1, false)
	assert.Equal(t, []string{"running", "moves"}, opposite.Along, "it is better, and takes longer")
	longer := of(part("wall", 1, 3))
	longer.Conclude(1, false)
	assert.Equal(t, "running", longer.Cause)
	assert.Empty(t, longer.Along)
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
		"share":            {[]result.Part{driver("pages", "share", 0, 0.9, 1, "waiting")}, []string{"pages"}, 1},
		"half the memory":  {[]result.Part{driver("pages", "share", 0.3, 0.30, 0.38, "waiting")}, []string{"pages"}, 1},
		"too little of it": {[]result.Part{driver("pages", "share", 0.3, 0.30, 0.36, "waiting")}, nil, 1},
		"less of it":       {[]result.Part{driver("pages", "share", 1, -1, -0.9, "waiting")}, nil, 1},
		"too few":          {[]result.Part{short(driver("moves", "count", 0, 8, 10, "waiting"), 0.001)}, nil, 1},
	} {
		lo, hi := c.sign*0.02-0.001, c.sign*0.02+0.001
		whole := result.Part{Name: "waiting", Unit: "s", Baseline: 0.01, Shift: stats.Shift{Typical: c.sign * 0.02, Lo: &lo, Hi: &hi}}
		w := result.Why{Wall: whole, Parts: []result.Part{whole}, Drivers: c.drivers}
		w.Conclude(c.sign, true)
		assert.Equal(t, "waiting", w.Cause, name)
		assert.Equal(t, c.causes, w.ExplainedBy, name)
	}
}

// TestShared: if no part holds half of the difference, the cause is what may explain several that together do. What blocks a thread shortly explains
// no long time.
func TestShared(t *testing.T) {
	part := func(name, unit string, typical, width float64) result.Part {
		lo, hi := typical-width, typical+width
		return result.Part{Name: name, Unit: unit, Shift: stats.Shift{Typical: typical, Lo: &lo, Hi: &hi}}
	}
	moves := func(typical, width float64, of ...string) result.Part {
		p := part("moves", result.WhyCount, typical, width)
		p.Of, p.Longest, p.Blocks = of, 0.001, 0.0001
		return p
	}
	all := []string{"running", "waiting", "blocked"}
	for name, c := range map[string]struct {
		running, waiting, blocked float64 // ms, known to 1 ms
		moves                     result.Part
		cause                     string
		explained                 []string
	}{
		"two parts":        {8, 3, 9, moves(50, 1, all...), "moves", nil},
		"one is not known": {9, 0.5, 9.5, moves(50, 1, "waiting", "blocked"), "", nil},
		"too little":       {9, 2, 7, moves(50, 1, "waiting", "blocked"), "", nil},
		"opposite":         {9.9, -9, 9.9, moves(50, 1, "waiting", "blocked"), "", nil},
		"too few":          {8, 3, 9, moves(9, 1, all...), "", nil},
		"perhaps no more":  {8, 3, 9, moves(50, 51, all...), "", nil},
		"one part":         {15, 2, 3, moves(50, 1, all...), "running", []string{"moves"}},
		"blocked":          {5, 2, 13, moves(110, 1, all...), "blocked", []string{"moves"}},
		"blocked longer":   {5, 2, 13, moves(90, 1, all...), "blocked", nil},
	} {
		for _, sign := range []float64{1, -1} {
			signed := func(p result.Part) result.Part {
				if sign < 0 {
					lo, hi := -*p.Hi, -*p.Lo
					p.Typical, p.Lo, p.Hi = -p.Typical, &lo, &hi
				}
				return p
			}
			ms := func(name string, length float64) result.Part {
				return signed(part(name, result.WhySeconds, length/1000, 0.001))
			}
			w := result.Why{
				Wall: ms("wall", 20), Parts: []result.Part{ms("running", c.running), ms("waiting", c.waiting), ms("blocked", c.blocked)},
				Drivers: []result.Part{signed(c.moves)},
			}
			w.Wall.Baseline = 0.1
			w.Conclude(sign, true)
			assert.Equal(t, c.cause, w.Cause, "%s, %v", name, sign)
			assert.Equal(t, c.explained, w.ExplainedBy, "%s, %v", name, sign)
		}
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
	long := func(p result.Part) result.Part {
		p.Longest = 0
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
		"a faster clock":           {[]result.Part{driver("clock", "MHz", 3000, 3999, 4001)}, nil, 1},
		"misses of as much work":   {[]result.Part{driver("instructions", "count", 1e8, -1, 1), misses(2e4, 5e4)}, []string{"misses"}, 1},
		"too few misses":           {[]result.Part{driver("instructions", "count", 1e8, -1, 1), misses(0.9e4, 1.8e4)}, nil, 1},
		"misses of more work":      {[]result.Part{driver("instructions", "count", 1e8, 0.49e8, 0.498e8), misses(4e4, 5.5e4)}, nil, 1},
		"misses, work not known":   {[]result.Part{misses(4.9e4, 6e4)}, nil, 1},
		"more misses than time":    {[]result.Part{misses(5.1e4, 6e4)}, []string{"misses"}, 1},
		"less work and fewer":      {[]result.Part{driver("instructions", "count", 1e8, -0.9e8, -0.8e8), misses(-9e4, -7e4)}, []string{"instructions"}, -1},
		"fewer misses, as much":    {[]result.Part{driver("instructions", "count", 1e8, -1, 1), misses(-9e4, -7e4)}, []string{"misses"}, -1},
		"fewer, of less work":      {[]result.Part{driver("instructions", "count", 1e8, -0.2e8, -0.1e8), long(misses(-1.2e4, -1e3))}, nil, 1},
		"a miss in no instruction": {[]result.Part{driver("instructions", "count", 0, 0, 0), misses(5e4, 6e4)}, nil, 1},
	} {
		part := func(name string, baseline, ms float64) result.Part {
			lo, hi := ms/1e3-0.001, ms/1e3+0.001
			return result.Part{Name: name, Unit: "s", Baseline: baseline, Shift: stats.Shift{Typical: ms / 1e3, Lo: &lo, Hi: &hi}}
		}
		ms := 40 * c.sign
		w := result.Why{Wall: part("", 0.08, ms), Parts: []result.Part{part("running", 0.04, ms), part("cpu", 0.04, ms)}, Drivers: c.drivers}
		w.Conclude(c.sign, true)
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
