package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/record/result"
)

// The cause of a difference that was made on purpose is found, and what may explain it. Other programs can make a run undecided, or another
// one of waiting: then it is repeated.
func TestLiveWhy(t *testing.T) {
	tests.Live(t)
	cpus := tests.CPUs(t, 2)
	const loop = "sh -c 'i=0; while [ $i -lt %d ]; do i=$((i+1)); done'"
	on := func(cpu int, command string) string { return fmt.Sprintf("taskset -c %d %s", cpu, command) }
	for name, c := range map[string]struct {
		baseline, cell string
		hog            bool // on the second CPU
		cause          string
		by             []string // a busy machine may explain it too
	}{
		"user":    {fmt.Sprintf(loop, 2000), fmt.Sprintf(loop, 200_000), false, result.WhyUser, nil},
		"kernel":  {"dd bs=4k count=1 if=/dev/zero of=/dev/null", "dd bs=512M count=1 if=/dev/zero of=/dev/null", false, result.WhyKernel, []string{"minor_faults"}},
		"blocked": {"sleep 0.001", "sleep 0.05", false, result.WhyBlocked, nil},
		"waiting": {on(cpus[0], fmt.Sprintf(loop, 50_000)), on(cpus[1], fmt.Sprintf(loop, 50_000)), true, result.WhyWaiting, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if c.hog {
				hog := exec.CommandContext(t.Context(), "taskset", "-c", fmt.Sprint(cpus[1]), "sh", "-c", "while :; do :; done")
				require.NoError(t, hog.Start())
				defer func() {
					_ = hog.Process.Kill()
					_ = hog.Wait()
				}()
			}
			path := filepath.Join(t.TempDir(), "run.json")
			tests.Await(t, "run whose cause is "+c.cause, func() bool {
				out, err := gorunCommand("ab", "--samples", "20", "--quiet", "--export-json", path, c.baseline, c.cell).CombinedOutput()
				require.NoError(t, err, "%s", out)
				var run result.Run
				require.NoError(t, json.Unmarshal(tests.Read(t, path), &run))
				why := run.Cells[1].Why
				if why == nil || why.Cause != c.cause {
					return false
				}
				assert.Subset(t, why.ExplainedBy, c.by)
				return true
			})
		})
	}
}
