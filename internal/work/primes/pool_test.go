package primes

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

// π of some limits: the first by hand, the last from OEIS A000720.
var pi = map[uint64]uint64{0: 0, 1: 0, 4: 2, 1229: 201}

func allowed(t testing.TB) cpuset.Set {
	t.Helper()
	set, err := linux.GetAffinity(0)
	require.NoError(t, err)
	return set
}

// open opens a pool on the CPUs that the test may use; method, kernel and split have defaults.
func open(t testing.TB, opts PoolOptions, policy placement.Policy) *Pool {
	t.Helper()
	if opts.Method == "" {
		opts.Method = "brute"
	}
	if opts.Kernel == "" {
		opts.Kernel = Auto
	}
	if opts.Split == "" {
		opts.Split = "contiguous"
	}
	cpus := allowed(t)
	plan := placement.Assign(policy, cpus, opts.Workers, opts.Executor)
	pool, err := Open(opts, plan, cpus.Last()+1)
	require.NoError(t, err)
	return pool
}

// sample runs a pool once.
func sample(t testing.TB, opts PoolOptions, policy placement.Policy) result.Sample {
	t.Helper()
	s, err := open(t, opts, policy).Run(context.Background())
	require.NoError(t, err)
	return s
}

// π is right, every number is tested once, and the number of trials is the same for every split, dispatch and number of
// workers, even with more workers than numbers.
func TestPoolCountsRight(t *testing.T) {
	shapes := map[string]PoolOptions{
		"goroutines": {},
		"barrier":    {Barrier: true},
		"serial":     {Serial: true},
		"executor":   {Executor: true},
		"repeats":    {Repeats: 3},
	}
	trials := map[string]uint64{}
	for _, method := range Methods {
		for _, split := range Splits {
			if split.Faulty {
				continue
			}
			for shape, opts := range shapes {
				for limit, primes := range pi {
					for _, workers := range []int{1, 7, 300} {
						opts.Method, opts.Split, opts.Limit, opts.Workers = method.Name, split.Name, limit, workers
						name := fmt.Sprintf("%s/%s/%s/limit=%d/workers=%d", method.Name, split.Name, shape, limit, workers)
						s := sample(t, opts, placement.Policy{})
						passes := uint64(max(1, opts.Repeats))
						v := figuresOf(t, &s)
						require.Equal(t, primes*passes, v.Primes, name)
						require.Equal(t, limit*passes, v.Numbers, name)
						require.False(t, s.Partial, name)
						require.Equal(t, workers, s.Workers.Finished, name)
						n := v.Trials
						key := fmt.Sprint(method.Name, limit)
						if _, ok := trials[key]; !ok {
							trials[key] = n / passes
						}
						require.Equal(t, trials[key]*passes, n, name)
					}
				}
			}
		}
	}
	assert.Equal(t, uint64(1229*1230/2), trials["brute1229"])
	assert.Equal(t, trials["brute1229"], trials["modulo1229"])
}

// A faulty split is complete when all numbers that it deals are tested. It answers a different question, so that its
// count is never compared with the right one.
func TestPoolCountsWhatAFaultySplitDeals(t *testing.T) {
	for _, workers := range []int{10, 500} {
		s := sample(t, PoolOptions{Limit: 1000, Method: "modulo", Split: "original", Workers: workers}, placement.Policy{})
		v := figuresOf(t, &s)
		assert.False(t, s.Partial)
		assert.Equal(t, uint64(1000-workers), v.Numbers)
		assert.Equal(t, map[int]string{10: "168", 500: "167"}[workers], s.Answer.Is, "of 500 pairs, the second is even")
		right := sample(t, PoolOptions{Limit: 1000, Method: "modulo", Workers: workers}, placement.Policy{})
		assert.NotEqual(t, right.Answer.Of, s.Answer.Of)
	}
}

// A change of affinity by another program is detected during the work, for every placement.
func TestPoolNoticesAChangedMask(t *testing.T) {
	tests.CPUs(t, 2)
	cpus := allowed(t)
	pinned := cpus.List()[:1]
	for name, c := range map[string]struct {
		policy   placement.Policy
		executor bool
		given    cpuset.Set
	}{
		"none":       {given: cpuset.Of(pinned...)},
		"lock":       {policy: placement.Policy{Lock: true}, given: cpuset.Of(pinned...)},
		"pin-cpus":   {policy: placement.Policy{Lock: true, PinCPUs: pinned}, given: cpus},
		"pin-thread": {policy: placement.Policy{PinThread: true}, given: cpus},
		"executor":   {policy: placement.Policy{Lock: true, PinCPUs: pinned}, executor: true, given: cpus},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pool := open(t, PoolOptions{Limit: MaxLimit, Workers: 2, Method: "modulo", Executor: c.executor}, c.policy)
			ended := make(chan error)
			go func() {
				_, err := pool.Run(ctx)
				ended <- err
			}()
			tests.Await(t, "start of the workers", func() bool { return pool.Live().WorkersStarted > 0 })
			var mismatches []string
			tests.Await(t, "mismatch", func() bool {
				tids, err := linux.Tasks()
				require.NoError(t, err)
				for _, tid := range tids {
					_ = linux.SetAffinity(tid, c.given) // it may have ended
				}
				_, _, mismatches = pool.placer.Report()
				return len(mismatches) > 0
			})
			cancel()
			require.NoError(t, tests.Receive(t, "end of the run", ended))
			_, putBack := placement.Confine(cpus) // the previous mask of every thread
			require.NoError(t, putBack)
			// A worker may notice that it runs elsewhere before its mask is read back.
			assert.Regexp(t, "the kernel answers CPUs "+c.given.String()+"|pinned to CPU [0-9]+, seen on [0-9]+", mismatches[0])
		})
	}
}

