package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

var (
	selftestEqual  = flag.Int("selftest-equal", 40, "matrices of equal cells that the test takes")
	selftestSlower = flag.Int("selftest-slower", 10, "runs with 2% more work that the test takes")
)

// The verdicts are right on this machine, now: `make selftest`. At most one in eight matrices of equal cells has a false verdict:
// 5% are allowed by design, and 5 or more of 40 occur in 5% of such tests. No run with 2% more real work is called faster.
func TestSelftest(t *testing.T) {
	tests.Target(t, "selftest")
	list := allowed(t).String()
	limit := limitOf(t, 0.025, func(limit, samples int) []string {
		return []string{"primes", "--method", "modulo", "--limit", strconv.Itoa(limit), "--samples", strconv.Itoa(samples)}
	})
	t.Logf("limit %d", limit)
	work := []string{"matrix", "primes", "--method", "modulo"} // all of its time is in the trials

	wrong := 0
	for i := range *selftestEqual {
		// Four ways to write the same CPUs: four cells, each of the same processes.
		run := runOf(t, append(work, "--limit", strconv.Itoa(limit), "--seed", strconv.Itoa(i), "--budget", "20s",
			"--cpus", fmt.Sprintf("all %s all,%s %s,all", list, list, list))...)
		require.Len(t, run.Cells, 4)
		if claims := claimed(run); len(claims) > 0 {
			wrong++
			t.Logf("false: %v", claims)
		}
		t.Logf("matrix %d: %v, %d samples", i, words(run), run.Samples.Len())
	}
	assert.LessOrEqual(t, wrong, (*selftestEqual+7)/8, "of %d matrices of equal cells", *selftestEqual)

	found, byCPU := 0, 0
	more := limit * 1010 / 1000 // the trials grow with its square
	for i := range *selftestSlower {
		run := runOf(t, append(work, "--limit", fmt.Sprintf("%d,%d", limit, more), "--seed", strconv.Itoa(i),
			"--budget", "30s", "--margin", "1.5%")...)
		cell := run.Cells[1]
		cpu := cell.Verdicts[column.CPU.Name]
		t.Logf("2%% more work: %s; CPU time: %s; %d rounds", cell.Words, cpu, cell.Verdict.Rounds)
		for _, v := range []stats.Verdict{*cell.Verdict, cpu} {
			assert.NotEqual(t, stats.Faster, v.Kind, "%s", v)
			assert.NotEqual(t, stats.Same, v.Kind, "%s", v)
		}
		if cell.Verdict.Kind == stats.Slower {
			found++
		}
		if cpu.Kind == stats.Slower {
			byCPU++
		}
	}
	t.Logf("%d of %d matrices of equal cells claim a difference; 2%% more work was found in %d of %d runs by wall time, "+
		"in %d by CPU time", wrong, *selftestEqual, found, *selftestSlower, byCPU)
}

// runOf runs gorun, and returns the run.
func runOf(t testing.TB, args ...string) *result.Run {
	t.Helper()
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	out, err := gorunCommand(slices.Insert(args, at, "--quiet", "--format", "json")...).Output()
	if exit := (*exec.ExitError)(nil); err != nil {
		require.ErrorAs(t, err, &exit)
		require.NoError(t, err, "%s", exit.Stderr)
	}
	run := &result.Run{}
	require.NoError(t, json.Unmarshal(out, run))
	return run
}

// gorunCommand is this test binary as gorun.
func gorunCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = "gorun"
	return cmd
}

// claimed returns the verdicts of a difference, by wall time and by CPU time.
func claimed(run *result.Run) (claims []string) {
	for _, cell := range run.Cells {
		if cell.Verdict == nil {
			continue
		}
		for _, v := range append(slices.Collect(maps.Values(cell.Verdicts)), *cell.Verdict) {
			switch v.Kind {
			case stats.Slower, stats.Faster, stats.Mixed:
				claims = append(claims, v.String())
			}
		}
	}
	return claims
}

func words(run *result.Run) (all []string) {
	for _, cell := range run.Cells {
		if cell.Words != "" {
			all = append(all, cell.Words)
		}
	}
	return all
}
