package metrics

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var fixedInfo = Info{
	Experiment: "primes", Version: "v0.1.0", Method: "brute", Kernel: "avx512", Dispatch: "goroutine",
	Split: "contiguous", Placement: `pin-cpus "0-1", nice 5`,
}

// fixedState is a run with a figure for every family, unlike any real one.
func fixedState() result.State {
	steal, throttled, queue, pressure, left := 0.25, 0.125, 1.5, 2.5, 12.0
	minor, major := uint64(5000), uint64(3)
	state := result.State{
		NumbersTested: 150000, PrimesFound: 13848, WorkersStarted: 37502, WorkersFinished: 37500, Threads: 13,
		VoluntarySwitches: 1203, InvoluntarySwitches: 87,
		CPUs: []result.CPUState{
			{CPU: 0, Workers: 18800, BusySeconds: 2.25},
			{CPU: 11, Workers: 18700, BusySeconds: 2.5},
		},
		WorkerSeconds: &result.Histogram{},
		Totals: result.Totals{
			Samples: 3, Grades: map[result.Grade]uint64{result.Valid: 2, result.Suspect: 1}, Watched: 4.75,
			Steal: &steal, Throttled: &throttled, RunQueue: &queue, Pressure: &pressure,
			MinorFaults: &minor, MajorFaults: &major,
			Migrations: map[string]uint64{"same-core": 7, "cross-node": 2, result.UnknownRelation: 1},
			Load: &result.Load{
				Requested: 60, CPUs: []result.LoadCPU{{CPU: 0, Achieved: 59.5}, {CPU: 11, Achieved: 60}},
			},
		},
		RunCPUs: 2, Extent: result.Extent{Samples: 5, Budget: 60}, Elapsed: 18, Left: &left,
		Interim: &result.Interim{Cells: []result.InterimCell{
			{Name: "2 workers", Seconds: 0.25, Baseline: true},
			{Name: "8 workers", Seconds: 0.5, Open: true, Verdict: stats.Verdict{
				Kind: stats.Slower, Rounds: 12, Typical: stats.Effect{Ratio: 2, Lo: 1.6, Hi: 2.4},
			}, Verdicts: map[string]stats.Verdict{"cpu_seconds": {
				Kind: stats.Same, Rounds: 12, Typical: stats.Effect{Ratio: 1, Lo: 0.99, Hi: 1.01},
			}}},
			{Name: "9 workers", Seconds: 0.5, Open: true, Verdict: stats.Verdict{
				Kind: stats.CantTell, Rounds: 1, Typical: stats.Effect{Ratio: 2, Lo: 0, Hi: math.MaxFloat64},
			}, Verdicts: map[string]stats.Verdict{"cpu_seconds": {
				Kind: stats.CantTell, Rounds: 1, Typical: stats.Effect{Ratio: 2, Lo: 0, Hi: math.MaxFloat64},
			}}},
			{Name: "none", Verdict: stats.InvalidVerdict("no such CPU")},
		}},
	}
	for _, seconds := range []float64{0, 2e-6, 0.001, 0.001, 3, 5000} {
		state.WorkerSeconds.Add(seconds)
	}
	for _, seconds := range []float64{1.5, 1.5, 1.75} {
		state.Totals.Seconds.Add(seconds)
	}
	return state
}

// exposition returns the run's own series as a scraper sees them.
func exposition(t *testing.T, e *Exporter) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, writeText(&out, e.run))
	return out.String()
}

func TestGoldenExposition(t *testing.T) {
	got := exposition(t, NewExporter(fixedState, fixedInfo))
	path := filepath.Join("..", "..", "..", "testdata", "golden", "metrics", "run.prom")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test once with -update")
	assert.Equal(t, string(want), got)
	for _, f := range Families { // what names a family in a document, a rule or a dashboard is compared with this file
		assert.Contains(t, got, "# TYPE "+Prefix+f.Name+" "+string(f.Type)+"\n")
	}
}

