package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// processesSpec is a spec as the experiment has it.
type processesSpec struct {
	Work       string  `json:"work"`
	Auto       bool    `json:"auto"`
	Loops      uint64  `json:"loops"`
	ArrayBytes uint64  `json:"array_bytes"`
	CPUs       string  `json:"cpus"`
	Samples    int     `json:"samples"`
	Budget     float64 `json:"budget_seconds"`
}

// processesSample is a good sample of two processes on CPU 0 and on CPU b.
func processesSample(index, b int, relation string, loops uint64, wall float64, trips *result.Percentiles) result.Sample {
	s := plainSample(index, wall)
	s.CPUs, s.Workers = nil, nil
	s.UserSeconds, s.SystemSeconds = 0.4*wall, 1.2*wall
	v := result.ProcessPair{
		CPUA: 0, CPUB: b, Relation: relation, Work: "syscall", Loops: loops, CallsPerSecond: 2 * float64(loops) / wall,
		NsPerLoop: 1e9 * wall / float64(loops), RoundTrip: trips,
	}
	if trips != nil {
		v.Work, v.CallsPerSecond = "pingpong-shm", v.CallsPerSecond/2
	}
	for i, cpu := range []int{0, b} {
		own := wall * (1 - 0.1*float64(i))
		v.Processes = append(v.Processes, result.PairProcess{
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
	run.Experiment, run.Findings, run.Warnings, run.Samples, run.Spec = "pair", nil, nil, nil, spec
	return run
}

// pairRun is one pair.
func pairRun() *result.Run {
	run := processesOf(processesSpec{Work: "syscall", Loops: 30_000_000, CPUs: "0-1", Samples: 3})
	for i, wall := range []float64{4.95, 4.9, 5.1} {
		run.Samples = append(run.Samples, processesSample(i, 1, "same-llc", 30_000_000, wall, nil))
	}
	return run
}

// pairTripsRun is one of two that talk, in one sample.
func pairTripsRun() *result.Run {
	run := processesOf(processesSpec{Work: "pingpong-shm", Loops: 500_000, CPUs: "0-1", Samples: 1})
	run.Samples = []result.Sample{processesSample(0, 1, "same-core", 500_000, 0.062,
		&result.Percentiles{P50: 118, P90: 126, P99: 403, P999: 5210})}
	return run
}

// pairAutoRun has a pair of each of three relations; two that talk have loops of their own each.
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
		loops, trips := uint64(1_000_000), (*result.Percentiles)(nil)
		if talk {
			trips = &result.Percentiles{P50: 100 * c.wall, P90: 120 * c.wall, P99: 9000, P999: 81000}
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
			cell.Verdict, cell.Words = &stats.Verdict{Kind: stats.Faster}, fmt.Sprintf("faster: −%d%%", 20*i)
		}
		run.Cells = append(run.Cells, cell)
	}
	control := processesSample(len(run.Samples), 0, "same-cpu", 1_000_000, 77, nil)
	control.Slot = &result.Slot{Control: true}
	run.Samples = append(run.Samples, control)
	return run
}

// partialPairRun was interrupted in its second pair.
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

// Nothing that is not a pair's breaks its table.
func TestPairOfOtherValues(t *testing.T) {
	run := pairRun()
	for i := range run.Samples {
		run.Samples[i].Values = read(map[string]any{"loops": "many"})
	}
	assert.Contains(t, write(t, Table, run, term.Options{}), "gorun pair: syscall by two processes\n")
	run = pairAutoRun(false)
	run.Samples[0].Cell = 99
	assert.Contains(t, write(t, Table, run, term.Options{}), "on 3 pairs of CPUs")
}

func TestPairPlan(t *testing.T) {
	plan := &result.Plan{Experiment: "pair", CPUs: "0-1", PairRows: []result.PairRow{
		{CPUA: 0, CPUB: 0, Relation: "same-cpu", Loops: 500},
		{CPUA: -1, CPUB: -1, Relation: "same-core", Lacking: "no core has two of the CPUs"},
		{CPUA: 0, CPUB: 1, Relation: "same-llc", Loops: 500_000},
	}}
	var out strings.Builder
	require.NoError(t, Plan(&out, plan, "table"))
	golden(t, "pair.plan", out.String())
}
