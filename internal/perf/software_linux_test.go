package perf

import (
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/tests"
)

// openSoftware opens a counter, or skips the test if the privilege for that is missing; any other error fails the test.
func openSoftware(t testing.TB, event Event) *Counter {
	t.Helper()
	c, err := OpenSoftware(event)
	if err != nil {
		require.ErrorIs(t, err, fs.ErrPermission)
		require.True(t, hinted(err))
		t.Skip("needs perf events of the kernel")
	}
	assert.Equal(t, Software, c.Method())
	return c
}

// mover is a thread that moves between two CPUs on demand.
type mover struct {
	moves chan int
	done  chan error
}

func newMover(cpus cpuset.Set) mover {
	m := mover{make(chan int), make(chan error)}
	go func() {
		runtime.LockOSThread() // the goroutine ends with the thread
		pair := []int{cpus.First(), cpus.Last()}
		err := linux.SetAffinity(0, cpuset.Of(pair[1]))
		for n := range m.moves {
			for i := 0; i < n && err == nil; i++ {
				err = linux.SetAffinity(0, cpuset.Of(pair[i%2]))
			}
			m.done <- err
		}
		_ = linux.SetAffinity(0, cpus) // in case this is the main thread, which cannot end
		close(m.done)
	}()
	return m
}

func (m mover) move(t *testing.T, n int) {
	t.Helper()
	m.moves <- n
	require.NoError(t, <-m.done)
}

func (m mover) end() {
	close(m.moves)
	<-m.done
}

// twoCPUs returns all CPUs that the test may use, and skips it if that is one.
func twoCPUs(t *testing.T) cpuset.Set {
	t.Helper()
	tests.CPUs(t, 2)
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	return allowed
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

// Existing, new and ended threads are all counted, and counted once.
func TestSoftwareCountsEveryMoveOnce(t *testing.T) {
	const threads, moves = 10, 50 // moves: even, so that each thread returns to its first CPU
	allowed := twoCPUs(t)
	settle(t, allowed.Last())
	var movers []mover
	for range threads / 2 {
		m := newMover(allowed)
		m.move(t, 2) // it is pinned, and has moved before the counter is opened
		movers = append(movers, m)
	}
	c := openSoftware(t, Migrations)
	for range threads / 2 {
		movers = append(movers, newMover(allowed))
	}
	for _, m := range movers {
		m.move(t, moves)
	}
	during, err := c.Read()
	require.NoError(t, err)
	for _, m := range movers {
		m.end()
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

func TestSoftwareCountsContextSwitches(t *testing.T) {
	const sleeps = 100
	c := openSoftware(t, ContextSwitches)
	defer func() { assert.NoError(t, c.Close()) }()
	before, err := c.Read()
	require.NoError(t, err)
	var slept sync.WaitGroup
	slept.Go(func() {
		runtime.LockOSThread()
		for range sleeps {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1}, nil)
		}
	})
	slept.Wait()
	after, err := c.Read()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, after-before, uint64(sleeps))
}

// A thread that sleeps on one CPU switches but does not migrate.
func TestMigrationsAreNotSwitches(t *testing.T) {
	const sleeps = 100
	allowed := twoCPUs(t)
	settle(t, allowed.Last())
	c := openSoftware(t, Migrations)
	defer func() { assert.NoError(t, c.Close()) }()
	require.NoError(t, linux.VisitCPUs([]int{allowed.First()}, func(int) error {
		for range sleeps {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1}, nil)
		}
		return nil
	}))
	n, err := c.Read()
	require.NoError(t, err)
	assert.Less(t, n, uint64(sleeps/2), "to the CPU, back, and where the scheduler moves a thread that may use both")
}

func TestSchedDebugOfThisProcess(t *testing.T) {
	allowed := twoCPUs(t)
	c, err := OpenSchedDebug(Migrations)
	if err != nil {
		t.Skip("needs /proc/self/sched")
	}
	m := newMover(allowed)
	m.move(t, 20)
	n, err := c.Read()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, n, uint64(20))
	m.end()
}

// dropCapabilities drops the effective capabilities of the test's thread, which ends with the test.
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
	level, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	require.NoError(t, err)
	if s := strings.TrimSpace(string(level)); s != "2" && s != "3" && s != "4" {
		t.Skip("needs perf_event_paranoid of 2 or more")
	}
}

func TestWithoutPrivilegeItIsRefused(t *testing.T) {
	dropCapabilities(t)
	_, err := openThread(unix.PERF_COUNT_SW_CPU_MIGRATIONS, 0, unix.PerfBitInherit)
	require.ErrorIs(t, err, fs.ErrPermission)
	var refusal *linux.Error
	require.ErrorAs(t, err, &refusal)
	assert.Contains(t, refusal.Hint(), "sysctl kernel.perf_event_paranoid=1 or CAP_PERFMON (perf_event_paranoid is ")
}

