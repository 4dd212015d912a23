package pair

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
	"gorun/internal/start/process"
	"gorun/internal/start/process/processtest"
)

func TestMain(m *testing.M) {
	processtest.Main(m, map[string]func(context.Context) error{
		process.Command: func(ctx context.Context) error { return process.Work(ctx, os.Stdin, os.Stdout) },
	})
}

// Two processes on their CPUs do each work as often as requested.
func TestMeasure(t *testing.T) {
	cpus := processtest.CPUs(t)
	for _, work := range Works {
		for _, cpu := range []int{cpus.First(), cpus.Last()} { // the same CPU, and another one if there is one
			t.Run(work.Name, func(t *testing.T) {
				const loops = 101
				r := Cell{
					CPUPair: topology.CPUPair{A: cpus.First(), B: cpu, Relation: topology.SameLLC},
					Work:    work.Name, Loops: loops, ArrayBytes: 999,
				}
				s, err := r.measure(t.Context(), processtest.Self(), func(pids []int) error {
					processtest.RequireAffinity(t, pids[0], cpuset.Of(cpus.First()))
					processtest.RequireAffinity(t, pids[1], cpuset.Of(cpu))
					return nil
				})
				require.NoError(t, err)
				assert.False(t, s.Partial)
				assert.GreaterOrEqual(t, s.Placement.Checked, 4)
				assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
				assert.Positive(t, s.Seconds)

				v, ok := result.Typed[Figures](&s)
				require.True(t, ok)
				require.Len(t, v.Processes, 2)
				assert.Equal(t, "same-llc", v.Relation)
				assert.Equal(t, []int{cpus.First(), cpu}, []int{v.CPUA, v.CPUB})
				user, system, last := 0.0, 0.0, 0.0
				for i, p := range v.Processes {
					assert.Equal(t, []int{v.CPUA, v.CPUB}[i], p.CPU)
					assert.Equal(t, p.CPU, p.CPUSeen)
					assert.EqualValues(t, loops, p.Loops)
					assert.InEpsilon(t, loops/p.RealSeconds, p.CallsPerSecond, 1e-9)
					user, system, last = user+p.UserSeconds, system+p.SystemSeconds, max(last, p.RealSeconds)
				}
				assert.Positive(t, user+system)
				assert.InEpsilon(t, 1e9*last/loops, v.NsPerLoop, 1e-9)
				assert.Equal(t, []float64{last, user, system}, []float64{s.Seconds, s.UserSeconds, s.SystemSeconds})
				calls := 2.0 * loops
				if work.Talks {
					calls = loops
					require.NotNil(t, v.RoundTrip)
					assert.Positive(t, v.RoundTrip.P50)
					assert.LessOrEqual(t, v.RoundTrip.P50, v.RoundTrip.P90)
					assert.LessOrEqual(t, v.RoundTrip.P90, v.RoundTrip.P99)
					assert.LessOrEqual(t, v.RoundTrip.P99, v.RoundTrip.P999)
				} else {
					assert.Nil(t, v.RoundTrip)
				}
				assert.InEpsilon(t, calls/s.Seconds, v.CallsPerSecond, 1e-9)
			})
		}
	}
}

// A sample that is cut short reports the work done so far, for every work.
func TestMeasurePairCutShort(t *testing.T) {
	cpus := processtest.CPUs(t)
	for _, work := range Works {
		t.Run(work.Name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			r := Cell{
				CPUPair: topology.CPUPair{A: cpus.First(), B: cpus.Last()}, Work: work.Name, Loops: 1 << 50, ArrayBytes: 8,
			}
			s, err := r.measure(ctx, processtest.Self(), func([]int) error {
				cancel()
				return nil
			})
			require.NoError(t, err)
			assert.True(t, s.Partial)
		})
	}
}

// A sample that is cut before the work starts is partial too.
func TestMeasurePairCutBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cpu := processtest.CPUs(t).First()
	s, err := Cell{CPUPair: topology.CPUPair{A: cpu, B: cpu}, Work: "syscall", Loops: 1}.measure(ctx, processtest.Self(),
		func([]int) error { return nil })
	require.NoError(t, err)
	assert.True(t, s.Partial)
	assert.Zero(t, s.Seconds)
	assert.Empty(t, s.Placement.Mismatches)
}

// A process that was seen on another CPU is a mismatch.
func TestPairSampleMismatch(t *testing.T) {
	r := Cell{CPUPair: topology.CPUPair{A: 1, B: 2}, Loops: 10}
	used := linux.Usage{
		UserSeconds: 1, SystemSeconds: 2, VoluntarySwitches: 3, InvoluntarySwitches: 4, MinorFaults: 5, MajorFaults: 6,
	}
	answers := []process.Answer{
		{Worked: csrc.WorkResult{Loops: 10, EndNS: 3e9, CPU: 1}, Used: used}, {Worked: csrc.WorkResult{Loops: 9, EndNS: 2e9, CPU: 5}, Used: used},
	}
	s := r.sample(false, process.Done{
		Answers: answers, Start: time.Second, Checked: 3, Mismatches: []string{"it was elsewhere"},
	}, []int{41, 42}, nil)
	assert.Equal(t, 2.0, s.Seconds)
	assert.True(t, s.Partial)
	assert.False(t, s.Placement.Verified)
	assert.Equal(t, 5, s.Placement.Checked)
	assert.Equal(t, []string{"it was elsewhere", "the process of CPU 2 ended on CPU 5"}, s.Placement.Mismatches)
	sig := s.Quality.Signals
	assert.Equal(t, []float64{2, 4}, []float64{s.UserSeconds, s.SystemSeconds})
	assert.Equal(t, []uint64{6, 8, 10, 12},
		[]uint64{*sig.VoluntarySwitches, *sig.InvoluntarySwitches, *sig.MinorFaults, *sig.MajorFaults})
	v, ok := result.Typed[Figures](&s)
	require.True(t, ok)
	assert.Equal(t, 19/2.0, v.CallsPerSecond)
	assert.Equal(t, 2e9/9, v.NsPerLoop)
	assert.Equal(t, []int{41, 42}, []int{v.Processes[0].PID, v.Processes[1].PID})
}

func TestPercentiles(t *testing.T) {
	assert.Nil(t, percentiles(nil))
	assert.Equal(t, &Percentiles{P50: 7, P90: 7, P99: 7, P999: 7}, percentiles([]csrc.Latency{{NS: 7, Count: 1}}))
	assert.Equal(t, &Percentiles{P50: 1, P90: 2, P99: 3, P999: 4}, percentiles([]csrc.Latency{
		{NS: 1, Count: 500}, {NS: 2, Count: 400}, {NS: 3, Count: 90}, {NS: 4, Count: 9}, {NS: 5, Count: 1},
	}))
	assert.Equal(t, &Percentiles{P50: 1, P90: 2, P99: 3, P999: 5}, percentiles([]csrc.Latency{
		{NS: 1, Count: 501}, {NS: 2, Count: 400}, {NS: 3, Count: 90}, {NS: 4, Count: 7}, {NS: 5, Count: 2},
	}))
}
