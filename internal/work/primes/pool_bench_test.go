package primes

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

// arm is one of the rivals that take turns at the same work.
type arm struct {
	name string
	run  func() result.Sample
}

// pool returns an arm with a pool that is opened once.
func pool(b *testing.B, name string, opts PoolOptions, policy placement.Policy) arm {
	b.Helper()
	p := open(b, opts, policy)
	return arm{name, func() result.Sample {
		s, err := p.Run(context.Background())
		require.NoError(b, err)
		require.True(b, s.Placement.Verified, s.Placement.Mismatches)
		return s
	}}
}

// contest lets the arm and its baseline take turns, and reports the arm's wall time (per unit of work), the median
// ratio of their wall times within a round, and the ratio's interquartile range. Both must make the same trials.
func contest(b *testing.B, a, baseline arm, unit string, units float64) {
	b.Helper()
	var seconds [2][]float64
	var samples [2]result.Sample
	takeTurns(b, 2, func(i int) {
		samples[i] = [2]arm{a, baseline}[i].run()
		seconds[i] = append(seconds[i], samples[i].Seconds)
	})
	require.Equal(b, figuresOf(b, &samples[1]).Trials, figuresOf(b, &samples[0]).Trials, "equal work")
	_, median, _ := quartiles(seconds[0])
	b.ReportMetric(median*1e9/units, unit)
	reportRatio(b, seconds[0], seconds[1], "x-"+baseline.name)
}

// BenchmarkWorker measures the pool's cost of a worker: each tests one number by trial division (about 13 divisions).
func BenchmarkWorker(b *testing.B) {
	const workers = 50_000
	work := PoolOptions{Limit: workers, Workers: workers, Method: "trial"}
	executor := work
	executor.Executor = true
	nice := 5
	cpus := allowed(b).List()
	plain := pool(b, "plain", work, placement.Policy{})
	for _, a := range []arm{
		pool(b, "locked", work, placement.Policy{Lock: true}),
		pool(b, "locked-nice", work, placement.Policy{Lock: true, Nice: &nice}),
		pool(b, "locked-pinned", work, placement.Policy{Lock: true, PinCPUs: cpus}),
		pool(b, "pin-thread", work, placement.Policy{PinThread: true}),
		pool(b, "executor", executor, placement.Policy{}),
		{"original", func() result.Sample { return original(workers, workers, byTrial, false) }},
	} {
		b.Run(a.name, func(b *testing.B) { contest(b, a, plain, "ns/worker", workers) })
	}
}

// BenchmarkManyWorkers compares 50,000 locked workers with one worker per CPU that takes pieces until none is left, at
// the same work of some eight seconds. Each of the many has 16 numbers, one tile.
func BenchmarkManyWorkers(b *testing.B) {
	work := PoolOptions{Limit: 800_000, Repeats: 2, Workers: 50_000, Method: "brute"}
	few := work
	few.Workers, few.Split = allowed(b).Len(), "dynamic"
	contest(b, pool(b, "locked", work, placement.Policy{Lock: true}),
		pool(b, "one-a-cpu", few, placement.Policy{}), "s/run", 1e9)
}

// BenchmarkPinned compares executors with goroutines that pin themselves round robin, at the original's division.
func BenchmarkPinned(b *testing.B) {
	work := PoolOptions{Limit: 40_000, Workers: 2000, Method: "modulo"}
	executor := work
	executor.Executor = true
	pins := placement.Policy{Lock: true, PinCPUs: allowed(b).List()}
	contest(b, pool(b, "pinned", work, pins), pool(b, "executor", executor, placement.Policy{}), "s/run", 1e9)
}

// BenchmarkInstrumentation measures the cost of reading clock, CPU and thread.
func BenchmarkInstrumentation(b *testing.B) {
	for name, workers := range map[string]int{"workers=2": 2, "workers=50000": 50_000} {
		work := PoolOptions{Limit: 200_000, Workers: workers, Method: "brute", Split: "dynamic"}
		if workers > 2 {
			work.Split = "contiguous"
		}
		off := work
		off.uninstrumented = true
		b.Run(name, func(b *testing.B) {
			contest(b, pool(b, "on", work, placement.Policy{Lock: true}),
				pool(b, "off", off, placement.Policy{Lock: true}), "s/run", 1e9)
		})
	}
}

