package metrics

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"gorun/internal/result"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var fixedInfo = Info{
	Experiment: "primes", Version: "v0.1.0", Method: "brute", Kernel: "avx512", Dispatch: "goroutine",
	Split: "contiguous", Placement: `pin-cpus "0-1", nice 5`,
}

func fixedLive() result.Live {
	return result.Live{
		NumbersTested: 150000, PrimesFound: 13848, WorkersStarted: 37502, WorkersFinished: 37500, SamplesDone: 3,
		SamplesPlanned: 5, Threads: 13, VoluntarySwitches: 1203, InvoluntarySwitches: 87,
		CPUs: []result.LiveCPU{
			{CPU: 0, Workers: 18800, BusySeconds: 2.25},
			{CPU: 11, Workers: 18700, BusySeconds: 2.5},
		},
		WorkerSeconds: result.Histogram{
			Bounds: []float64{1e-6, 1e-3, 1}, Counts: []uint64{100, 37000, 390, 10}, Sum: 42.5,
		},
	}
}

// exposition is the run's own series as a scraper sees them.
func exposition(t *testing.T, e *Exporter) string {
	t.Helper()
	families, err := e.run.Gather()
	require.NoError(t, err)
	var out strings.Builder
	for _, family := range families {
		_, err := expfmt.MetricFamilyToText(&out, family)
		require.NoError(t, err)
	}
	return out.String()
}

func TestGoldenExposition(t *testing.T) {
	got := exposition(t, NewExporter(fixedLive, fixedInfo))
	path := filepath.Join("..", "..", "testdata", "golden", "metrics", "run.prom")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test once with -update")
	assert.Equal(t, string(want), got)
}

func TestNamesPassPromlint(t *testing.T) {
	e := NewExporter(fixedLive, fixedInfo)
	problems, err := testutil.GatherAndLint(e.run)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// The pedantic registry compares what is collected with what was described.
func TestCollectorDescribesWhatItCollects(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(newCollector(fixedLive, fixedInfo)))
	n, err := testutil.GatherAndCount(registry)
	require.NoError(t, err)
	assert.Equal(t, 15, n, "twelve series, of which three come twice")
}

func TestOpenEndedRunHasNoPlan(t *testing.T) {
	got := exposition(t, NewExporter(func() result.Live { return result.Live{} }, Info{}))
	assert.NotContains(t, got, "gorun_samples_planned")
	assert.NotContains(t, got, "gorun_cpu_")
	assert.Contains(t, got, `gorun_worker_duration_seconds_bucket{le="+Inf"} 0`)
}
