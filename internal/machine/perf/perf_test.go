package perf

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// thread is a thread that runs functions on request, pinned to one CPU at a time.
type thread struct {
	work chan func() error
	done chan error
	end  func() // which the end of the test also calls
}

func startThread(t *testing.T, cpu int) *thread {
	th := &thread{work: make(chan func() error), done: make(chan error)}
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	go func() {
		defer close(th.done)
		runtime.LockOSThread() // the goroutine ends with the thread
		for work := range th.work {
			th.done <- work()
		}
		_ = linux.SetAffinity(0, allowed) // in case this is the main thread, which cannot end
	}()
	th.end = sync.OnceFunc(func() {
		close(th.work)
		<-th.done
	})
	t.Cleanup(th.end)
	th.do(t, func() error { return linux.SetAffinity(0, cpuset.Of(cpu)) })
	return th
}

func (th *thread) do(t *testing.T, work func() error) {
	t.Helper()
	th.work <- work
	require.NoError(t, <-th.done)
}

// alternate moves the thread n times between two CPUs, starting with the first.
func (th *thread) alternate(t *testing.T, n, a, b int) {
	t.Helper()
	th.do(t, func() error { return alternate(n, a, b) })
}

func alternate(n, a, b int) error {
	for i := range n {
		if err := linux.SetAffinity(0, cpuset.Of([]int{a, b}[i%2])); err != nil {
			return err
		}
	}
	return nil
}

// twoCPUs returns two CPUs that the test may use, and skips it if there is one.
func twoCPUs(t *testing.T) (a, b int) {
	t.Helper()
	cpus := tests.CPUs(t, 2)
	return cpus[0], cpus[1]
}

// settle keeps every thread of this process, and each that they start, on the CPU until the test ends: otherwise the
// kernel moves the runtime's threads, and the more often the longer a test takes.
func settle(t *testing.T, cpu int) {
	t.Helper()
	before := map[int]cpuset.Set{}
	tests.Await(t, "rest of all threads", func() bool {
		tids, err := linux.Tasks()
		require.NoError(t, err)
		found := false
		for _, tid := range tids {
			is, err := linux.GetAffinity(tid)
			if err != nil || is.Equal(cpuset.Of(cpu)) {
				continue // it has ended, or rests
			}
			before[tid], found = is, true
			_ = linux.SetAffinity(tid, cpuset.Of(cpu))
		}
		return !found
	})
	t.Cleanup(func() {
		all := cpuset.Set{}
		for _, mask := range before {
			all = all.Union(mask)
		}
		tids, err := linux.Tasks()
		require.NoError(t, err)
		for _, tid := range tids {
			_ = linux.SetAffinity(tid, all) // it may have ended
		}
	})
}

// refused skips the test if an event is not allowed here, which must be an error with a hint.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		require.True(t, errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported), err)
		require.NotEmpty(t, hint.Of(err))
		t.Skip("needs " + what)
	}
}

// dropCapabilities drops the effective capabilities of the test's thread until the test ends.
func dropCapabilities(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var before [2]unix.CapUserData
	require.NoError(t, unix.Capget(&header, &before[0]))
	none := before
	none[0].Effective, none[1].Effective = 0, 0
	require.NoError(t, unix.Capset(&header, &none[0]))
	t.Cleanup(func() {
		assert.NoError(t, unix.Capset(&header, &before[0]))
		runtime.UnlockOSThread()
	})
	level := tests.Read(t, "/proc/sys/kernel/perf_event_paranoid")
	if s := strings.TrimSpace(string(level)); s != "2" && s != "3" && s != "4" {
		t.Skip("needs perf_event_paranoid of 2 or more")
	}
}

// Existing, new and ended threads are all counted, and counted once.
func TestSoftwareCountsEveryMoveOnce(t *testing.T) {
	const threads, moves = 10, 50 // moves: even, so that each thread returns to its first CPU
	a, b := twoCPUs(t)
	settle(t, b)
	var movers []*thread
	for range threads / 2 {
		th := startThread(t, b)
		th.alternate(t, 2, a, b) // before the counter is opened
		movers = append(movers, th)
	}
	c, err := openSoftware()
	refused(t, "perf events of the kernel", err)
	for range threads / 2 {
		movers = append(movers, startThread(t, b))
	}
	for _, th := range movers {
		th.alternate(t, moves, a, b)
	}
	during, err := c.Read()
	require.NoError(t, err)
	for _, th := range movers {
		th.end()
	}
	after, err := c.Read()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, during, uint64(threads*moves))
	assert.GreaterOrEqual(t, after, during, "the counts of ended threads are kept")
	assert.LessOrEqual(t, after, uint64(threads*moves+threads), "counted once, with a thread's first move")

	require.NoError(t, c.Close())
	_, err = c.Read()
	assert.ErrorIs(t, err, os.ErrClosed, "a closed counter is not 0")
}

func TestOpenThreadsWithoutOneThatEnded(t *testing.T) {
	s, err := openThreads([]int{os.Getpid(), 4<<20 + 1}) // above every pid_max
	refused(t, "perf events of the kernel", err)
	assert.Len(t, s.fds, 1)
	assert.NoError(t, s.Close())
}

// On any machine there is the exact method, or the other one with a reason, or an error with a reason.
func TestOpenMigrations(t *testing.T) {
	for _, ordinary := range []bool{false, true} {
		t.Run(map[bool]string{false: "as it is", true: "without privilege"}[ordinary], func(t *testing.T) {
			if ordinary {
				dropCapabilities(t)
			}
			c, err := OpenMigrations()
			if err != nil {
				assert.NotEmpty(t, hint.Of(err))
				return
			}
			if ordinary || c.Method != Software {
				assert.Equal(t, SchedDebug, c.Method)
				assert.NotEmpty(t, hint.Of(c.Degraded))
			} else {
				assert.NoError(t, c.Degraded)
			}
			_, err = c.Read()
			assert.NoError(t, err)
			assert.NoError(t, c.Close())
		})
	}
}

func TestOpenError(t *testing.T) {
	for _, c := range []struct {
		err    error
		is     error
		remedy string
	}{
		{unix.EACCES, fs.ErrPermission, "needs sysctl kernel.perf_event_paranoid=2 or CAP_PERFMON (perf_event_paranoid is "},
		{unix.EPERM, fs.ErrPermission, "needs sysctl kernel.perf_event_paranoid=2 or CAP_PERFMON (perf_event_paranoid is "},
		{unix.EMFILE, unix.EMFILE, "ulimit -n"},
		{unix.ENOENT, errors.ErrUnsupported, ""},
		{unix.ENOSYS, errors.ErrUnsupported, ""},
	} {
		err := openError("trace it", c.err, 2)
		require.ErrorIs(t, err, c.is)
		assert.ErrorContains(t, err, "trace it (perf_event_open): ")
		assert.Contains(t, hint.Of(err), c.remedy)
	}
}