// BenchmarkOriginal compares the structure of the original program, with its division and its fault, with gorun's
// methods.
func BenchmarkOriginal(b *testing.B) {
	const limit = 20_000
	for _, workers := range []int{50, 1000, 5000} {
		mended := arm{"mended", func() result.Sample { return original(limit, uint64(workers), byModulo, false) }}
		faulty := arm{"faulty", func() result.Sample { return original(limit, uint64(workers), byModulo, true) }}
		name := fmt.Sprintf("workers=%d", workers)
		b.Run(name+"/modulo", func(b *testing.B) {
			contest(b, pool(b, "modulo", PoolOptions{Limit: limit, Workers: workers, Method: "modulo"}, placement.Policy{}),
				mended, "s/run", 1e9)
		})
		b.Run(name+"/brute", func(b *testing.B) {
			contest(b, pool(b, "brute", PoolOptions{Limit: limit, Workers: workers, Method: "brute"}, placement.Policy{}),
				mended, "s/run", 1e9)
		})
		b.Run(name+"/fault", func(b *testing.B) {
			var seconds, tested [2][]float64
			takeTurns(b, 2, func(i int) {
				s := [2]arm{faulty, mended}[i].run()
				seconds[i], tested[i] = append(seconds[i], s.Seconds), append(tested[i], float64(figuresOf(b, &s).Numbers))
			})
			b.ReportMetric(100*(1-tested[0][0]/tested[1][0]), "%skipped")
			reportRatio(b, seconds[0], seconds[1], "x-mended")
		})
	}
}

// BenchmarkMemory measures the peak memory of the README's first command, in a separate process.
func BenchmarkMemory(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "gorun")
	out, err := exec.Command("go", "build", "-o", binary, "gorun/cmd/gorun").CombinedOutput()
	require.NoError(b, err, string(out))
	for _, workers := range []string{"1", "50000"} {
		b.Run("workers="+workers, func(b *testing.B) {
			peak := 0.0
			for b.Loop() {
				out, err := exec.Command(binary, "primes", "--workers", workers, "--lock-thread", "--format", "json").Output()
				require.NoError(b, err)
				var run result.Run
				require.NoError(b, json.Unmarshal(out, &run))
				for _, s := range run.Samples.All() {
					if bytes := figuresOf(b, s).MemoryPeakBytes; bytes != nil {
						peak = max(peak, float64(*bytes))
					}
				}
			}
			b.ReportMetric(0, "ns/op") // the time of a process is meaningless here
			b.ReportMetric(peak/(1<<20), "MiB-peak")
		})
	}
}

// original reimplements the pool of the program that gorun grew from: contiguous ranges, a goroutine per worker, one
// message per worker on a channel with room for all. Its fault: each range skips its last number.
func original(limit, workers uint64, test func(uint64) (prime bool, trials uint64), fault bool) result.Sample {
	begun := time.Now()
	before, _ := linux.ProcessUsage()
	done := make(chan Tally, workers+1)
	each := limit / workers
	for i := range workers {
		go func() {
			first, end := 1+i*each, 1+(i+1)*each
			if fault {
				end--
			}
			var t Tally
			for n := first; n < end; n++ {
				prime, trials := test(n)
				t.Numbers++
				t.Trials += trials
				if prime {
					t.Primes++
				}
			}
			done <- t
		}()
	}
	var sum Tally
	for range workers {
		sum.add(<-done)
	}
	after, _ := linux.ProcessUsage()
	used := after.Sub(before)
	return result.Sample{
		Seconds: time.Since(begun).Seconds(), UserSeconds: used.UserSeconds, SystemSeconds: used.SystemSeconds,
		Values: result.FiguresOf(&Figures{Primes: sum.Primes, Numbers: sum.Numbers, Trials: sum.Trials}),
	}
}

func byModulo(n uint64) (prime bool, trials uint64) {
	divisors := 0
	for i := int64(1); i <= int64(n); i++ {
		if int64(n)%i == 0 {
			divisors++
		}
	}
	return divisors == 2, n
}

func byTrial(n uint64) (prime bool, trials uint64) {
	prime, trials, _ = trialDivide(n, &neverStop)
	return prime, trials
}

var neverStop atomic.Bool