// The reason for the check: the counter that the kernel gives to every user stays 0.
func TestWithoutKernelModeItStaysZero(t *testing.T) {
	allowed := twoCPUs(t)
	dropCapabilities(t)
	fd, err := openThread(unix.PERF_COUNT_SW_CPU_MIGRATIONS, 0, unix.PerfBitExcludeKernel)
	if err != nil {
		t.Skip("needs perf_event_paranoid of 2 or less")
	}
	defer func() { assert.NoError(t, unix.Close(fd)) }()
	require.NoError(t, linux.VisitCPUs(append(allowed.List(), allowed.List()...), func(int) error { return nil }))
	n, err := readCount(fd)
	require.NoError(t, err)
	assert.Zero(t, n)
}

func TestOpenThreadOfAThreadThatEnded(t *testing.T) {
	openSoftware(t, Migrations).Close()
	s, err := openThreads(unix.PERF_COUNT_SW_CPU_MIGRATIONS, []int{os.Getpid(), 4<<20 + 1})
	require.NoError(t, err)
	assert.Len(t, s.fds, 1)
	assert.NoError(t, s.Close())
}

func TestOpenThreadOfNoSuchCounter(t *testing.T) {
	openSoftware(t, Migrations).Close()
	_, err := openThread(1000, 0, 0)
	assert.Error(t, err)
}

func TestSubset(t *testing.T) {
	for _, c := range []struct {
		a, b []int
		want bool
	}{
		{nil, nil, true},
		{nil, []int{1}, true},
		{[]int{1, 3}, []int{1, 2, 3}, true},
		{[]int{1, 4}, []int{1, 2, 3}, false},
		{[]int{1}, nil, false},
	} {
		assert.Equal(t, c.want, subset(c.a, c.b), "%v in %v", c.a, c.b)
	}
}

func BenchmarkOpenSoftware(b *testing.B) {
	openSoftware(b, Migrations).Close()
	for b.Loop() {
		c, err := OpenSoftware(Migrations)
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
	tids, _ := linux.Tasks()
	b.ReportMetric(float64(len(tids)), "threads")
}

// BenchmarkReadMany reads a counter that 4000 sleeping threads have inherited.
func BenchmarkReadMany(b *testing.B) {
	const threads = 4000 // below the 10,000 that the Go runtime allows
	c := openSoftware(b, Migrations)
	defer c.Close()
	var started, ended sync.WaitGroup
	started.Add(threads)
	end := make(chan struct{})
	for range threads {
		ended.Go(func() {
			runtime.LockOSThread()
			started.Done()
			<-end
		})
	}
	started.Wait()
	for b.Loop() {
		if _, err := c.Read(); err != nil {
			b.Fatal(err)
		}
	}
	close(end)
	ended.Wait()
}

func BenchmarkRead(b *testing.B) {
	for _, open := range []func(Event) (*Counter, error){OpenSoftware, OpenSchedDebug} {
		c, err := open(Migrations)
		if err != nil {
			b.Log(err)
			continue
		}
		b.Run(string(c.Method()), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Read(); err != nil {
					b.Fatal(err)
				}
			}
			tids, _ := linux.Tasks()
			b.ReportMetric(float64(len(tids)), "threads")
		})
		require.NoError(b, c.Close())
	}
}

// BenchmarkBurden measures the cost of a counter for the counted threads: for the life of a thread, and for two
// switches between two threads on one CPU. CPU times are those of the process, per operation.
func BenchmarkBurden(b *testing.B) {
	for _, counted := range []bool{false, true} {
		name := "uncounted"
		if counted {
			name = "counted"
		}
		run := func(work func(b *testing.B)) func(b *testing.B) {
			return func(b *testing.B) {
				if counted {
					defer openSoftware(b, Migrations).Close()
				}
				before, err := linux.ProcessUsage()
				require.NoError(b, err)
				work(b)
				after, err := linux.ProcessUsage()
				require.NoError(b, err)
				used := after.Sub(before)
				b.ReportMetric((used.UserSeconds+used.SystemSeconds)*1e9/float64(b.N), "cpu-ns/op")
			}
		}
		b.Run("thread/"+name, run(threadLives))
		b.Run("switch/"+name, run(switches))
	}
}

func threadLives(b *testing.B) {
	for b.Loop() {
		ended := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(ended)
		}()
		<-ended
	}
}

func switches(b *testing.B) {
	var there, back [2]int
	require.NoError(b, unix.Pipe(there[:]))
	require.NoError(b, unix.Pipe(back[:]))
	allowed, err := linux.GetAffinity(0)
	require.NoError(b, err)
	one := cpuset.Of(allowed.First())
	var echo sync.WaitGroup
	echo.Go(func() {
		_ = linux.VisitCPUs(one.List(), func(int) error {
			var buf [1]byte
			for {
				if n, err := unix.Read(there[0], buf[:]); n != 1 || err != nil {
					return err
				}
				if _, err := unix.Write(back[1], buf[:]); err != nil {
					return err
				}
			}
		})
	})
	require.NoError(b, linux.VisitCPUs(one.List(), func(int) error {
		var buf [1]byte
		for b.Loop() {
			if _, err := unix.Write(there[1], buf[:]); err != nil {
				return err
			}
			if _, err := unix.Read(back[0], buf[:]); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(b, unix.Close(there[1]))
	echo.Wait()
	for _, fd := range []int{there[0], back[0], back[1]} {
		require.NoError(b, unix.Close(fd))
	}
}
