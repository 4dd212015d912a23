package contend

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/base/packed"
	"gorun/internal/record/result"
	"gorun/internal/show/view"
)

// row is a row of xadd with a sample for each time.
func row(n, cpus, dist int, mode string, overlap float64, ns ...float64) (samples []result.Sample) {
	for _, t := range ns {
		s := result.Sample{Quality: result.Quality{Grade: result.Valid}}
		s.Values = result.FiguresOf(&Figures{
			ContendRow: result.ContendRow{Row: n, Op: "xadd", CPUs: cpus, CPUList: "0-1"[:2*cpus-1], DistBytes: dist},
			Mode:       mode, NsPerOp: t, Operations: 1000, Overlap: &overlap,
		})
		samples = append(samples, s)
	}
	return samples
}

func TestAnswer(t *testing.T) {
	join := func(rows ...[]result.Sample) (all []result.Sample) {
		for _, r := range rows {
			all = append(all, r...)
		}
		return all
	}
	for want, samples := range map[string][]result.Sample{
		"xadd takes 8.28 ns on 2 CPUs at once.": row(0, 2, 0, ByTime, 1, 8.28),
		"xadd on 2 CPUs takes 4.00 times as long as on 1 CPU: 8.00 ns (7.00 ns to 9.00 ns) against 2.00 ns (1.90 ns to 2.10 ns).": join(
			row(0, 1, 0, ByTime, 1, 1.9, 1.9, 2, 2.1, 2.1), row(1, 2, 0, ByTime, 0.2, 7, 7, 8, 9, 9)),
		"xadd on 2 CPUs takes 50% longer than on 1 CPU: 3.00 ns (2.50 ns to 3.00 ns) against 2.00 ns (2.00 ns to 2.00 ns).": join(
			row(0, 1, 0, ByCount, 1, 2, 2, 2, 2, 2), row(1, 2, 0, ByCount, 0.95, 3, 3, 3, 3, 2.5)),
		"xadd on 2 CPUs: not clearly slower or faster than on 1 CPU: 8.00 ns (7.00 ns to 9.00 ns) against 2.00 ns (1.00 ns to 7.50 ns).": join(
			row(0, 1, 0, ByTime, 1, 1, 2, 2, 2, 7.5), row(1, 2, 0, ByTime, 1, 7, 8, 8, 8, 9)),
		"xadd on 2 CPUs takes 3.00 ns, and 2.00 ns on 1 CPU. Too few samples to compare: " +
			"gorun matrix contend --op xadd --cpus '0 0-1' compares them.": join(
			row(0, 1, 0, ByCount, 1, 2), row(1, 2, 0, ByCount, 0.95, 3)),
		"xadd on 2 CPUs: no factor can be claimed, because its threads all ran at once for only 12.0% of the time: " +
			"use --time, which counts nothing else.": join(row(0, 1, 0, ByCount, 1, 2), row(1, 2, 0, ByCount, 0.12, 8)),
		"xadd on 2 CPUs with words in one cache line (8 B apart) takes 16.20 ns, and 2.69 ns with words 64 B apart. " +
			"Too few samples to compare: gorun matrix contend --op xadd --dist-bytes 64,8 --cpus 0-1 compares them.": join(row(0, 1, 8, ByTime, 1, 2.5), row(1, 2, 8, ByTime, 1, 16.2),
			row(2, 1, 64, ByTime, 1, 2.5), row(3, 2, 64, ByTime, 1, 2.69)),
	} {
		assert.Equal(t, want, view.Sentences(answer(&result.Run{Samples: packed.Of(samples...)})))
	}
	doubtful := row(0, 2, 0, ByTime, 1, 8.28, 8.28)
	doubtful[1].Quality = result.Quality{Grade: result.Suspect, Reasons: []string{"it was noisy"}}
	assert.Equal(t, "xadd takes 8.28 ns on 2 CPUs at once. 1 of 2 samples is suspect: it was noisy.",
		view.Sentences(answer(&result.Run{Samples: packed.Of(doubtful...)})))
}
