package bind

import (
	"encoding/csv"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render"
	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// views show runs of this experiment.
var views = render.Views{Experiment}

func write(t *testing.T, format func(io.Writer, *result.Run, term.Options) error, run *result.Run, o term.Options) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, format(&out, run, o))
	return out.String()
}

// bindRunOf returns a run with times that depend on the process and the trial; bound is a tenth faster.
func bindRunOf(processes, trials int) *result.Run {
	run := &result.Run{
		Schema: result.Schema, Tool: result.Tool{Name: "gorun", Version: "v0.1.0", Go: "go1.26.8"},
		Host:       result.Host{OS: "linux", Arch: "amd64", Kernel: "6.18.2", CPUs: 2, Online: 2, Allowed: "0-1", GOMAXPROCS: 2},
		Experiment: "bind",
	}
	run.Spec = spec{Processes: processes, Checks: 10000, ArrayBytes: 2 << 20, Passes: 128, Trials: trials, CPUs: "0-1"}
	run.Matrix = &result.Matrix{
		Alpha: 0.05, Margin: 0.02, Precision: 0.02, Rounds: trials,
		Order: result.Order{Design: result.Pairs, Method: "pairs", BlockCells: 2, First: [][]int{{1, 0}}},
	}
	v := stats.Verdict{
		Kind: stats.Faster, Typical: stats.Effect{Ratio: 0.9, Lo: 0.88, Hi: 0.92}, Rounds: trials, Margin: 0.02, Step: 0.001,
	}
	run.Cells = []result.Cell{
		{
			Name: "unbound", Flags: map[string]string{"placement": "unbound"}, Command: []string{"bind"},
			Summary: &result.Summary{Samples: trials, Seconds: result.Distribution{Min: 0.1, Median: 0.12, Max: 0.14}},
		},
		{
			Name: "bound", Flags: map[string]string{"placement": "bound"}, Command: []string{"bind"},
			Verdict: &v, Words: v.String(),
			Summary: &result.Summary{Samples: trials, Seconds: result.Distribution{Min: 0.09, Median: 0.108, Max: 0.126}},
		},
	}
	run.Findings = []result.Finding{
		{Code: "deviations-unbound", Message: "Unbound, a process was on another CPU in 34 of 2000000 checks.", Value: 34},
		{Code: "deviations-bound", Message: "Bound, every process was on its CPU, in all of 2000000 checks."},
	}
	for trial := range trials {
		for cell := range 2 {
			run.Samples = append(run.Samples, bindSample(len(run.Samples), processes, trial, cell == 1))
		}
	}
	return run
}

func bindSample(index, processes, trial int, bound bool) result.Sample {
	s := result.Sample{Index: index, Quality: result.Quality{Verdict: result.Valid}}
	s.Slot = &result.Slot{Cell: 0, Round: trial, Elapsed: float64(index) / 100}
	s.Placement = result.Placement{Requested: "none", Verified: true}
	v := Figures{Bound: bound, ArrayBytes: 2 << 20, Passes: 128}
	if bound {
		s.Cell = 1
		s.Placement = result.Placement{Requested: "process i on CPU i mod n of the n CPUs", Verified: true, Checked: 10000}
	}
	for process := range processes {
		p := Process{
			Process: process, CPU: -1, Checks: 10000, MovedTo: map[string]uint64{},
			Seconds: 0.1 * (1 + float64((process*31+trial*17)%13)/30),
		}
		switch {
		case bound:
			p.CPU = process % 2
			p.Seconds *= 0.9
		case (process+trial)%6 == 0:
			p.Deviations, p.MovedTo = 1, map[string]uint64{"1": 1}
		}
		s.Seconds += p.Seconds / float64(processes)
		v.Checks, v.Deviations = v.Checks+p.Checks, v.Deviations+p.Deviations
		v.Processes = append(v.Processes, p)
	}
	s.Values = result.FiguresOf(&v)
	return s
}

