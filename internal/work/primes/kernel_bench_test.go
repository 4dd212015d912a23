package primes

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkKernel compares each kernel with one division per trial (modulo). On a
// shared machine rates drift by more than the kernels differ, so rivals take turns: each iteration is a round in which
// every rival runs once, in shuffled order, and ratios are computed within a round. It reports
//
//	ns/trial  median
//	x-modulo  median ratio of its trials per second to modulo's; -iqr: its quartiles' distance
//
// Run with: go test -run '^$' -bench Kernel ./internal/work/primes
func BenchmarkKernel(b *testing.B) {
	for _, k := range allKernels() {
		b.Run(k.String(), func(b *testing.B) { benchmarkKernel(b, k) })
	}
}

// benchmarkWork is the range of each method: the largest numbers of the default limit, taking 1 to 50 ms.
var benchmarkWork = map[string]Range{
	"brute":  {199_001, 1, 960},
	"modulo": {199_985, 1, 16},
	"trial":  {180_001, 1, 20_000},
}

// rival is one loop to time; it returns its number of trials.
type rival struct {
	name  string
	count func() (trials uint64)
}

func benchmarkKernel(b *testing.B, k kernelTest) {
	work := benchmarkWork[k.method.Name]
	rivals := []rival{{"kernel", goRival(k.kernel, work)}, {"modulo", goRival(moduloGo, benchmarkWork["modulo"])}}
	rounds := map[string][]float64{} // ns a trial, by rival and round
	takeTurns(b, len(rivals), func(i int) {
		start := time.Now()
		trials := rivals[i].count()
		rounds[rivals[i].name] = append(rounds[rivals[i].name], float64(time.Since(start).Nanoseconds())/float64(trials))
	})
	reportRatio(b, rounds["modulo"], rounds["kernel"], "x-modulo")
	_, median, _ := quartiles(rounds["kernel"])
	b.ReportMetric(median, "ns/trial")
}

// goRival counts trials.
func goRival(k Kernel, work Range) func() uint64 {
	counter := k.New(work.First + (work.Count-1)*work.Step)
	return func() uint64 {
		var stop atomic.Bool
		return counter.Count(work, &stop).Trials
	}
}

// takeTurns runs each of n rivals once per iteration, in shuffled order.
func takeTurns(b *testing.B, n int, run func(i int)) {
	for b.Loop() {
		for _, i := range rand.Perm(n) {
			run(i)
		}
	}
	b.ReportMetric(0, "ns/op") // the time of a round is meaningless
}

// reportRatio reports the median of the ratios within each round, and the distance of their quartiles.
func reportRatio(b *testing.B, numerator, denominator []float64, unit string) {
	ratios := make([]float64, len(numerator))
	for i := range ratios {
		ratios[i] = numerator[i] / denominator[i]
	}
	low, median, high := quartiles(ratios)
	b.ReportMetric(median, unit)
	b.ReportMetric(high-low, unit+"-iqr")
}

// quartiles sorts a copy; the quartiles are the nearest ranks.
func quartiles(values []float64) (low, median, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	return sorted[last/4], sorted[last/2], sorted[last-last/4]
}
