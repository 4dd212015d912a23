package gobench

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
)

func TestUsual(t *testing.T) {
	for direction, units := range map[string][]string{
		result.Lower: {
			"p99-ns", "p50-us/req", "µs", "ms/frame", "s", "sec/op", "GC-pause-ms", "heap-B", "KiB/op", "bytes", "MB", "peak_MiB", "allocs/req", "ns/GC",
		},
		result.Higher: {"req/s", "MB/s", "frames/sec", "B/s", "allocs/s", "ns/s"},
		"":            {"widgets/op", "%", "hit%", "items", "ops", "depth", "pods", "class", "x/s/op", "tabs"},
	} {
		for _, unit := range units {
			assert.Equal(t, direction, usual(unit), unit)
		}
	}
}

func TestJudgedUnits(t *testing.T) {
	output := "Unit widgets/op better=higher\nUnit hits/op assume=exact better=lower\nUnit nothing/op better=\n" +
		"BenchmarkA\nBenchmarkA-2 \t 10 \t 5 ns/op \t 3 MB/s \t 7 p99-ns \t 42 widgets/op \t 2 hits/op \t 1 nothing/op\n"
	l := parse([]byte(output), "BenchmarkA")[0].lines[0]
	figures := []result.JudgedFigure{
		{Column: "own_hits/op", Label: "hits/op", Better: result.Lower},
		{Column: "own_p99-ns", Label: "p99-ns", Better: result.Lower},
		{Column: "own_widgets/op", Label: "widgets/op", Better: result.Higher},
	}
	by, others := l.judged([]byte(output))
	assert.Nil(t, by)
	assert.Equal(t, figures, others)

	// Without a time, the first figure above 0 takes its place, or else the throughput.
	l.NS, l.Own["hits/op"] = 0, 0
	by, others = l.judged([]byte(output))
	assert.Equal(t, &figures[1], by)
	assert.Equal(t, []result.JudgedFigure{figures[0], figures[2]}, others)
	l.Own = map[string]float64{throughput: 3, "nothing/op": 1}
	by, others = l.judged([]byte(output))
	assert.Equal(t, &result.JudgedFigure{Column: "own_MB/s", Label: throughput, Better: result.Higher}, by)
	assert.Empty(t, others)
	delete(l.Own, throughput)
	by, _ = l.judged([]byte(output))
	assert.Nil(t, by, "no direction is known")
}

// What varies is called more or less only if enough samples of each side are apart.
func TestAllocations(t *testing.T) {
	few, many := certain-1, certain
	for name, c := range map[string]struct {
		before, after bounds
		want, words   string
	}{
		"exactly more":       {bounds{64, 64, 1}, bounds{128, 128, 1}, "more", "128"},
		"exactly less":       {bounds{64, 64, 1}, bounds{0, 0, 1}, "less", "0"},
		"exactly the same":   {bounds{64, 64, 1}, bounds{64, 64, 1}, "", "64"},
		"apart, few samples": {bounds{64, 65, few}, bounds{70, 72, many}, "varies", "70–72"},
		"apart":              {bounds{64, 65, many}, bounds{70, 72, many}, "more", "70–72"},
		"apart, below":       {bounds{70, 72, many}, bounds{65, 65, many}, "less", "65"},
		"not apart":          {bounds{64, 70, many}, bounds{70, 72, many}, "varies", "70–72"},
		"not known":          {bounds{}, bounds{70, 72, many}, "", "70–72"},
	} {
		assert.Equal(t, c.want, c.after.change(c.before), name)
		assert.Equal(t, c.words, c.after.String(), name)
	}
}