// invalidBind returns a run that was interrupted in its sixth trial, with a deviation in another trial.
func invalidBind() *result.Run {
	run := bindRunOf(3, 4)
	run.Partial = true
	run.Samples = run.Samples[:6]
	s := &run.Samples[5]
	s.Partial, s.Quality = true, result.Quality{Verdict: result.Suspect, Reasons: []string{"cut short"}}
	s = &run.Samples[3]
	s.Placement.Verified, s.Placement.Mismatches = false, []string{"process 1 was not on CPU 1 in 7 of 10000 checks"}
	s.Quality = result.Quality{
		Verdict: result.Invalid, Reasons: []string{"the placement is not the requested one: " + s.Placement.Mismatches[0]},
	}
	v := stats.InvalidVerdict(s.Quality.Reasons[0])
	run.Cells[1].Verdict, run.Cells[1].Words = &v, v.String()
	return run
}

// emptyBind returns a run that was interrupted in its first trial.
func emptyBind() *result.Run {
	run := bindRunOf(3, 4)
	run.Partial, run.Samples, run.Findings = true, []result.Sample{}, []result.Finding{}
	v := stats.PairedSamples(nil, nil, stats.SessionsDesign{Comparisons: 1, Alpha: 0.05, Margin: 0.02, Precision: 0.02})
	run.Cells[1].Verdict, run.Cells[1].Words = &v, v.String()
	run.Cells[0].Summary, run.Cells[1].Summary = nil, nil
	return run
}

// For any numbers of processes and trials, the table is of readable size and includes all of them.
func TestBindTableFits(t *testing.T) {
	for _, c := range []struct{ processes, trials, rows, columns int }{
		{1, 1, 1, 2},
		{20, 10, 20, 20},
		{41, 21, 21, 22},
		{200, 10, 40, 20},
		{7, 100, 7, 30},
	} {
		run := bindRunOf(c.processes, c.trials)
		trials := trialsOf(run)
		m, ok := trials.table()
		require.True(t, ok)
		assert.Len(t, m.rows, c.rows)
		assert.Len(t, m.columns, c.columns)
		sum, want := 0.0, 0.0
		for _, ms := range trials.at {
			want += ms
		}
		for _, column := range m.columns {
			require.Len(t, column.at, c.rows)
			sum += column.mean
		}
		if c.trials%m.perColumn == 0 {
			assert.InDelta(t, want/float64(len(trials.at)), sum/float64(len(m.columns)), 1e-6)
		}
		for width := 40; width <= 200; width += 40 {
			page := tableBlock(run, term.Options{Width: width})
			for line := range strings.Lines(page) {
				assert.LessOrEqual(t, text.StringWidth(strings.TrimSuffix(line, "\n")), width, "%+v", c)
			}
			assert.Equal(t, page, text.StripEscape(tableBlock(run, term.Options{Width: width, Colour: true, Terminal: true})))
			for _, column := range m.columns {
				assert.Contains(t, page, " "+column.name)
			}
		}
	}
}

// The bound trials are next to the unbound ones if they fit, else below.
func TestBindTable(t *testing.T) {
	page := write(t, views.Table, bindRunOf(20, 10), term.Options{})
	assert.Contains(t, page, "        A1  A2  A3  A4  A5  A6  A7  A8  A9 A10\n  P1   100")
	assert.Contains(t, page, "\n\n        B1  B2  B3  B4  B5  B6  B7  B8  B9 B10\n  P1    90")
	assert.Contains(t, page, "faster: −12% to −8.0%\n")
	assert.Contains(t, page, "Where the processes were:\n  - Unbound, a process")
	assert.NotContains(t, page, "limited this run")
	wide := write(t, views.Table, bindRunOf(20, 10), term.Options{Width: 120})
	assert.Contains(t, wide, " A9 A10    B1  B2 ")

	page = write(t, views.Table, invalidBind(), term.Options{})
	assert.Regexp(t, `A1 +A2 +A3 +B1\n`, page, "an invalid trial is not shown in the table")
	assert.NotContains(t, page, "B4", "and what was cut short neither")
	assert.Contains(t, page, "invalid: the placement is not the requested one: process 1 was not on CPU 1")
	assert.Contains(t, page, "interrupted: ")
	assert.Contains(t, write(t, views.Table, emptyBind(), term.Options{}), "interrupted: ")

	page = write(t, views.Table, bindRunOf(200, 40), term.Options{})
	assert.Contains(t, page, "a row is the mean of\n  up to 5 processes, by the first;"+
		" a column is the mean of up to 3 trials")
}