// A sample says where its placement differed from the request.
func TestSampleHasTheMismatches(t *testing.T) {
	pool := open(t, PoolOptions{Limit: 10, Workers: 1}, placement.Policy{})
	pool.placer.Differs(&placement.Seat{}, 0, errors.New("moved away"))
	s, err := pool.Run(t.Context())
	require.NoError(t, err)
	assert.False(t, s.Placement.Verified)
	assert.Equal(t, []string{"worker 0: moved away"}, s.Placement.Mismatches)
	s, err = pool.Run(t.Context())
	require.NoError(t, err)
	assert.True(t, s.Placement.Verified, "the next sample has its own")
}

// In a real run of each of the four modes the kernel confirms the requested placement, and the result has it.
func TestPoolPlacesWorkers(t *testing.T) {
	cpus := allowed(t).List()
	nice := 3
	for name, policy := range map[string]placement.Policy{
		"none":         {},
		"lock":         {Lock: true},
		"pin-cpus":     {Lock: true, PinCPUs: cpus},
		"pin-cpus one": {Lock: true, PinCPUs: cpus[:1]},
		"pin-thread":   {PinThread: true},
		"nice":         {Lock: true, Nice: &nice},
		"all":          {Lock: true, PinCPUs: cpus, PinThread: true, Nice: &nice},
	} {
		t.Run(name, func(t *testing.T) {
			const workers = 500
			own, err := linux.GetSched(0)
			require.NoError(t, err)
			s := sample(t, PoolOptions{Limit: 30000, Workers: workers, Detail: true}, policy)
			assert.True(t, s.Placement.Verified, s.Placement.Mismatches)
			assert.Equal(t, policy.String(), s.Placement.Requested)
			require.Len(t, s.WorkersDetail, workers)
			byCPU := map[int]int{}
			for _, w := range s.WorkersDetail {
				byCPU[w.CPUEnd]++
				require.NotNil(t, w.Nice)
				if policy.Nice != nil {
					assert.Equal(t, nice, *w.Nice)
				}
				assert.Equal(t, own.String(), w.Policy)
				if policy.Lock {
					assert.Equal(t, w.TIDStart, w.TIDEnd)
				}
				if len(policy.PinCPUs) > 0 {
					assert.Equal(t, policy.PinCPUs[w.Worker%len(policy.PinCPUs)], w.CPUEnd)
					assert.Equal(t, w.CPUEnd, *w.PinnedTo)
					assert.True(t, *w.Verified)
				}
			}
			if len(policy.PinCPUs) > 0 {
				assert.Zero(t, *s.Workers.OffCPU)
				assert.Greater(t, s.Placement.Checked, 2*workers, "before and after each")
			}
			busy := 0.0
			for _, cpu := range s.CPUs {
				assert.Equal(t, byCPU[cpu.CPU], cpu.Workers)
				assert.LessOrEqual(t, cpu.BusySeconds, s.Seconds)
				busy += cpu.BusySeconds
			}
			assert.Positive(t, busy)
		})
	}
}

// Without the lock a pinned goroutine leaves its thread and the mask stays behind: the original's second feature. A run
// must show it. It needs two CPUs and workers that are interrupted, so the work grows until some are.
func TestPoolShowsTheLeak(t *testing.T) {
	leaky := placement.Policy{PinCPUs: tests.CPUs(t, 2)}
	opts := PoolOptions{Limit: 10_000, Workers: 16, Split: "interleaved", Kernel: "go"}
	tests.Await(t, "worker that ends on a CPU that is not its own", func() bool {
		s := sample(t, opts, leaky)
		require.NotNil(t, s.Workers.OffCPU)
		opts.Limit += opts.Limit / 2
		return *s.Workers.OffCPU > 0
	})
	leaky.Lock = true
	s := sample(t, opts, leaky)
	assert.Zero(t, *s.Workers.OffCPU, "with the lock every worker ends where it was pinned")
}

