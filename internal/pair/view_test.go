package pair

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// plainRun returns a run without samples.
func plainRun() *result.Run {
	return &result.Run{
		Schema: result.Schema, Tool: result.Tool{Name: "gorun", Version: "v0.1.0", Go: "go1.26.8"},
		Host:       result.Host{OS: "linux", Arch: "amd64", Kernel: "6.18.2", CPUs: 4, Online: 4, Allowed: "0-3", GOMAXPROCS: 4},
		Experiment: "pair",
	}
}

// table renders a run as a table.
func table(t *testing.T, run *result.Run) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, render.Views{Experiment}.Table(&out, run, term.Options{}))
	return out.String()
}

// processesSpec mirrors the experiment's spec.
type processesSpec struct {
	Work       string  `json:"work"`
	Auto       bool    `json:"auto"`
	Loops      uint64  `json:"loops"`
	ArrayBytes uint64  `json:"array_bytes"`
	CPUs       string  `json:"cpus"`
	Samples    int     `json:"samples"`
	Budget     float64 `json:"budget_seconds"`
}

// processesSample returns a good sample of two processes, on CPU 0 and on CPU b.
func processesSample(index, b int, relation string, loops uint64, wall float64, trips *Percentiles) result.Sample {
	s := result.Sample{Index: index, Seconds: wall, Quality: result.Quality{Verdict: result.Valid}}
	s.UserSeconds, s.SystemSeconds = 0.4*wall, 1.2*wall
	v := Figures{
		CPUA: 0, CPUB: b, Relation: relation, Work: "syscall", Loops: loops, CallsPerSecond: 2 * float64(loops) / wall,
		NsPerLoop: 1e9 * wall / float64(loops), RoundTrip: trips,
	}
	if trips != nil {
		v.Work, v.CallsPerSecond = "pingpong-shm", v.CallsPerSecond/2
	}
	for i, cpu := range []int{0, b} {
		own := wall * (1 - 0.1*float64(i))
		v.Processes = append(v.Processes, Process{
			CPU: cpu, CPUSeen: cpu, Loops: loops, RealSeconds: own, UserSeconds: 0.2 * own, SystemSeconds: 0.6 * own,
			CallsPerSecond: float64(loops) / own,
		})
	}
	s.Values = result.FiguresOf(&v)
	s.Placement = result.Placement{
		Requested: fmt.Sprintf("a process on each of CPUs 0, %d", b), Verified: true, Checked: 2,
	}
	return s
}

func processesOf(spec processesSpec) *result.Run {
	run := plainRun()
	run.Spec = spec
	return run
}

// pairRun returns a run of one pair.
func pairRun() *result.Run {
	run := processesOf(processesSpec{Work: "syscall", Loops: 30_000_000, CPUs: "0-1", Samples: 3})
	for i, wall := range []float64{4.95, 4.9, 5.1} {
		run.Samples = append(run.Samples, processesSample(i, 1, "same-llc", 30_000_000, wall, nil))
	}
	return run
}

// pairTripsRun returns a run of one pair that exchanges messages, with one sample.
func pairTripsRun() *result.Run {
	run := processesOf(processesSpec{Work: "pingpong-shm", Loops: 500_000, CPUs: "0-1", Samples: 1})
	run.Samples = []result.Sample{processesSample(0, 1, "same-core", 500_000, 0.062,
		&Percentiles{P50: 118, P90: 126, P99: 403, P999: 5210})}
	return run
}

// pairAutoRun returns a run with a pair for each of three relations; pairs that exchange messages differ in their
// loops.
func pairAutoRun(talk bool) *result.Run {
	spec := processesSpec{Work: "syscall", Auto: true, Loops: 1_000_000, CPUs: "0-3"}
	if talk {
		spec = processesSpec{Work: "pingpong-shm", Auto: true, CPUs: "0-3"}
	}
	run := processesOf(spec)
	run.Matrix = &result.Matrix{
		Title: "CPUs of two processes", Datum: "ns_per_loop", Alpha: 0.05, Margin: 0.02, Precision: 0.02, Budget: 60,
		Control: &stats.Verdict{Kind: stats.Same, Margin: 0.02, Rounds: 25},
	}
	for i, c := range []struct {
		b        int
		relation string
		wall     float64
	}{{0, "same-cpu", 0.2}, {1, "same-core", 0.16}, {2, "same-llc", 0.1}} {
		loops, trips := uint64(1_000_000), (*Percentiles)(nil)
		if talk {
			trips = &Percentiles{P50: 100 * c.wall, P90: 120 * c.wall, P99: 9000, P999: 81000}
			if i == 0 {
				loops = 500
			}
		}
		cell := result.Cell{
			Name: c.relation, Command: []string{"pair", "0", fmt.Sprint(c.b)}, Flags: map[string]string{
				"pair": fmt.Sprintf("0,%d", c.b), "relation": c.relation, "loops": fmt.Sprint(loops), "work": spec.Work,
			},
		}
		for round := range 2 {
			s := processesSample(len(run.Samples), c.b, c.relation, loops, c.wall*(1+0.01*float64(round)), trips)
			s.Slot = &result.Slot{Cell: i, Round: round}
			run.Samples = append(run.Samples, s)
		}
		if i > 0 {
			ratio := 1 - 0.2*float64(i)
			cell.Verdict = &stats.Verdict{Kind: stats.Faster, Step: 0.001, Typical: stats.Effect{Ratio: ratio, Lo: ratio, Hi: ratio}}
			cell.Words = cell.Verdict.String()
		}
		run.Cells = append(run.Cells, cell)
	}
	control := processesSample(len(run.Samples), 0, "same-cpu", 1_000_000, 77, nil)
	control.Slot = &result.Slot{Control: true}
	run.Samples = append(run.Samples, control)
	return run
}

