package gobench

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The output of a test binary with -test.v, as Go 1.26 prints it: what a benchmark prints stands between its name and its
// result, and the end of a name is not GOMAXPROCS.
const printed = `goos: linux
BenchmarkP
hello
BenchmarkP-2      	      10	       150.5 ns/op	         3.000 x/op	       8 B/op	       1 allocs/op
BenchmarkF
    x_test.go:5: no way
--- FAIL: BenchmarkF
BenchmarkS
BenchmarkS/n-2
BenchmarkS/n-2    	       1	       321.0 ns/op
BenchmarkS/n-2-4  	       1	       130.0 ns/op
FAIL
`

func TestParse(t *testing.T) {
	lines, failed := parse([]byte(printed))
	assert.Equal(t, []string{"BenchmarkF failed: x_test.go:5: no way"}, failed)
	assert.Equal(t, []line{
		{Figures{
			Benchmark: "BenchmarkP", Procs: 2, Iterations: 10, NS: 150.5, Bytes: new(8.0), Allocs: new(1.0),
			Own: map[string]float64{"x/op": 3},
		}},
		{Figures{Benchmark: "BenchmarkS/n-2", Procs: 1, Iterations: 1, NS: 321}},
		{Figures{Benchmark: "BenchmarkS/n-2", Procs: 4, Iterations: 1, NS: 130}},
	}, lines)
}

func TestExact(t *testing.T) {
	assert.Equal(t, `^BenchmarkS$/^a\.b$/^\(y\|z$`, exact("BenchmarkS/a.b/(y|z"))
}
