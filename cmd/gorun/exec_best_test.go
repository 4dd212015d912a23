package main

import (
	"encoding/json"
	"flag"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/linux"
	"gorun/internal/result"
	"gorun/internal/stats"
)

var execBest = flag.Bool("exec-best", false, "compare placements of commands whose best one is known by construction")

// The comparison of placements finds what is best by construction, and no difference where there is none: `make
// exec-test`. The machine may be busy with other things, so a command has three attempts to be told; what is said must
// not be wrong.
func TestExecFindsTheBest(t *testing.T) {
	if !*execBest {
		t.Skip("takes a minute or two: make exec-test")
	}
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	if allowed.Len() < 2 {
		t.Skip("one CPU has one placement")
	}
	program := filepath.Join(t.TempDir(), "program")
	out, err := exec.Command("cc", "-O2", "-pthread", "-o", program, "../../testdata/exec/program.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, c := range []struct {
		work, count string
		oneCPU      stats.Kind // what one CPU is, beside all
		margin      string
	}{
		{"share", "1000000", stats.Faster, "2%"},
		{"apart", "3000000", stats.Slower, "2%"},
		{"handover", "4000", stats.Faster, "2%"},
		{"spin", "20000000", stats.Same, "10%"},
		{"memory", "3000000", stats.Same, "10%"},
	} {
		t.Run(c.work, func(t *testing.T) {
			for range 3 {
				cmd := gorunCommand("exec", "--placements", "unbound,one-cpu", "--margin", c.margin, "--precision", c.margin,
					"--budget", "40s", "--format", "json", "--quiet", "--", program, c.work, c.count)
				out, err := cmd.Output()
				require.NoError(t, err)
				var run result.Run
				require.NoError(t, json.Unmarshal(out, &run))
				cell := run.Cells[1]
				t.Logf("%s on one CPU: %s", c.work, cell.Words)
				switch cell.Verdict.Kind {
				case c.oneCPU:
					return
				case stats.CantTell, stats.Confounded, stats.Mixed:
				default:
					require.Equal(t, c.oneCPU, cell.Verdict.Kind)
				}
			}
			t.Skip("the machine is too busy with other things to tell")
		})
	}
}
