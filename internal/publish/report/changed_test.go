package report

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
	"gorun/internal/show/rendertest"
	"gorun/internal/show/term"
	"gorun/internal/stats"
)

// values changes figures of some samples of a run, as if its journal had them; nil takes one out.
func values(run *result.Run, to map[string]any, samples ...int) {
	run.Samples = run.Samples.Map(func(i int, s *result.Sample) {
		if len(samples) == 0 || slices.Contains(samples, i) {
			rendertest.Change(s, to)
		}
	})
}

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
		{"primes", term.Options{}, func(run *result.Run) {
			run.Samples = run.Samples.Map(func(i int, s *result.Sample) {
				for cpu := range 40 {
					s.CPUs = append(s.CPUs, result.CPU{CPU: 2 + cpu, BusySeconds: float64(cpu) / 100})
				}
			})
		}, []string{"25 CPUs between the busiest and the least busy are left out", "idle: 2"}},
		{"primes-workers", term.Options{}, func(run *result.Run) {
			seconds := run.Samples.At(0).Seconds
			run.Samples = run.Samples.Map(func(_ int, s *result.Sample) {
				s.Seconds = seconds
				w := s.WorkersDetail
				w[0].TIDEnd, w[0].Mismatch = 7, "0-1"
				w[1].Verified = new(false)
			})
		}, []string{"#→7", "0, but is 0-1", "1, but is not"}},
		{"matrix", term.Options{Verbose: true}, func(run *result.Run) {
			run.Matrix.Warmup = 1
			run.Matrix.Control.Kind = stats.Same
			run.Matrix.ControlVerdicts = map[string]stats.Verdict{"cpu_seconds": {Kind: stats.CantTell}}
			run.Cells[1].Verdict, run.Cells[1].Verdicts = nil, nil
			run.Cells[2].Verdicts["cpu_seconds"] = *rendertest.Effect(stats.Same, 0, -1, 1, 16)
			run.Cells[3].Flags["lock-thread"] = "true"
		}, []string{
			"no verdict", "CPU time: no difference larger than 2%", "✓", "1 warm-up dropped before each",
			"comparisons, 3 cells and 1 control, each by wall time and by CPU time, share the 5% chance",
		}},
		{"matrix", term.Options{}, func(run *result.Run) {
			for i := range run.Cells {
				run.Cells[i].Flags["pin-cpus"] = strings.Repeat(run.Cells[i].Flags["pin-cpus"]+",", 30)
			}
			run.Cells[2].Verdict.Kind, run.Cells[3].Verdict.Kind = stats.Mixed, stats.Confounded
		}, []string{
			"cell time verdict --method brute --pin-cpus share:1/2 # s baseline", "Typical samples and the total say the opposite:",
			"Doubtful, because the samples were disturbed unequally:",
			"typical: #–# × as long; in total ", "confounded: slower: #–#",
		}},
		{"matrix-classic", term.Options{Verbose: true}, func(run *result.Run) {
			run.Matrix.Contrasts[0].Verdict = rendertest.Effect(stats.Slower, 641, 620, 660, 25)
		}, []string{"against GR ON: slower: 7.20–7.60 × as long, 25 rounds", "contrasts and 1 control"}},
		{"bind", term.Options{}, func(run *result.Run) {
			run.Matrix.Order = result.Order{}
			run.Cells[0].Flags, run.Cells[1].Flags = map[string]string{"processes": "3"}, map[string]string{"processes": "4"}
		}, []string{"processes time range verdict 3 # ms", "!A1"}},
		{"exec-placements", term.Options{}, func(run *result.Run) {
			run.Cells[4].Verdict = rendertest.Effect(stats.Faster, -10, -12, -8, 40)
			run.Cells[4].Lines = &result.Lines{
				Taskset: "taskset -c 0-3", Numactl: "numactl --physcpubind=0-3", Systemd: []string{"CPUAffinity=0-3", "Nice=5"},
				Kubernetes: "cpu: 4", Pod: []string{"resources:"}, Go: []string{"if x {", "}"},
				Lacks: map[string]string{"kubernetes": "the kubelet decides", "docker": "there is no nice value"},
			}
			run.Matrix.Ranking = run.Rank()
		}, []string{
			"Use one-llc, which is faster than unbound: −12% to −8.0%",
			"To have one-llc taskset taskset -c 0-3 numactl numactl --physcpubind=0-3 systemd CPUAffinity=0-3 Nice=5 kubernetes cpu: 4 " +
				"go the program itself, by the lines that --apply go prints What they cannot express: docker: there is no nice value kubernetes: the kubelet decides",
		}},
		{"contend-ops", term.Options{}, func(run *result.Run) {
			values(run, map[string]any{"mode": "count", "count": 1000, "together": 0.5, "windows_ns": nil, "failures": 7})
			values(run, map[string]any{"together": 0.75}, 3)
		}, []string{"ran at the same time for 50.0 % to 75.0 % of its duration", "!only that is used"}},
		{
			"contend-ops",
			term.Options{},
			func(run *result.Run) { values(run, map[string]any{"windows": 21, "windows_of": 36}) },
			[]string{"58% of the time all threads ran; only that is used."},
		},
		{"contend-ops", term.Options{Width: 120}, func(run *result.Run) {
			run.Samples.Append(run.Samples.At(1))
			run.Samples = run.Samples.Map(func(i int, s *result.Sample) {
				if i == 0 {
					s.Quality.Grade = result.Suspect
				}
			})
			values(run, map[string]any{"ns_per_op": 20}, 6)
			values(run, map[string]any{"cpus": -1}, 5)
			values(run, map[string]any{"pattern": strings.Repeat("*", 100), "cpu_list": "0-99:1/2,101,103,105,107,110-190,200-220,230-253"}, 4)
		}, []string{"17.385 ns valid", "suspect", "mfence takes # ns on 1 CPU."}},
		// One of the two samples has pages on one node, and no migration between nodes.
		{
			"numa-moves",
			term.Options{Verbose: true, Width: 200},
			func(*result.Run) {},
			[]string{"node 0 node 1 865.5 158.5", " 16 11.5 4 0 0.5 0.5 0.5 0 "},
		},
		{"memory-latency", term.Options{}, func(run *result.Run) { run.Caches = run.Caches[:1] }, []string{"2 MiB no cache"}},
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