// partialPairRun returns a run that was interrupted in its second pair.
func partialPairRun() *result.Run {
	run := pairAutoRun(true)
	run.Partial, run.Samples = true, run.Samples[:3]
	run.Samples[1].Quality = result.Quality{Verdict: result.Invalid, Reasons: []string{"the placement is another"}}
	run.Samples[2].Partial = true
	run.Matrix.Control = nil
	for i := range run.Cells {
		run.Cells[i].Verdict, run.Cells[i].Words = nil, ""
	}
	return run
}

// Values of another experiment do not break the table.
func TestPairOfOtherValues(t *testing.T) {
	run := pairRun()
	for i := range run.Samples {
		require.NoError(t, run.Samples[i].Values.UnmarshalJSON([]byte(`{"loops": "many"}`)))
	}
	assert.Contains(t, table(t, run), "gorun pair: syscall by two processes\n")
	run = pairAutoRun(false)
	run.Samples[0].Cell = 99
	assert.Contains(t, table(t, run), "on 3 pairs of CPUs")
}

func TestPairPlan(t *testing.T) {
	plan := &result.Plan{Experiment: "pair", CPUs: "0-1", PairRows: []result.PairRow{
		{CPUA: 0, CPUB: 0, Relation: "same-cpu", Loops: 500},
		{CPUA: -1, CPUB: -1, Relation: "same-core", Lacking: "no core has two of the CPUs"},
		{CPUA: 0, CPUB: 1, Relation: "same-llc", Loops: 500_000},
	}}
	var out strings.Builder
	require.NoError(t, render.Views{Experiment}.Plan(&out, plan, "table"))
	assert.Equal(t, planned, out.String())
}

const planned = `Plan of gorun pair (nothing was run)
  CPUs of the run    0-1

  relation   CPUs   loops
  same-cpu   0,0      500
  same-core  -          -  no core has two of the CPUs
  same-llc   0,1   500000
`

// Every kind of run has its figures; partial and invalid samples have none.
func TestPairTables(t *testing.T) {
	page := table(t, pairRun())
	assert.Contains(t, page, "gorun pair: syscall by two processes, on CPUs 0 and 1 (same-llc)\n  30000000 loops of each process")
	assert.Regexp(t, `  real +4.95 s  4.90 s … 5.10 s +4.95 s +4.46 s\n`, page)
	assert.Contains(t, table(t, pairTripsRun()), "p99.9")
	page = table(t, pairAutoRun(false))
	assert.Regexp(t, `  0,0   same-cpu +201 ms .* baseline\n`, page)
	assert.Regexp(t, `  0,2   same-llc .* faster: −40%\n`, page)
	assert.NotContains(t, page, "77.0 s", "the control has no row")
	assert.Regexp(t, `(?m)^  CPUs  relation +loops +real`, table(t, pairAutoRun(true)), "pairs that have their own each")
	assert.Regexp(t, `(?m)^  0,1   same-core +1000000 +- `, table(t, partialPairRun()))
}

// The judged CPU time is the sum of both processes over the loops of one.
func TestCPUPerLoop(t *testing.T) {
	s := pairRun().Samples[0]
	s.UserSeconds, s.SystemSeconds = 0.5, 0.25
	v, _ := result.Typed[Figures](&s)
	figure, known := cpuPerLoop.Number(&s)
	assert.True(t, known)
	assert.InDelta(t, 0.75e9/float64(v.Loops), figure, 1e-9)
	_, known = cpuPerLoop.Number(&result.Sample{UserSeconds: 1})
	assert.False(t, known, "a sample without loops")
}

// The cells of a matrix are not named by relation, and have the table of a matrix.
func TestPairMatrix(t *testing.T) {
	run := pairAutoRun(false)
	for i := range run.Cells {
		run.Cells[i].Flags = map[string]string{"work": []string{"syscall", "spin", "sum"}[i]}
	}
	run.Matrix.Title = ""
	page := table(t, run)
	assert.Contains(t, page, "gorun matrix pair: 3 cells, baseline ")
	assert.NotContains(t, page, "relation")
}

// Shares are as in top(1): CPU time over elapsed time. If PIDs are unknown, as in older journals, there is no row.
func TestSharesAndPIDs(t *testing.T) {
	assert.Equal(t, 75.0, share(1.5, 2))
	assert.Zero(t, share(1, 0))
	p := &pairSamples{samples: []sampledPair{
		{Figures: Figures{Processes: []Process{{PID: 1}, {PID: 2}}}}, {Figures: Figures{Processes: []Process{{PID: 7}, {PID: 9}}}},
	}}
	assert.Equal(t, []string{"pid, last sample", "", "", "7", "9"}, pidsRow(p))
	p.samples[1].Processes[1].PID = 0
	assert.Nil(t, pidsRow(p))
	p.samples[1].Processes = []Process{{RealSeconds: 2, UserSeconds: 1, SystemSeconds: 0.5, PID: 3}, {RealSeconds: 4, UserSeconds: 1, PID: 5}}
	p.samples = p.samples[1:]
	block := figuresBlock(p, term.Options{Width: 100})
	assert.Regexp(t, `(?m)^ *pid +3 +5$`, block)
	p.samples[0].seconds, p.samples[0].user, p.samples[0].system = 4, 2, 0.5
	assert.Regexp(t, `(?m)^ *% of a CPU +62.5 +75.0 +25.0$`, figuresBlock(p, term.Options{Width: 100}))
}
