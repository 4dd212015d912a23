package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/record/result"
)

// odd is the file system of this machine, with other contents of some files.
type odd struct {
	fs.FS
	content map[string]string
}

// ReadFile implements fs.ReadFileFS.
func (o odd) ReadFile(name string) ([]byte, error) {
	if content, ok := o.content[name]; ok {
		return []byte(content), nil
	}
	return fs.ReadFile(o.FS, name)
}

// oddRun runs a command line on this machine with other contents of some files.
func oddRun(t *testing.T, content map[string]string, args ...string) (run result.Run) {
	t.Helper()
	var out, errs strings.Builder
	e := defaultEnv()
	e.Root, e.Stdout, e.Stderr = odd{e.Root, content}, &out, &errs
	e.Self.Argv = []string{"gorun"} // see TestMain
	require.Zero(t, execute(t.Context(), args, e), errs.String())
	require.NoError(t, json.Unmarshal([]byte(out.String()), &run))
	return run
}

// A run goes on if kernel files are malformed, and its result names them: files of the machine and of its limits.
func TestRunOnAnOddMachine(t *testing.T) {
	content := map[string]string{"sys/devices/system/cpu/isolated": "some\n", "proc/loadavg": "low\n"}
	for _, command := range []string{
		"primes --limit 2000 --workers 2 --lock-thread --samples 1 --warmup 0",
		"matrix primes --limit 2000 --workers 1,2 --lock-thread --samples 2 --warmup 0",
	} {
		run := oddRun(t, content, append(strings.Fields(command), "--format", "json")...)
		messages := map[string]string{}
		for _, w := range run.Warnings {
			messages[w.Code] += w.Message + "\n"
		}
		require.Contains(t, messages["odd-machine"], "sys/devices/system/cpu/isolated: malformed", command)
		require.Contains(t, messages["unknown-limit"], "proc/loadavg: malformed", command)
		require.Equal(t, 1, strings.Count(messages["unknown-limit"], "\n"), "once, however many cells there are")
	}
}

// A run that continues keeps the CPU that it chose for one-cpu, whatever the counts of interrupts are now, and so does its
// advice.
func TestResumeKeepsTheChosenCPU(t *testing.T) {
	cpus := tests.CPUs(t, 2)
	journal := filepath.Join(t.TempDir(), "run.jsonl")
	run := func(counts ...int) result.Run {
		return oddRun(t, map[string]string{
			"proc/interrupts": fmt.Sprintf("CPU%d CPU%d\n 25: %d %d PCI-MSI eth0\n", cpus[0], cpus[1], counts[0], counts[1]),
			"proc/uptime":     "1000.00 0.00\n",
		}, "exec", "--cpus", fmt.Sprintf("%d,%d", cpus[0], cpus[1]), "--placements", "unbound,one-cpu", "-r", "2", "-w", "0",
			"--out", journal, "--resume", "--format", "json", "--", "true")
	}
	first := run(1e9, 10)
	chosen := fmt.Sprintf("one-cpu is CPU %d: fewest interrupts since boot", cpus[1])
	require.Equal(t, chosen, first.Cells[1].Chosen)

	recorded := tests.Read(t, journal)
	begin := strings.SplitAfter(string(recorded), "\n")[:3] // the header, and two of six samples
	require.NoError(t, os.WriteFile(journal, []byte(strings.Join(begin, "")), 0o600))
	again := run(10, 1e9)
	require.Equal(t, chosen, again.Cells[1].Chosen)
	require.Equal(t, fmt.Sprintf("taskset -c %d", cpus[1]), again.Cells[1].Lines.Taskset)
	require.Equal(t, 6, again.Samples.Len())
	for _, s := range again.Samples.All() {
		if s.Slot.Cell == 1 {
			require.Equal(t, fmt.Sprintf("cpus %d", cpus[1]), s.Placement.Requested)
		}
	}
}
