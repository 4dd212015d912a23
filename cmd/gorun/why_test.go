package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/base/shell"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cgroup/cgrouptest"
	"gorun/internal/record/result"
)

// The cause of a difference that was made on purpose is found, and what may explain it. Other programs can make a run undecided, or another
// one of waiting: then it is repeated.
func TestLiveWhy(t *testing.T) {
	tests.Live(t)
	cpus := tests.CPUs(t, 2)
	two := buildTwo(t)
	const loop = "sh -c 'i=0; while [ $i -lt %d ]; do i=$((i+1)); done'"
	on := func(cpu int, command string) string { return fmt.Sprintf("taskset -c %d %s", cpu, command) }
	onBoth := func(command string) string { return fmt.Sprintf("taskset -c %d,%d %s", cpus[0], cpus[1], command) }
	for name, c := range map[string]struct {
		baseline, cell string
		hog            bool // on the second CPU
		cause          string
		by             string // what else explains it: a busy machine may, too
	}{
		"user":    {fmt.Sprintf(loop, 2000), fmt.Sprintf(loop, 200_000), false, result.WhyUser, ""},
		"kernel":  {"dd bs=4k count=1 if=/dev/zero of=/dev/null", "dd bs=512M count=1 if=/dev/zero of=/dev/null", false, result.WhyKernel, "minor_faults"},
		"blocked": {"sleep 0.001", "sleep 0.05", false, result.WhyBlocked, ""},
		"joined":  {onBoth(two + " join 30000000"), on(cpus[1], two+" join 30000000"), false, result.WhyOthersWaiting, ""},
		"helped":  {onBoth(two + " work 30000000"), on(cpus[1], two+" work 30000000"), false, result.WhyWaiting, ""},
		"waiting": {on(cpus[0], fmt.Sprintf(loop, 50_000)), on(cpus[1], fmt.Sprintf(loop, 50_000)), true, result.WhyWaiting, ""},
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
			awaitCause(t, c.baseline, c.cell, c.by, c.cause)
		})
	}
}

// A quota of a control group that a program enters by itself shows as waiting or as blocked, by the kernel's version.
func TestLiveWhyQuota(t *testing.T) {
	tests.Live(t)
	group := cgrouptest.Limited(t, "cpu", 20_000)
	for _, as := range []string{"work", "join"} {
		program := fmt.Sprintf("exec %s %s 25000000", buildTwo(t), as)
		awaitCause(t, "sh -c "+shell.Quote(program), "sh -c "+shell.Quote("echo $$ >"+group+"/cgroup.procs; "+program), "own_throttled_seconds",
			result.WhyWaiting, result.WhyBlocked, result.WhyOthersWaiting)
	}
}

// awaitCause compares two commands until one of these causes of their difference is found, and what explains it.
func awaitCause(t *testing.T, baseline, cell, by string, causes ...string) {
	path := filepath.Join(t.TempDir(), "run.json")
	tests.Await(t, "run whose cause is "+strings.Join(causes, " or "), func() bool {
		out, err := gorunCommand("ab", "--samples", "20", "--why", "--quiet", "--export-json", path, baseline, cell).CombinedOutput()
		require.NoError(t, err, "%s", out)
		var run result.Run
		require.NoError(t, json.Unmarshal(tests.Read(t, path), &run))
		why := run.Cells[1].Why
		return why != nil && slices.Contains(causes, why.Cause) && (by == "" || slices.Contains(why.ExplainedBy, by))
	})
}

// buildTwo builds a program of two threads that compute: with "join" its first thread only waits for both, and with "work" it is one of them.
func buildTwo(t *testing.T) (path string) {
	const source = `#include <pthread.h>
#include <stdlib.h>
static long turns;
static void *work(void *result) {
	unsigned long x = 1;
	for (long i = 0; i < turns; i++)
		x = x * 6364136223846793005 + 1442695040888963407;
	*(volatile unsigned long *)result = x;
	return NULL;
}
int main(int count, char **words) {
	unsigned long results[2];
	pthread_t threads[2];
	int begun = words[1][0] == 'j' ? 2 : 1;
	turns = atol(words[2]);
	for (int i = 0; i < begun; i++)
		pthread_create(&threads[i], NULL, work, &results[i]);
	if (begun == 1)
		work(&results[1]);
	for (int i = 0; i < begun; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
`
	path = filepath.Join(t.TempDir(), "two")
	compile := exec.Command("cc", "-O1", "-pthread", "-x", "c", "-o", path, "-")
	compile.Stdin = strings.NewReader(source)
	out, err := compile.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}