func TestBindFigures(t *testing.T) {
	for hi, want := range map[float64]string{0.512: "0.300", 5: "0.30", 50: "0.3", 500: "0"} {
		assert.Equal(t, want, table{scale: chart.HeatScale{Lo: 0, Hi: hi}}.show(0.3), hi)
	}
	assert.Equal(t, "·", table{}.show(math.NaN()))
}

func TestBindPlan(t *testing.T) {
	plan := &result.Plan{
		Experiment: "bind", CPUs: "0,5", Placement: "as asked", Spec: spec{Processes: 5, Trials: 2},
		Bind: &result.PlanBind{CPUs: []int{0, 5, 0, 5, 0}, Order: []bool{true, false, false, true}},
	}
	var out strings.Builder
	require.NoError(t, views.Plan(&out, plan, "table"))
	assert.Contains(t, out.String(), "\n  CPU 0    P1 P3 P5\n  CPU 5    P2 P4\n\n  trials   B1 A1 A2 B2\n")
}

func TestBindCSVAndBench(t *testing.T) {
	records, err := csv.NewReader(strings.NewReader(write(t, views.CSV, bindRunOf(3, 2), term.Options{}))).ReadAll()
	require.NoError(t, err)
	at := len([]string{"cell", "cell_name", "control", "round", "block", "elapsed_seconds"})
	assert.Equal(t, []string{"process", "trial", "bound", "cpu", "deviations", "checks"}, records[0][at:at+6])
	assert.Equal(t, []string{"1", "0", "true", "1", "0", "10000"}, records[5][at:at+6])

	page := write(t, views.Benchfmt, bindRunOf(3, 2), term.Options{})
	assert.Contains(t, page, "BenchmarkBind/bound=false/process=0/cpu=any-2 1 1e+08 ns/op 1 deviations/op\n")
	assert.Contains(t, page, "BenchmarkBind/bound=true/process=1/cpu=1-2 1 ")
}

func TestSVG(t *testing.T) {
	var out strings.Builder
	require.NoError(t, SVG(&out, bindRunOf(20, 10)))
	require.NoError(t, xml.Unmarshal([]byte(out.String()), new(struct{})))
	assert.Equal(t, 20*20+len(chart.Shades), strings.Count(out.String(), "<rect "))
	assert.ErrorContains(t, SVG(&out, emptyBind()), "no trial has a good sample")
}

// A trial of a matrix has parts too, and is shown in the table of a matrix.
func TestBindMatrix(t *testing.T) {
	run := bindRunOf(3, 2)
	run.Matrix.Order = result.Order{}
	for i, cell := range run.Cells {
		run.Cells[i].Flags = map[string]string{"processes": cell.Name}
	}
	page := write(t, views.Table, run, term.Options{})
	assert.Contains(t, page, "gorun matrix bind: 2 cells")
	assert.NotContains(t, page, "A1")
	assert.Equal(t, 1+12, strings.Count(write(t, views.CSV, run, term.Options{}), "\n"))
	assert.Contains(t, write(t, views.Benchfmt, run, term.Options{}), "BenchmarkBind/processes=bound/bound=true/process=1/cpu=1-2 1 ")
}
