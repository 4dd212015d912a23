package stats

import "testing"

// The cost between samples for a scheduler: a round of 8 cells and the control, after 400 rounds. A round of samples
// takes about 0.5 s.
func BenchmarkRound(b *testing.B) {
	d := design(1, 8)
	d.Rounds = 1 << 40
	n := start(traces(b, "hog.seqp.*.csv"), 0, 1)
	r := newRace(b, d)
	for range 400 {
		runRound(b, r, n, nil)
	}
	b.ReportAllocs()
	for b.Loop() {
		runRound(b, r, n, nil)
		r.Done()
	}
}

// The cost of showing all verdicts in a progress display, after 400 rounds.
func BenchmarkVerdicts(b *testing.B) {
	d := design(1, 8)
	d.Rounds = 1 << 40
	n := start(traces(b, "hog.seqp.*.csv"), 0, 1)
	r := newRace(b, d)
	for range 400 {
		runRound(b, r, n, nil)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Verdicts(0)
	}
}

// A run of 10,000 samples, from the first to the verdicts.
func BenchmarkSummarise(b *testing.B) {
	trace := traces(b, "hog.seqp.*.csv")
	for _, cells := range []int{2, 8} {
		b.Run(map[int]string{2: "2cells", 8: "8cells"}[cells], func(b *testing.B) {
			d := design(1, cells)
			d.Rounds = 10000 / (cells + 1)
			b.ReportAllocs()
			for b.Loop() {
				r := newRace(b, d)
				run(b, r, start(trace, 0, 1), nil, 1e9)
				r.Verdicts(0)
			}
		})
	}
}
