package primes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/packed"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

func TestExplain(t *testing.T) {
	number := func(n float64) *float64 { return &n }
	off := 17
	// a run of 10 s on 4 CPUs, all busy
	calm := func() (Cell, result.Sample) {
		c := Cell{PoolOptions: PoolOptions{Workers: 100, Split: "contiguous"}, Plan: placement.Assignment{CPUs: cpuset.Of(0, 1, 2, 3)}, GOMAXPROCS: 4}
		return c, result.Sample{
			Seconds: 10, UserSeconds: 39.6, SystemSeconds: 0.1,
			Workers: &result.Workers{Imbalance: 1.9, Seconds: result.Distribution{Max: 0.5}},
			Quality: result.Quality{Signals: result.Signals{
				WatchedSeconds: 10, StealSeconds: number(0), OtherSeconds: number(0),
			}},
			CPUs: []result.CPU{
				{CPU: 0, Workers: 25, BusySeconds: 9.9},
				{CPU: 1, Workers: 25, BusySeconds: 9.9},
				{CPU: 2, Workers: 25, BusySeconds: 9.9},
				{CPU: 3, Workers: 25, BusySeconds: 9.9},
			},
		}
	}
	for want, change := range map[string]func(*Cell, *result.Sample){
		"work-bound": func(*Cell, *result.Sample) {},
		"short": func(_ *Cell, s *result.Sample) {
			s.Seconds, s.UserSeconds, s.SystemSeconds = 50e-6, 60e-6, 0
			s.Workers.Seconds.Max = 20e-6
		},
		"unexplained":     func(_ *Cell, s *result.Sample) { s.UserSeconds = 20 },
		"serial":          func(set *Cell, s *result.Sample) { set.Serial, s.UserSeconds = true, 9.9 },
		"few-workers":     func(set *Cell, s *result.Sample) { set.Workers, s.UserSeconds = 3, 29 },
		"gomaxprocs":      func(set *Cell, s *result.Sample) { set.GOMAXPROCS, s.UserSeconds = 2, 19.8 },
		"few-pinned-cpus": func(set *Cell, s *result.Sample) { set.Plan.Policy.PinCPUs, s.UserSeconds = []int{0}, 9.9 },
		"pinned-turns":    func(set *Cell, s *result.Sample) { set.Plan.Policy.PinCPUs, s.UserSeconds = []int{0, 1, 2, 3}, 29 },
		"imbalance": func(set *Cell, s *result.Sample) {
			set.Workers, s.UserSeconds = 4, 28
			s.Workers.Seconds.Max = 10
		},
		"leak": func(set *Cell, s *result.Sample) { set.Plan.Policy.PinCPUs, s.Workers.OffCPU = []int{0, 1, 2, 3}, &off },
		"thread-pins": func(set *Cell, s *result.Sample) {
			set.Plan.Policy.PinThread = true
			s.CPUs[3] = result.CPU{CPU: 3}
		},
		"system-time":    func(_ *Cell, s *result.Sample) { s.UserSeconds, s.SystemSeconds = 20, 19 },
		"steal":          func(_ *Cell, s *result.Sample) { s.Quality.Signals.StealSeconds = number(4) },
		"other-programs": func(_ *Cell, s *result.Sample) { s.Quality.Signals.OtherSeconds = number(4) },
		"throttled": func(set *Cell, s *result.Sample) {
			s.Quality.Signals.ThrottledSeconds = number(20)
			set.Workers, s.UserSeconds, s.Workers.Seconds.Max = 4, 18.5, 10 // else the slowest worker is blamed
		},
		"throttled imbalance": func(set *Cell, s *result.Sample) {
			s.Quality.Signals.ThrottledSeconds = number(4)
			set.Workers, s.UserSeconds, s.Workers.Seconds.Max = 4, 28, 10
		},
	} {
		t.Run(want, func(t *testing.T) {
			set, s := calm()
			change(&set, &s)
			found := causes(set, s)
			codes := make([]string, len(found))
			for i, f := range found {
				codes[i] = f.Code
				assert.NotContains(t, f.Message, "%!")
				assert.NotContains(t, f.Message, "NaN")
			}
			assert.Equal(t, want, strings.Join(codes, " "))
		})
	}
}

// Unused CPU time is a finding only if the use by other programs and the hypervisor is known.
func TestExplainWithoutProcStat(t *testing.T) {
	for want, change := range map[string]func(*Cell, *result.Sample){
		"work-bound":  func(_ *Cell, s *result.Sample) { s.UserSeconds = 39 },
		"unknown":     func(*Cell, *result.Sample) {},
		"few-workers": func(set *Cell, _ *result.Sample) { set.Workers = 3 },
	} {
		set := Cell{
			PoolOptions: PoolOptions{Workers: 4, Split: "contiguous"}, Plan: placement.Assignment{CPUs: cpuset.Of(0, 1, 2, 3)}, GOMAXPROCS: 4,
		}
		s := result.Sample{
			Seconds: 10, UserSeconds: 1, Quality: result.Quality{Signals: result.Signals{WatchedSeconds: 10}},
			Workers: &result.Workers{Imbalance: 1.9, Seconds: result.Distribution{Max: 10}},
		}
		change(&set, &s)
		found := causes(set, s)
		require.Len(t, found, 1, want)
		assert.Equal(t, want, found[0].Code)
		assert.NotContains(t, found[0].Message, "unused")
	}
}

// Findings come only from samples with the requested placement.
func TestExplainLeavesOutInvalidSamples(t *testing.T) {
	worse := result.Sample{Seconds: 1, UserSeconds: 0.1, Quality: result.Quality{Grade: result.Invalid}}
	run := &result.Run{Samples: packed.Of(worse, worse, worse)}
	cells := []Cell{{Plan: placement.Assignment{CPUs: cpuset.Of(0, 1, 2, 3)}}}
	explain(run, cells)
	assert.Empty(t, run.Findings)
	run.Samples = run.Samples.Map(func(_ int, s *result.Sample) { s.Quality.Grade = result.Valid })
	explain(run, cells)
	assert.NotEmpty(t, run.Findings, "the same samples if valid")
}
