package main

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/tests"
)

// The comparison of placements finds the placement that is best by construction, and no difference if there is none: `make
// exec-test`. The machine may be busy with other things, so a command may be undecided once; a verdict must never be wrong.
func TestExecFindsTheBest(t *testing.T) {
	tests.Target(t, "exec-test")
	tests.CPUs(t, 2) // one CPU has one placement
	program := compiled(t, "../../testdata/exec/program.c")
	for _, c := range []struct {
		work, count string
		oneCPU      stats.Kind // the right verdict on one CPU, compared with all
	}{
		{"share", "1000000", stats.Faster},
		{"apart", "3000000", stats.Slower},
		{"handover", "4000", stats.Faster},
		{"spin", "20000000", stats.Same},
		{"memory", "3000000", stats.Same},
	} {
		t.Run(c.work, func(t *testing.T) {
			for attempt := range 2 {
				run := runOf(t, "exec", "--placements", "unbound,one-cpu", "--margin", "10%", "--precision", "20%",
					"--budget", "20s", "--seed", strconv.Itoa(attempt), "--", program, c.work, c.count)
				cell := run.Cells[1]
				t.Logf("%s on one CPU: %s", c.work, cell.Words)
				switch kind := cell.Verdict.Kind; {
				case kind == c.oneCPU:
					return
				case kind == stats.CantTell, kind == stats.Confounded, kind == stats.Mixed:
				case kind == stats.Same && busy(run): // where no CPU is idle, the threads share one in both placements
				case c.oneCPU == stats.Same: // a CPU may have more interrupts than another one
					require.InDelta(t, 1, cell.Verdict.Typical.Ratio, 0.1)
					return
				default:
					require.Equal(t, c.oneCPU, kind)
				}
			}
			t.Skip("needs a machine that other programs leave enough time for a verdict")
		})
	}
}

// busy reports whether other programs took at least a tenth of the CPU time during half of the samples.
func busy(run *result.Run) bool {
	n := 0
	for i := range run.Samples {
		s := &run.Samples[i].Quality.Signals
		if s.Share(s.OtherSeconds, run.Host.CPUs) >= 0.1 {
			n++
		}
	}
	return 2*n >= len(run.Samples)
}
