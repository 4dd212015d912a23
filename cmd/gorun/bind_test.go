package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/bind"
	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// marked is a variable by which the processes of one test are found.
func marked(t *testing.T) string {
	return fmt.Sprintf("GORUN_TEST_MARK=%s-%d-%d", t.Name(), os.Getpid(), time.Now().UnixNano())
}

// processesOf returns the PIDs and the command lines of the processes that have the variable.
func processesOf(t *testing.T, mark string) map[int]string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	found := map[int]string{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err != nil || !bytes.Contains(environ, []byte(mark+"\x00")) {
			continue // it has ended, or is not ours
		}
		line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		found[pid] = string(line)
	}
	return found
}

// boundOnes returns the processes that gorun bind has started and bound. Their array, which they prepare last, is in memory.
func boundOnes(t *testing.T, mark string, arrayBytes int) (pids []int) {
	t.Helper()
	for pid, line := range processesOf(t, mark) {
		if !strings.HasSuffix(line, "\x00"+bind.ProcessCommand+"\x00") {
			continue
		}
		statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if fields := strings.Fields(string(statm)); err == nil && len(fields) > 1 {
			pages, err := strconv.Atoi(fields[1])
			require.NoError(t, err)
			if pages*os.Getpagesize() >= arrayBytes {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// wait waits until a condition is true, for as long as the test may last.
func wait(until func() bool) {
	for !until() {
		time.Sleep(5 * time.Millisecond)
	}
}

// endless is a gorun bind whose processes check their CPU until they are ended.
func endless(t *testing.T, mark string, processes int, flags ...string) (
	cmd *exec.Cmd, stdout *bytes.Buffer, bound func() []int,
) {
	t.Helper()
	if !linux.Cgo {
		t.Skip("there are no kernels")
	}
	const array = 128 << 20 // more memory than a process has otherwise
	cmd = gorunCommand(append([]string{
		"bind", "--processes", strconv.Itoa(processes), "--checks", "1000000000000", "--array", "128MiB", "--passes", "1",
	}, flags...)...)
	cmd.Env = append(os.Environ(), mark)
	stdout = &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, stdout, func() []int {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		require.NoError(t, err)
		require.NotContains(t, string(stat), ") Z ", "gorun has ended")
		return boundOnes(t, mark, array)
	}
}

// None of its processes is left when gorun bind is killed.
func TestBindKilled(t *testing.T) {
	const processes = 3
	mark := marked(t)
	cmd, _, bound := endless(t, mark, processes)
	wait(func() bool { return len(bound()) == processes })
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, cmd.Wait())
	left := processesOf(t, mark)
	for end := time.Now().Add(time.Minute); len(left) > 0 && time.Now().Before(end); left = processesOf(t, mark) {
		time.Sleep(5 * time.Millisecond)
	}
	assert.Empty(t, left)
	for pid := range left {
		assert.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// A process that is taken off its CPU behind gorun's back makes its trial invalid, and so the verdict.
func TestBindUnboundOnPurpose(t *testing.T) {
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	if cpus.Len() < 2 {
		t.Skip("there is no other CPU to go to")
	}
	mark, here, there := marked(t), cpus.First(), cpus.Last()
	// The seed gives a first trial that is bound.
	cmd, stdout, bound := endless(t, mark, 2, "--cpus", strconv.Itoa(here), "--seed", "7", "--format", "json")
	wait(func() bool { return len(bound()) == 2 })
	victim := bound()[0]
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", victim))
	require.NoError(t, err)
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		require.NoError(t, err)
		was, err := linux.GetAffinity(tid)
		require.NoError(t, err)
		require.Equal(t, cpuset.Of(here).String(), was.String(), "it is bound")
		require.NoError(t, linux.SetAffinity(tid, cpuset.Of(there)))
	}
	moved, err := linux.ProcessCPUTime(victim)
	require.NoError(t, err)
	wait(func() bool { // until it has checked its CPU: the rest of its preparation takes some milliseconds
		now, err := linux.ProcessCPUTime(victim)
		require.NoError(t, err)
		return now > moved+500*time.Millisecond
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, exitInterrupted, exit.ExitCode())

	var run result.Run
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &run))
	require.Len(t, run.Samples, 1)
	sample := run.Samples[0]
	assert.True(t, sample.Partial)
	assert.False(t, sample.Placement.Verified)
	assert.Equal(t, result.Invalid, sample.Quality.Verdict)
	v, ok := result.Typed[bind.Figures](&sample)
	require.True(t, ok)
	assert.True(t, v.Bound)
	require.Len(t, v.Processes, 2)
	strays := 0
	for _, p := range v.Processes {
		assert.Equal(t, here, p.CPU)
		assert.True(t, p.Partial)
		if p.Deviations > 0 {
			strays++
			assert.Equal(t, map[string]uint64{strconv.Itoa(there): p.Deviations}, p.MovedTo)
		}
	}
	assert.Equal(t, 1, strays)
	assert.Equal(t, stats.Invalid, run.Cells[1].Verdict.Kind)
	assert.Regexp(t, `^invalid: the placement is not the requested one: process \d: asked for CPUs \d+, the kernel answers CPUs \d+$`,
		run.Cells[1].Words)
	require.Len(t, run.Findings, 1)
	assert.Equal(t, "deviations-bound", run.Findings[0].Code)
	assert.Positive(t, run.Findings[0].Value)
}
