package report

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/render/rendertest"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// values changes figures of some samples of a run, as if its journal had them; nil takes one out.
func values(run *result.Run, to map[string]any, samples ...int) {
	for i := range run.Samples {
		if len(samples) == 0 || slices.Contains(samples, i) {
			rendertest.Change(&run.Samples[i], to)
		}
	}
}

func invalidate(s *result.Sample, reason string) {
	s.Quality = result.Quality{Verdict: result.Invalid, Reasons: []string{reason}}
}

// narrow is too narrow for any table.
var narrow = term.Options{Width: 30}

var hash = strings.NewReplacer("#", "[0-9.]+")

// What no recorded run has is shown as well: each case changes a recorded run, and has words of its table, in which # is a number
// of the recording. Words after "!" must not be there.
func TestViewsOfChangedRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		run    string
		opts   term.Options
		change func(run *result.Run)
		want   []string
	}{
		// Any run.
		{"primes", term.Options{}, func(run *result.Run) {
			run.Host.CPUQuota = new(1.5)
			for cpu := range 40 {
				run.Samples[0].CPUs = append(run.Samples[0].CPUs, result.CPU{CPU: 2 + cpu, BusySeconds: float64(cpu) / 100})
			}
		}, []string{"quota 1.50 CPUs", "… and 25 more in between", "idle: 2"}},
		{"primes-workers", term.Options{}, func(run *result.Run) {
			values(run, map[string]any{"passes": 41})
			run.Warmups, run.Samples[1].Seconds = run.Samples[:1], run.Samples[0].Seconds
			for i := range run.Samples {
				w := run.Samples[i].WorkersDetail
				w[0].TIDEnd, w[0].Mismatch = 7, "0-1"
				w[1].Verified = new(false)
			}
		}, []string{"#→7", "passes 41", "1 warm-up dropped", "ms, the median of 2 samples, 1 suspect", "0, but is 0-1", "1, but is not"}},
		{"matrix", term.Options{Verbose: true}, func(run *result.Run) {
			run.Matrix.Warmup = 1
			run.Matrix.Control.Kind = stats.Same
			run.Matrix.ControlVerdicts = map[string]stats.Verdict{"cpu_seconds": {Kind: stats.CantTell}}
			run.Cells[1].Verdict, run.Cells[1].Verdicts = nil, nil
			run.Cells[2].Verdicts["cpu_seconds"] = *rendertest.Effect(stats.Same, 0, -1, 1, 16)
			run.Cells[3].Flags["lock-thread"] = "true"
		}, []string{
			"no verdict", "CPU time: no difference larger than 2%", "✓",
			"comparisons, 3 cells and the control, each by wall time and by CPU time, share the 5% chance",
		}},
		{"matrix", term.Options{}, func(run *result.Run) {
			for i := range run.Cells {
				run.Cells[i].Flags["pin-cpus"] = strings.Repeat(run.Cells[i].Flags["pin-cpus"]+",", 30)
			}
			run.Cells[2].Verdict.Kind, run.Cells[3].Verdict.Kind = stats.Mixed, stats.Confounded
		}, []string{
			"cell time verdict --method brute --pin-cpus share:1/2 # s baseline", "Typical samples and the total differ:",
			"Doubtful, because the samples were disturbed unequally:",
			"typical: #–# × as long; total:", "confounded: slower: #–#",
		}},
		{"matrix", term.Options{}, func(run *result.Run) {
			for i := range run.Samples {
				run.Samples[i].Seconds = 1
			}
		}, []string{"# rounds · # samples"}},
		{"matrix-classic", term.Options{Verbose: true}, func(run *result.Run) {
			run.Matrix.Contrasts[0].Verdict = rendertest.Effect(stats.Slower, 641, 620, 660, 25)
		}, []string{"against GR ON: slower: 7.20–7.60 × as long, 25 rounds", "contrasts and the control"}},
		// An experiment's own figures.
		{
			"pair",
			term.Options{},
			func(run *result.Run) { values(run, map[string]any{"loops": "many"}) },
			[]string{"gorun pair: syscall by two processes 50000"},
		},
		{"pair", term.Options{}, func(run *result.Run) {
			run.Samples = run.Samples[:1]
			values(run, map[string]any{"processes": []any{
				map[string]any{"cpu": 0, "pid": 3, "real_seconds": 2, "user_seconds": 1, "system_seconds": 0.5},
				map[string]any{"cpu": 1, "pid": 5, "real_seconds": 4, "user_seconds": 1},
			}})
		}, []string{"pid 3 5", "% of a CPU # 75.0 25.0", "!range"}},
		{"pair-talk", term.Options{Width: 120}, func(run *result.Run) {
			run.Cells[1].Flags["loops"] = "70"
			run.Partial, run.Samples = true, run.Samples[:2]
			invalidate(&run.Samples[0], "the placement is another")
		}, []string{"CPUs relation loops real", "0,1 same-core 70 -", "the placement is another"}},
		{"pair-auto", term.Options{}, func(run *result.Run) {
			for i, work := range []string{"syscall", "spin", "sum"} {
				run.Cells[i].Flags = map[string]string{"work": work}
			}
			run.Matrix.Title = ""
		}, []string{"gorun pair: 3 cells, baseline same-cpu", "!relation"}},
		{"bind", narrow, func(*result.Run) {}, []string{"A B P1 2 7 1 0 1 1 P2"}},
		{"bind", term.Options{}, func(run *result.Run) {
			i := slices.IndexFunc(run.Samples, func(s result.Sample) bool { return s.Cell == 1 && s.Round == 1 })
			invalidate(&run.Samples[i], "process 1 was not on CPU 1")
			run.Samples[i].Placement.Verified, run.Samples[i].Placement.Mismatches = false, []string{"process 1 was elsewhere"}
		}, []string{
			"A1 A2 A3 B1 B3", "invalid: process 1 was not on CPU 1",
			"2 settings: not what was asked in 1 of 6 samples: process 1 was elsewhere",
		}},
		{"bind", term.Options{}, func(run *result.Run) {
			run.Matrix.Order = result.Order{}
			run.Cells[0].Flags, run.Cells[1].Flags = map[string]string{"processes": "3"}, map[string]string{"processes": "4"}
		}, []string{"processes time range verdict 3 # ms", "gorun bind · 2 cells", "!A1"}},
		{"exec", term.Options{Width: 100}, func(run *result.Run) {
			values(run, map[string]any{"exit_code": 143, "signal": 15, "killed": 2, "metric": 1234.5, "max_rss_bytes": 123 << 20})
		}, []string{
			"metric 1234.5", "memory, largest process 123 MiB page", "exit code 143 ended by signal 15",
			"left behind 2 processes, which were killed",
		}},
		{
			"exec",
			term.Options{},
			func(run *result.Run) { values(run, map[string]any{"timed_out": true}) },
			[]string{"exit code 0 it took longer than the timeout"},
		},
		{"exec-placements", term.Options{}, func(run *result.Run) {
			run.Cells[4].Verdict = rendertest.Effect(stats.Faster, -10, -12, -8, 40)
			run.Cells[4].Lines = &result.Lines{
				Taskset: "taskset -c 0-3", Numactl: "numactl --physcpubind=0-3", Systemd: []string{"CPUAffinity=0-3", "Nice=5"},
				Kubernetes: "cpu: 4",
			}
			run.Matrix.Ranking = run.Rank()
		}, []string{
			"Use one-llc, which is faster than unbound: −12% to −8.0%",
			"To have one-llc without gorun: taskset taskset -c 0-3 numactl numactl --physcpubind=0-3 systemd CPUAffinity=0-3 Nice=5 Kubernetes cpu: 4",
		}},
		{
			"exec-placements",
			term.Options{},
			func(run *result.Run) { run.Matrix.Ranking = nil },
			[]string{"!Nothing is shown to be better"},
		},
		{"exec", term.Options{}, func(run *result.Run) {
			values(run, map[string]any{"migrations": map[string]any{"by": "switches", "total": 3, "cross_node": 3, "lost": 2}})
		}, []string{"3 cross-node; too low, records lost: 2"}},
		{"contend-ops", term.Options{Width: 120}, func(run *result.Run) {
			values(run, map[string]any{"mode": "count", "count": 1000, "together": 0.5, "windows_ns": nil, "failures": 7})
			values(run, map[string]any{"together": 0.75}, 3)
		}, []string{
			"stdev fails fair", "0.00 1.00 # 50.0 %", "1000 operations a thread",
			"ran at the same time for 50.0 % to 75.0 % of its duration", "!windows are",
		}},
		{"contend-ops", term.Options{Width: 300}, func(run *result.Run) {
			run.Samples = append(run.Samples, run.Samples[1])
			run.Samples = append(run.Samples, run.Samples[1])
			run.Samples[0].Quality.Verdict = result.Suspect
			values(run, map[string]any{"ns_per_op": 20}, 6)
			values(run, map[string]any{"operations": 0, "ns_per_op": 0}, 7)
			values(run, map[string]any{"cpus": -1}, 5)
		}, []string{
			"median of its row's 1 to 3 samples", "stdev ± fair", "load on 2 CPUs takes #% longer", "# # # #% 1.00",
			"100.0 % # … # ?", "mfence takes # ns on 1 CPU.",
		}},
		{"contend", term.Options{}, func(run *result.Run) {
			values(run, map[string]any{"pattern": strings.Repeat("*", 100), "cpu_list": "0-99:1/2,101,103,105,107,110-190,200-220,230-253"})
		}, []string{"CPUs list", "0-99:1/2,"}},
		{"contend", term.Options{}, func(run *result.Run) { values(run, map[string]any{"mem_node": 1}, 1) }, []string{
			"memory min max", "xadd node 1 #", "!takes",
		}},
		{"c2c", term.Options{}, func(run *result.Run) {
			values(run, map[string]any{"relation": "odd"})
			values(run, map[string]any{"cpu_a": 1, "cpu_b": 0}, 0)
		}, []string{"odd 1 #", "between 1 pair of 2 CPUs"}},
		{"c2c", term.Options{}, func(run *result.Run) { values(run, map[string]any{"cpu_a": 1}) }, []string{
			"between 0 pairs of 0 CPUs", "!One way",
		}},
		{"numa-blocks", term.Options{Width: 40}, func(run *result.Run) {
			run.Cells, run.Matrix = nil, nil
			for i := range run.Samples {
				run.Samples[i].Slot = nil
			}
			values(run, map[string]any{"settled_seconds": 0.1, "load": map[string]any{"requested": 30}})
		}, []string{"[01] # # # #", "100 ms before do not count"}},
		{"numa-8", narrow, func(*result.Run) {}, []string{"row ns/access verdict [27]"}},
		{"numa-buffers", term.Options{Width: 100}, func(run *result.Run) {
			run.Caches, run.NumaRows = run.Caches[:1], run.NumaRows[:5]
			for i := range run.NumaRows {
				run.NumaRows[i].Pages = []string{"thp", "2m"}[i%2]
			}
			values(run, map[string]any{"migrations": map[string]any{"by": "switches", "lost": 2}})
		}, []string{
			"# records lost in # samples, whose figures are too low", "2 MiB no cache",
		}},
	} {
		run := copyOf(t, c.run)
		c.change(run)
		assertFits(t, run, 80)
		show(t, run, shown{format: "csv"})
		pageOf(t, Input{File: "run.jsonl", Run: run})
		page := unbroken(show(t, run, shown{format: "table", opts: c.opts}))
		for _, want := range c.want {
			if without, not := strings.CutPrefix(want, "!"); not {
				assert.NotContains(t, page, without, c.run)
			} else {
				assert.Regexp(t, hash.Replace(regexp.QuoteMeta(want)), page, c.run)
			}
		}
	}
}
