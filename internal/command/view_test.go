package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render"
	"gorun/internal/render/rendertest"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// views show runs of exec.
var views = render.Views{Experiment}

type shownSpec struct {
	Command []string `json:"command"`
	CPUs    string   `json:"cpus"`
	Nice    *int     `json:"nice,omitempty"`
}

// watchedRun returns a run of a watched command that left a process behind.
func watchedRun() *result.Run {
	run := rendertest.Run("exec", 2, 1)
	run.Spec = shownSpec{Command: []string{"make", "-j", "two words"}, CPUs: "0", Nice: new(5)}
	values := result.FiguresOf(&result.Exec{
		ExitCode: 143, Signal: 15, MaxRSSBytes: 123 << 20, MaxRSSFloorBytes: 15 << 20, Killed: 2, Metric: new(1234.5),
		Migrations: &result.Migrations{By: "switches", Total: 7, SameLLC: 4, CrossNode: 3},
	})
	run.Samples = []result.Sample{{
		Seconds: 2, UserSeconds: 2.5, SystemSeconds: 0.5, Values: values,
		Placement: result.Placement{Requested: "cpus 0, nice 5", Verified: true, Checked: 2},
		Quality: result.Quality{Verdict: result.Valid, Reasons: []string{}, Signals: result.Signals{
			VoluntarySwitches: new(uint64(40)), InvoluntarySwitches: new(uint64(2)), MinorFaults: new(uint64(9999)),
			MajorFaults: new(uint64(0)),
		}},
	}}
	run.Summary = result.Summarise(run.Samples)
	return run
}

// cellsRun returns a run that compares a command's placements, by time or by a rate that it prints.
func cellsRun(metric bool) *result.Run {
	placed := func(name, cpus string, median float64, verdict *stats.Verdict, lines *result.Lines) result.Cell {
		cell := result.Cell{
			Flags: map[string]string{"placement": name}, Verdict: verdict, Summary: rendertest.Timed(median), Lines: lines,
			CPUs: map[string]result.CPUs{"cpus": {List: cpus, Count: 1}},
		}
		if metric {
			cell.Summary.Metric = &result.Distribution{Min: 90 / median, Median: 100 / median, Max: 110 / median}
		}
		if verdict != nil {
			verdict.Rate = metric
		}
		return cell
	}
	run := rendertest.Run("exec", 8, 1)
	run.Spec, run.Matrix = map[string]any{}, &result.Matrix{Alpha: 0.05, Margin: 0.02, Rounds: 4}
	run.Cells = []result.Cell{
		placed("unbound", "0-7", 1, nil, &result.Lines{}),
		placed("one-cpu", "0", 3.1, rendertest.Effect(stats.Slower, 210, 205, 215, 40), &result.Lines{Taskset: "taskset -c 0"}),
		placed("one-llc", "0-3", 0.9, rendertest.Effect(stats.Faster, -10, -12, -8, 40), &result.Lines{
			Taskset: "taskset -c 0-3", Numactl: "numactl --physcpubind=0-3",
			Systemd:    []string{"CPUAffinity=0-3", "Nice=5"},
			Kubernetes: "cpu: 4 in requests and limits alike",
		}),
		placed("interleaved", "0-7", 0.99, rendertest.Effect(stats.Same, -0.5, -1.5, 1.4, 40), &result.Lines{Numactl: "numactl --interleave=0-1"}),
	}
	run.Matrix.Ranking = run.Rank()
	if metric {
		run.Matrix.Datum, run.Matrix.Better = result.DatumMetric, result.Higher
	}
	for i := range run.Cells {
		cell := &run.Cells[i]
		cell.Name = "--placement " + cell.Flags["placement"]
		cell.Command = []string{"exec", "--placement=" + cell.Flags["placement"], "--", "./server", "--port", "80 80"}
		if v := cell.Verdict; v != nil {
			cell.Words = v.String()
		}
	}
	return run
}

func TestRankingSaysWhatToUse(t *testing.T) {
	out := rendertest.Show(t, views.Table, cellsRun(false), term.Options{Width: 120})
	assert.Contains(t, out, "Use one-llc, which is faster than unbound: −12% to −8.0%\n")
	assert.Contains(t, out, "taskset     taskset -c 0-3\n")
	assert.Contains(t, out, "./server --port '80 80'")

	run := cellsRun(false)
	run.Cells[2].Verdict.Kind = stats.CantTell
	run.Matrix.Ranking = run.Rank()
	out = rendertest.Show(t, views.Table, run, term.Options{})
	assert.Contains(t, out, "Nothing is shown to be better than unbound: leave the command as it is\n")
	assert.NotContains(t, out, "taskset")

	run.Matrix.Ranking = []int{99, -1}
	assert.NotContains(t, rendertest.Show(t, views.Table, run, term.Options{}), "ranking", "a foreign file")
}

func TestPlanBlock(t *testing.T) {
	plan := &result.Plan{
		Experiment: "exec", CPUs: "0", Placement: "cpus 0", Spec: shownSpec{Command: []string{"sleep", "1"}, CPUs: "0"},
		Lines: &result.Lines{Taskset: "taskset -c 0", Systemd: []string{"CPUAffinity=0"}},
	}
	var out strings.Builder
	require.NoError(t, views.Plan(&out, plan, "table"))
	assert.Contains(t, out.String(), "  taskset     taskset -c 0\n")
	assert.Contains(t, out.String(), "  systemd     CPUAffinity=0\n")
	plan.Lines = &result.Lines{}
	out.Reset()
	require.NoError(t, views.Plan(&out, plan, "table"))
	assert.NotContains(t, out.String(), "taskset", "nothing is to be set")
}

func TestFiguresBlock(t *testing.T) {
	run := watchedRun()
	out := rendertest.Show(t, views.Table, run, term.Options{})
	assert.Contains(t, out, "gorun exec: make -j two words\n")
	assert.Regexp(t, `\n  user \+ sys +3\.00 s +150% of a CPU\n`, out)
	assert.Regexp(t, `\n  metric +1234\.5\n`, out)
	assert.Regexp(t, `\n  memory, largest process +123 MiB\n`, out)
	assert.Regexp(t, `\n  migrations +7 +0 same-core, 4 same-llc, 0 same-node, 3\n +cross-node\n`, out)
	assert.Regexp(t, `\n  exit code +143 +ended by signal 15\n`, out)
	assert.Regexp(t, `\n  left behind +2 +processes, which were killed\n`, out)

	rendertest.Change(&run.Samples[0], map[string]any{"max_rss_bytes": 15 << 20, "timed_out": true})
	out = rendertest.Show(t, views.Table, run, term.Options{})
	assert.Contains(t, out, "15 MiB  or less: it began as a copy of gorun")
	assert.Contains(t, out, "it took longer than the timeout")
}
