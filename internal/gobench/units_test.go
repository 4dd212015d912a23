package gobench

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/result"
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
	assert.Equal(t, []result.Figure{
		{Column: "own_hits/op", Label: "hits/op", Better: result.Lower},
		{Column: "own_p99-ns", Label: "p99-ns", Better: result.Lower},
		{Column: "own_widgets/op", Label: "widgets/op", Better: result.Higher},
	}, l.judged([]byte(output)))
}