// A barrier holds all workers until all have started: as many threads are alive as there are locked workers.
func TestPoolBarrierHoldsThreads(t *testing.T) {
	const workers = 200
	nice := 3
	for _, policy := range []placement.Policy{{Lock: true}, {Lock: true, Nice: &nice}} {
		s := sample(t, PoolOptions{Limit: 1000, Workers: workers, Barrier: true}, policy)
		assert.GreaterOrEqual(t, figuresOf(t, &s).ThreadsPeak, workers, "%v", policy)
	}
}

// A worker that is seen on a different CPU counts as moved, and its time counts for the new CPU.
func TestWorkerSeenElsewhereHasMoved(t *testing.T) {
	cpus := allowed(t).List()
	p := &pass{Pool: open(t, PoolOptions{Limit: 1, Workers: 1}, placement.Policy{})}
	require.NoError(t, linux.VisitCPUs(cpus[:1], func(int) error {
		w, seat := &p.workers[0], &placement.Seat{CPU: -1}
		p.begin(w, seat)
		p.checkpoint(w, 0, seat)
		assert.EqualValues(t, 0, w.moves)
		err := linux.VisitCPUs(cpus[len(cpus)-1:], func(cpu int) error {
			p.checkpoint(w, 0, seat)
			assert.EqualValues(t, cpu, w.cpu)
			return nil
		})
		assert.EqualValues(t, min(1, len(cpus)-1), w.moves)
		return err
	}))
}

// Workers that take turns on a CPU share its time: no time counts twice.
func TestSlotCountsNoMomentTwice(t *testing.T) {
	var s slot
	for _, step := range []struct{ from, to, busy int64 }{
		{0, 10, 10}, {5, 20, 20}, {3, 8, 20}, {20, 20, 20}, {100, 110, 30}, {0, 111, 31},
	} {
		s.occupy(step.from, step.to)
		assert.Equal(t, step.busy, s.busy.Load(), "%v", step)
	}
}

// A sample that was cut short does not cut the next one.
func TestPoolGoesOnAfterACut(t *testing.T) {
	pool := open(t, PoolOptions{Workers: 10, Limit: 1000, Method: "brute"}, placement.Policy{})
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := pool.Run(cut)
	require.NoError(t, err)
	assert.True(t, s.Partial)
	s, err = pool.Run(t.Context())
	require.NoError(t, err)
	assert.False(t, s.Partial)
	assert.EqualValues(t, 168, figuresOf(t, &s).Primes)
}

// An interrupted run stops within its work, and reports the finished part.
func TestPoolStops(t *testing.T) {
	for name, opts := range map[string]PoolOptions{
		"goroutines": {Workers: 50000}, "serial": {Workers: 10, Serial: true}, "executor": {Workers: 1000, Executor: true},
		"barrier": {Workers: 100, Barrier: true}, "one number": {Workers: 1},
	} {
		t.Run(name, func(t *testing.T) {
			opts.Limit, opts.Method = 1<<40, "modulo"
			pool := open(t, opts, placement.Policy{})
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				for pool.Live().WorkersStarted == 0 {
					runtime.Gosched()
				}
				cancel()
			}()
			s, err := pool.Run(ctx)
			require.NoError(t, err)
			assert.True(t, s.Partial)
			assert.Less(t, figuresOf(t, &s).Numbers, uint64(1<<40))
			if !opts.Barrier {
				// No worker ends by itself: the goroutine that stops them must not queue behind thousands.
				assert.LessOrEqual(t, pool.Live().WorkersStarted, uint64(100*runtime.GOMAXPROCS(0)))
			}
		})
	}
}

// From the second sample on there are as many passes as fill the requested time at the speed of the first, and all count.
func TestPoolRepeatsShortPasses(t *testing.T) {
	const least = 20 * time.Millisecond
	pool := open(t, PoolOptions{Limit: 100, Workers: 2, Split: "dynamic", AtLeast: least}, placement.Policy{})
	first, err := pool.Run(context.Background())
	require.NoError(t, err)
	assert.Equal(t, 1, figuresOf(t, &first).Passes)
	for range 2 {
		s, err := pool.Run(context.Background())
		require.NoError(t, err)
		v := figuresOf(t, &s)
		assert.GreaterOrEqual(t, float64(v.Passes)*first.Seconds, least.Seconds()-1e-9)
		assert.Less(t, float64(v.Passes-1)*first.Seconds, least.Seconds())
		assert.EqualValues(t, v.Passes*25, v.Primes)
		assert.False(t, s.Partial)
	}
}

func figuresOf(t testing.TB, s *result.Sample) *Figures {
	t.Helper()
	v, ok := result.Typed[Figures](s)
	require.True(t, ok)
	return v
}
