package linux_test

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/linux"
)

func TestSleepUntil(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Second, 0, time.Millisecond} {
		deadline := linux.Monotonic() + ahead
		require.NoError(t, linux.SleepUntil(deadline))
		assert.GreaterOrEqual(t, linux.Monotonic(), deadline)
	}
	require.ErrorIs(t, linux.SleepUntil(-1), syscall.EINVAL)
}

// The clock of a process counts its CPU time, is the same from inside and from outside, and ends with it.
func TestProcessCPUTime(t *testing.T) {
	begin, err := linux.ProcessCPUTime(0)
	require.NoError(t, err)
	require.Positive(t, begin)
	for now := begin; now < begin+time.Millisecond; { // uses CPU time
		now, err = linux.ProcessCPUTime(os.Getpid())
		require.NoError(t, err)
		require.GreaterOrEqual(t, now, begin)
	}
	begun := time.Now()
	other := exec.Command("cat")
	_, err = other.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	used, err := linux.ProcessCPUTime(other.Process.Pid)
	assert.NoError(t, err)
	assert.LessOrEqual(t, used, time.Since(begun), "it has one thread")
	require.NoError(t, other.Process.Kill())
	require.Error(t, other.Wait())
	_, err = linux.ProcessCPUTime(other.Process.Pid)
	assert.ErrorIs(t, err, syscall.ESRCH)
	assert.True(t, linux.Gone(err), err)
}

// A thread that has ended still counts.
func TestCPUTimeOfEndedThread(t *testing.T) {
	before, err := linux.ProcessCPUTime(os.Getpid())
	require.NoError(t, err)
	const work = 2 * time.Millisecond
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for begin := linux.ThreadCPUTime(); linux.ThreadCPUTime() < begin+int64(work); {
		}
	}()
	<-worked
	after, err := linux.ProcessCPUTime(os.Getpid())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, after-before, work)
}
