package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/linux"
	"gorun/internal/stats"
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
				before, begun := busy(t), time.Now()
				cell := runOf(t, "exec", "--placements", "unbound,one-cpu", "--margin", "10%", "--precision", "20%",
					"--budget", "20s", "--seed", strconv.Itoa(attempt), "--", program, c.work, c.count).Cells[1]
				others := (busy(t) - before) / time.Since(begun).Seconds()
				t.Logf("%s on one CPU: %s; other programs used %.2f CPUs", c.work, cell.Words, others)
				switch kind := cell.Verdict.Kind; {
				case kind == c.oneCPU:
					return
				case kind == stats.CantTell, kind == stats.Confounded, kind == stats.Mixed:
				case kind == stats.Same && others > 0.2: // where no CPU is idle, the threads share one in both placements
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

// busy returns the CPU seconds of all programs since boot (proc_stat(5)), without those of the processes that this one has waited for.
func busy(t *testing.T) (seconds float64) {
	text := tests.Read(t, "/proc/stat")
	for _, field := range []int{1, 2, 3} { // user, nice, system
		ticks, err := strconv.ParseFloat(strings.Fields(string(text))[field], 64)
		require.NoError(t, err)
		seconds += ticks / 100
	}
	ours, err := linux.ChildrenUsage()
	require.NoError(t, err)
	return seconds - ours.UserSeconds - ours.SystemSeconds
}
