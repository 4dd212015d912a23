package contend

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gorun/csrc"
	"gorun/internal/record/result"
)

const ms = int64(time.Millisecond)

// marked returns a thread that makes these numbers of operations per window, with a mark right after each boundary.
func marked(operations ...uint64) csrc.ContendResult {
	r := csrc.ContendResult{Origin: 1000, Start: 1000}
	total := uint64(0)
	for i, n := range operations {
		total += n
		at := 1000 + int64(i+1)*ms + 7
		r.Marks = append(r.Marks, csrc.Mark{NS: at, CPUNS: at, Operations: total})
		r.End = at
	}
	r.Operations = total
	return r
}

func TestByTimeTakesCommonWindows(t *testing.T) {
	a, b := marked(9, 100, 100, 100, 100), marked(9, 50, 50, 50, 50)
	all := byTime([]csrc.ContendResult{a, b}, time.Millisecond, 5*time.Millisecond)
	assert.Equal(t, 4, all.windowsOf)
	assert.InDelta(t, 1, all.overlap, 0)
	assert.Equal(t, []span{{400, 0, 4 * ms}, {200, 0, 4 * ms}}, all.spans)
	assert.InDeltaSlice(t, []float64{15000, 15000, 15000, 15000}, all.windows, 1e-9) // (10,000 + 20,000) / 2

	// b is away for the second and third window: it misses the boundary between them.
	b.Marks = append(b.Marks[:2:2], b.Marks[3:]...)
	some := byTime([]csrc.ContendResult{a, b}, time.Millisecond, 5*time.Millisecond)
	assert.Equal(t, []span{{200, 0, 2 * ms}, {100, 0, 2 * ms}}, some.spans)
	assert.InDelta(t, 0.5, some.overlap, 0)

	// a had its CPU for less than the window, though it made its marks.
	for i := range a.Marks[1:] {
		a.Marks[i+1].CPUNS -= ms / 10
	}
	assert.Len(t, byTime([]csrc.ContendResult{a, b}, time.Millisecond, 5*time.Millisecond).windows, 1)

	none := byTime([]csrc.ContendResult{a, {Origin: 1000}}, time.Millisecond, 5*time.Millisecond)
	assert.Zero(t, none.overlap)
	assert.Empty(t, none.windows)
}

func TestByCountTakesAll(t *testing.T) {
	both := byCount([]csrc.ContendResult{
		{Operations: 1000, Failures: 10, Start: 5, End: 105},
		{Operations: 1000, Start: 0, End: 200},
	})
	assert.Equal(t, []span{{1000, 10, 100}, {1000, 0, 200}}, both.spans)
	assert.InDelta(t, 0.5, both.overlap, 1e-9) // 5...105 of 0...200
	apart := byCount([]csrc.ContendResult{{Start: 0, End: 10}, {Start: 20, End: 30}})
	assert.Zero(t, apart.overlap)
}

func TestFill(t *testing.T) {
	v := Figures{Mode: ByTime, Threads: make([]Thread, 2)}
	rowTimes{
		spans:   []span{{1000, 0, 10_000}, {500, 0, 10_000}},
		windows: []float64{14, 16, 15}, windowsOf: 4, overlap: 0.75,
	}.fill(&v, false)
	assert.InDelta(t, 15, v.NsPerOp, 1e-12)
	assert.InDelta(t, 10, v.Min, 1e-12)
	assert.InDelta(t, 20, v.Max, 1e-12)
	assert.InDelta(t, 7.0710678, v.Stdev, 1e-6) // sqrt(2 * 5^2 / 1)
	assert.InDelta(t, 0.9, v.Fairness, 1e-12)   // (2 + 1)^2 / (2 * (4 + 1))
	assert.InDelta(t, 0.5, v.FairnessMinMax, 1e-12)
	assert.InDelta(t, 150e6, v.OpsPerSecond, 1)
	assert.Equal(t, uint64(1500), v.Operations)
	assert.Equal(t, 3, v.Windows)
	assert.InDelta(t, 15, v.WindowsNs.Median, 0)
	assert.InDelta(t, 20, v.Threads[1].NsPerOp, 1e-12)

	alone := Figures{Mode: ByCount, Threads: make([]Thread, 1)}
	rowTimes{spans: []span{{0, 0, 0}}}.fill(&alone, true)
	assert.Zero(t, alone.NsPerOp)
	assert.Zero(t, *alone.Failures)
	assert.InDelta(t, 1, alone.Fairness, 0)
}

func TestDoubts(t *testing.T) {
	half, all := 0.4, 1.0
	for want, v := range map[result.Grade]Figures{
		"":             {Mode: ByTime, Operations: 5, Overlap: &all},
		result.Suspect: {Mode: ByTime, Operations: 5, Overlap: &half},
		result.Valid:   {Mode: ByCount, Operations: 5, Overlap: &half}, // reported, but no fault
		result.Invalid: {Mode: ByCount, Overlap: &half},
	} {
		var s result.Sample
		doubt(&s, v)
		if want == result.Suspect || want == result.Invalid {
			assert.Equal(t, want, s.Doubts[0].Grade)
			continue
		}
		assert.Empty(t, s.Doubts)
	}
}

func TestSteady(t *testing.T) {
	assert.False(t, steady([]float64{10, 10}))
	assert.False(t, steady([]float64{10, 10, 10.2}))
	assert.True(t, steady([]float64{20, 10, 10.05, 10}))
}

// A thread that is stopped before it starts has no part in the row: its clock reads zero, which is when the machine was booted.
func TestUnstartedThread(t *testing.T) {
	threads := []csrc.ContendResult{{Stopped: true}, {Start: 1000 * ms, End: 1002 * ms, Operations: 7}}
	unstarted(threads)
	assert.Equal(t, 1000*ms, threads[0].Start)
	assert.Equal(t, 1000*ms, threads[0].End)
	assert.Zero(t, byCount(threads).overlap)
	none := []csrc.ContendResult{{Stopped: true}, {Stopped: true}}
	unstarted(none)
	assert.Zero(t, none[1].End)
}
