package linux

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
)

// TestThreadsOfProcesses: a thread's files are its own, also if it is not the first of its process.
func TestThreadsOfProcesses(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	allowed, err := GetAffinity(0)
	require.NoError(t, err)
	cpu := allowed.First()
	require.NoError(t, SetAffinity(0, cpuset.Of(cpu)))
	defer func() { require.NoError(t, SetAffinity(0, allowed)) }()
	tid := Gettid()
	last, err := LastCPU(tid)
	require.NoError(t, err)
	assert.Equal(t, cpu, last)
	before, err := ThreadTurns(tid)
	require.NoError(t, err)
	within, err := ReadTurns(os.DirFS("/"), "proc/thread-self/schedstat")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, within.Count, before.Count)
	assert.GreaterOrEqual(t, within.OnCPU, before.OnCPU)
	after, err := ThreadTurns(tid)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, after.Count, within.Count)
	assert.GreaterOrEqual(t, after.OnCPU, within.OnCPU)

	c := exec.Command("sleep", "600")
	require.NoError(t, c.Start()) // by any thread of this process
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	tests.Await(t, "process that sleeps", func() bool { return !Runnable(c.Process.Pid) })
	loop := exec.Command("sh", "-c", "while :; do :; done")
	require.NoError(t, loop.Start())
	defer func() {
		_ = loop.Process.Kill()
		_ = loop.Wait()
	}()
	tests.Await(t, "process that runs", func() bool { return Runnable(loop.Process.Pid) })
	assert.False(t, Stopped(loop.Process.Pid))
	children, err := Children()
	require.NoError(t, err)
	assert.Contains(t, children, c.Process.Pid)
	var seen []int
	EachProcess(os.Getpid(), func(pid int, tids []int) {
		seen = append(seen, pid)
		assert.Contains(t, tids, pid, "its first thread")
		assert.True(t, pid != os.Getpid() || slices.Contains(tids, tid))
	})
	assert.Equal(t, os.Getpid(), seen[0])
	assert.Contains(t, seen, c.Process.Pid)
}
