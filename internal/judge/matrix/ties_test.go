package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// A tie is no equality: what an instrument does not tell apart differs by less than its step, which may be more than the margin.
func TestTies(t *testing.T) {
	for name, c := range map[string]struct {
		ticks [2]int // of the baseline and of the cell
		busy  int    // more of them in one sample of three
		want  string
	}{
		"few ticks":              {ticks: [2]int{3, 3}, want: "can't tell: both are 30.0 ms, and the figure has steps of 10.0 ms (33%)"},
		"few ticks, seldom more": {ticks: [2]int{3, 3}, busy: 1, want: "can't tell: both are "},
		"many ticks":             {ticks: [2]int{301, 301}, want: "no difference larger than 2%"},
		"different ticks":        {ticks: [2]int{3, 4}, want: "slower: +33%"},
	} {
		t.Run(name, func(t *testing.T) {
			run := withCPU(workers(2))
			run.Matrix.Rounds = 60
			fake{spoil: func(s *result.Sample, cell string) {
				ticks := c.ticks[0]
				if cell == "workers=1" {
					ticks = c.ticks[1]
				}
				if s.Round%3 == 0 {
					ticks += c.busy
				}
				s.UserSeconds = float64(ticks) * result.Tick
			}}.play(t, run, 60)
			assert.Contains(t, run.Cells[1].Verdicts[cpuTime].String(), c.want)
			assert.Equal(t, stats.Same, run.Cells[1].Verdict.Kind, "by wall time")
		})
	}
}

// Nothing is judged from within a bucket, however far apart the figures in it are.
func TestBuckets(t *testing.T) {
	first, second := result.Bucket{To: 50e-6, Unit: "s"}, result.Bucket{From: 50e-6, To: 1e-3, Unit: "s"}
	for name, c := range map[string]struct {
		of   [2]result.Bucket
		want string
	}{
		"one bucket":      {[2]result.Bucket{first, first}, "can't tell: both in the bucket up to 50.0 µs"},
		"the next bucket": {[2]result.Bucket{second, second}, "can't tell: both in the bucket from 50.0 µs to 1.00 ms"},
		"the last bucket": {[2]result.Bucket{{From: 2}, {From: 2}}, "can't tell: both in the bucket above 2"},
		"two buckets":     {[2]result.Bucket{first, second}, "slower: "},
	} {
		run := withCPU(workers(2))
		run.Matrix.Rounds = 60
		fake{spoil: func(s *result.Sample, cell string) {
			at := 0
			if cell == "workers=1" {
				at = 1
			}
			s.UserSeconds = [2]float64{20e-6, 45e-6}[at] * s.Seconds
			s.Buckets = map[string]result.Bucket{cpuTime: c.of[at]}
		}}.play(t, run, 60)
		assert.Contains(t, run.Cells[1].Verdicts[cpuTime].String(), c.want, name)
	}
}