// The pedantic registry compares the collected series with the described ones.
func TestSeriesAreAsDescribed(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(NewExporter(fixedState, fixedInfo)))
	n, err := testutil.GatherAndCount(registry)
	require.NoError(t, err)
	assert.Greater(t, n, len(Families), "each has a series, and some have several")
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestOpenEndedRunHasNoPlan(t *testing.T) {
	got := exposition(t, NewExporter(func() result.State { return result.State{} }, Info{}))
	assert.NotContains(t, got, "gorun_samples_planned")
	assert.NotContains(t, got, "gorun_cpu_")
	assert.Contains(t, got, `gorun_sample_duration_seconds_bucket{le="+Inf"} 0`)
	assert.NotContains(t, got, "gorun_worker", "no worker was seen")
	assert.NotContains(t, got, "gorun_cell")
	assert.NotContains(t, got, "gorun_steal", "it is not known, which is not zero")
}

// A scrape is bounded for any number of cells and workers.
func TestSeriesAreBounded(t *testing.T) {
	state := fixedState()
	count := func() int {
		n, err := testutil.GatherAndCount(NewExporter(func() result.State { return state }, fixedInfo).run)
		require.NoError(t, err)
		return n
	}
	first := state.Interim.Cells[1]
	state.Interim = &result.Interim{}
	for i := range MaxCells {
		first.Name = fmt.Sprintf("cell %d", i)
		state.Interim.Cells = append(state.Interim.Cells, first)
	}
	state.Interim.Cells[0].Baseline = true
	bound := count()
	for i := range 10 * MaxCells {
		first.Name = fmt.Sprintf("other %d", i)
		state.Interim.Cells = append(state.Interim.Cells, first)
		state.WorkerSeconds.Add(float64(i))
	}
	assert.Equal(t, bound, count())
	text := exposition(t, NewExporter(func() result.State { return state }, fixedInfo))
	assert.Contains(t, text, fmt.Sprintf("gorun_cells_other %d\n", 10*MaxCells))
	assert.Contains(t, text, fmt.Sprintf("gorun_cells{verdict=\"slower\"} %d\n", 11*MaxCells-1), "all but the baseline")
	assert.NotContains(t, text, `gorun_cell_ratio{cell="cell 0"}`, "of the baseline to itself")
	assert.Contains(t, text, `gorun_cell_ratio{cell="cell 1"}`)
}

// A cell's name is the user's.
func TestCellNamesOfAnyBytes(t *testing.T) {
	state := fixedState()
	state.Interim.Cells[1].Name = "\xff\"\n{}\x1b\u009b\u202e"
	assert.Contains(t, exposition(t, NewExporter(func() result.State { return state }, fixedInfo)), "cell=\"\uFFFD\\\"\\n{}\\\\u001b\\\\u009b\\\\u202e\"")
}

// Both kinds of buckets equal the buckets that the client itself makes from the same durations.
func TestHistogramIsTheClients(t *testing.T) {
	var bounds []float64
	for octave := leastBound; octave <= lastBound; octave++ {
		bounds = append(bounds, math.Exp2(float64(octave)))
	}
	rapid.Check(t, func(t *rapid.T) {
		theirs := prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "x", Buckets: bounds, NativeHistogramBucketFactor: 1.1, NativeHistogramZeroThreshold: result.HistogramTiny,
		})
		var ours result.Histogram
		for _, ns := range rapid.SliceOf(rapid.Int64Range(0, 1<<45)).Draw(t, "nanoseconds") {
			seconds := float64(ns) / 1e9
			theirs.Observe(seconds)
			ours.Add(seconds)
		}
		var want, got dto.Metric
		require.NoError(t, theirs.Write(&want))
		c := NewExporter(fixedState, fixedInfo)
		require.NoError(t, c.newHistogram(prometheus.NewDesc("x", "", nil, nil), &ours).Write(&got))
		want.Histogram.CreatedTimestamp, got.Histogram.CreatedTimestamp = nil, nil
		assert.InDelta(t, want.Histogram.GetSampleSum(), got.Histogram.GetSampleSum(), 1e-9*want.Histogram.GetSampleSum())
		want.Histogram.SampleSum, got.Histogram.SampleSum = nil, nil
		require.Equal(t, want.String(), got.String())
	})
}
