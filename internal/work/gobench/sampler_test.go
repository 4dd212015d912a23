package gobench

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/start/launch"
)

// The output of test binaries with -test.v, as Go 1.26 prints it: what a benchmark prints is before its name or its result,
// or looks like one, and the end of a name is not GOMAXPROCS.
func TestParse(t *testing.T) {
	own := map[string]float64{"x/op": 3}
	ns := func(name string, procs int, ns float64) Figures {
		return Figures{Benchmark: name, Procs: procs, Iterations: 1, NS: ns}
	}
	for printed, want := range map[string][]*announced{
		"goos: linux\nBenchmarkP\nhello\nBenchmarkP-2      \t      10\t       150.5 ns/op\t 3.000 x/op\t NaN y/op\t       8 B/op\t       1 allocs/op\n": {
			{name: "BenchmarkP", lines: []Figures{{
				Benchmark: "BenchmarkP", Procs: 2, Iterations: 10, NS: 150.5, Bytes: new(8.0), Allocs: new(1.0), Own: own,
			}}},
		},
		"BenchmarkP\n    x_test.go:5: no way\n--- FAIL: BenchmarkP\nFAIL\n": {{name: "BenchmarkP", failed: "failed: x_test.go:5: no way"}},
		"BenchmarkP\nhello BenchmarkP/n-2\nBenchmarkP/n-2    \t       1\t       321.0 ns/op\nBenchmarkP/n-2-4  \t       1\t       130.0 ns/op\n": {
			{name: "BenchmarkP"}, {name: "BenchmarkP/n-2", lines: []Figures{ns("BenchmarkP/n-2", 1, 321), ns("BenchmarkP/n-2", 4, 130)}},
		},
		"BenchmarkP\n10%\r20% BenchmarkP-2 \t 1\t 2.5 ns/op\n":                                       {{name: "BenchmarkP", lines: []Figures{ns("BenchmarkP", 2, 2.5)}}},
		"BenchmarkP\nBenchmarkP-2 \t 1\t 1 ns/op\nBenchmarkQ\nBenchmarkP-2   \t       1\t 7 ns/op\n": {{name: "BenchmarkP", lines: []Figures{ns("BenchmarkP", 2, 7)}}},
		"BenchmarkP\n    x_test.go:5: no disk\n--- SKIP: BenchmarkP\n":                               {{name: "BenchmarkP", failed: "was skipped: x_test.go:5: no disk"}},
		"BenchmarkP\nBenchmarkP-2 \t 1\n":                                                            {{name: "BenchmarkP", lines: []Figures{ns("BenchmarkP", 2, 0)}}},
	} {
		assert.Equal(t, want, parse([]byte(printed), "BenchmarkP"), "%s", printed)
	}
}

func TestSplit(t *testing.T) {
	p := split(`A[/|]/(b|c/d)|B\/e`)
	assert.Equal(t, pattern{{"A[/|]", "(b|c/d)"}, {`B\/e`}}, p)
	assert.Empty(t, p.of("BenchmarkC"))
	of := split("Spin/x|Make").of("BenchmarkSpin")
	assert.Equal(t, "^BenchmarkSpin$/x", of.String())
	assert.True(t, of.deeper("BenchmarkSpin"))
	assert.False(t, of.deeper("BenchmarkSpin/x"))
}

// A name that stands twice, in a package and its external tests, is lost, and the others are measured.
func TestChosen(t *testing.T) {
	s := &Source{bench: "kA|kB/x", sides: []side{{name: "HEAD", binaries: map[string]binary{".": {pkg: "p"}}}}}
	patterns := map[string]string{}
	for name, of := range s.chosen(0, ".", []string{"BenchmarkA", "BenchmarkB", "BenchmarkC", "BenchmarkA", "BenchmarkC"}) {
		patterns[name] = of.String()
	}
	assert.Equal(t, map[string]string{"BenchmarkB": "^BenchmarkB$/x"}, patterns)
	assert.Equal(t, []loss{{"HEAD", ".", "p", "BenchmarkA", "is there 2 times, and none of them can be run alone", false}}, s.lost)
	assert.True(t, benchmark{folder: ".", name: "BenchmarkA/x"}.lost(s.lost[0]))
}

func TestExact(t *testing.T) {
	assert.Equal(t, `^BenchmarkS$/^a\.b$/^\(y\|z$`, exact("BenchmarkS/a.b/(y|z"))
}

// A benchmark that panics may still have a result of 0 ns/op: testing goes on to print it while the program ends.
func TestPanicOutrunByItsResult(t *testing.T) {
	o := launch.Outcome{Ending: launch.Ending{
		ExitCode: 2, Stdout: []byte("BenchmarkPanic\nBenchmarkPanic-2 \t       1\t         0 ns/op\n"), Stderr: []byte("panic: boom\n"),
	}}
	printed := o.Stdout
	for _, units := range []string{"", " \t 3 req/s\n"} {
		o.Stdout = append(bytes.TrimSpace(printed), units...)
		_, err := only(o, "BenchmarkPanic")
		assert.EqualError(t, err, "BenchmarkPanic ended with exit code 2: panic: boom")
	}
	o.ExitCode = 0
	l, err := only(o, "BenchmarkPanic")
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"req/s": 3}, l.Own)
	o.Stdout = printed
	_, err = only(o, "BenchmarkPanic")
	assert.EqualError(t, err, "BenchmarkPanic has 0 ns/op, which has no ratio")
}
