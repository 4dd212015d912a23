package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/sysfs"
)

// thread is a thread that runs functions on request, pinned to one CPU at a time.
type thread struct {
	tid  int
	work chan func() error
	done chan error
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
	t.Cleanup(func() {
		close(th.work)
		<-th.done
	})
	th.do(t, func() error {
		th.tid = linux.Gettid()
		return linux.SetAffinity(0, cpuset.Of(cpu))
	})
	return th
}

func (th *thread) do(t *testing.T, work func() error) {
	t.Helper()
	th.work <- work
	require.NoError(t, <-th.done)
}

// alternate moves the thread n times, starting with the first CPU.
func (th *thread) alternate(t *testing.T, n int, cpus ...int) {
	t.Helper()
	th.do(t, func() error {
		for i := range n {
			if err := linux.SetAffinity(0, cpuset.Of(cpus[i%2])); err != nil {
				return err
			}
		}
		return nil
	})
}

// steps returns the expected result of n moves of alternate, starting on the second CPU.
func steps(n int, cpus ...int) []Move {
	moves := make([]Move, n)
	for i := range moves {
		moves[i] = Move{From: cpus[(i+1)%2], To: cpus[i%2]}
	}
	return moves
}

// timeless returns the moves without their times, after checking that these ascend from since until now.
func timeless(t *testing.T, moves []Move, since int64) []Move {
	t.Helper()
	out := make([]Move, len(moves))
	for i, m := range moves {
		require.GreaterOrEqual(t, m.NS, since)
		since = m.NS
		out[i] = Move{From: m.From, To: m.To}
	}
	require.LessOrEqual(t, since, monotonic(t))
	return out
}

func monotonic(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	return now.Nano()
}

func online(t *testing.T) []int {
	t.Helper()
	cpus, err := sysfs.ReadSet(os.DirFS("/"), "sys/devices/system/cpu/online")
	require.NoError(t, err)
	return cpus.List()
}

// eachMethod runs a test with each method that is available here, and skips the others, whose error must say why.
func eachMethod(t *testing.T, test func(t *testing.T, open func(t *testing.T, tid int) *tracer[Move])) {
	for _, o := range openers {
		t.Run(string(o.method), func(t *testing.T) {
			test(t, func(t *testing.T, tid int) *tracer[Move] {
				t.Helper()
				source, err := o.open(tid, online(t), os.DirFS("/"))
				if err != nil {
					require.True(t, errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported), err)
					require.True(t, hinted(err), err)
					t.Skipf("needs traces by %s", o.method)
				}
				t.Cleanup(func() { assert.NoError(t, source.Close()) })
				return source
			})
		})
	}
}

// The thread moves itself, with and without a Read between. The moves of another thread are not seen.
func TestTraceSeesEachMove(t *testing.T) {
	const moves = 20
	allowed := twoCPUs(t)
	a, b := allowed.First(), allowed.Last()
	eachMethod(t, func(t *testing.T, open func(t *testing.T, tid int) *tracer[Move]) {
		traced, other := startThread(t, b), startThread(t, b)
		traced.alternate(t, 2, a, b) // moves before the trace do not count
		trace := open(t, traced.tid)
		since := monotonic(t)
		for range 3 {
			other.alternate(t, moves, a, b)
			traced.alternate(t, moves, a, b)
			other.alternate(t, moves, a, b)
			got, lost, err := trace.Read()
			require.NoError(t, err)
			assert.Zero(t, lost)
			assert.Equal(t, steps(moves, a, b), timeless(t, got, since))
			since = monotonic(t)
		}
		other.alternate(t, moves, a, b)
		got, _, err := trace.Read()
		require.NoError(t, err)
		assert.Empty(t, got)
	})
}

// The thread is moved by another thread, on any CPU.
func TestTraceSeesMovesMadeByAnother(t *testing.T) {
	const moves = 20
	allowed := twoCPUs(t)
	a, b := allowed.First(), allowed.Last()
	eachMethod(t, func(t *testing.T, open func(t *testing.T, tid int) *tracer[Move]) {
		traced, mover := startThread(t, b), startThread(t, a)
		trace := open(t, traced.tid)
		since := monotonic(t)
		for i := range moves {
			mover.do(t, func() error { return linux.SetAffinity(traced.tid, cpuset.Of([]int{a, b}[i%2])) })
			traced.do(t, func() error { return nil }) // makes it run, if it was not moved in its sleep
		}
		got, lost, err := trace.Read()
		require.NoError(t, err)
		assert.Zero(t, lost)
		assert.Equal(t, steps(moves, a, b), timeless(t, got, since))
	})
}

// The moves visit all CPUs, up to 8.
func TestTraceOverAllCPUs(t *testing.T) {
	allowed := twoCPUs(t)
	eachMethod(t, func(t *testing.T, open func(t *testing.T, tid int) *tracer[Move]) {
		cpus := allowed.List()
		traced := startThread(t, cpus[0])
		trace := open(t, traced.tid)
		since := monotonic(t)
		var want []Move
		for i, cpu := range cpus[1:] {
			want = append(want, Move{From: cpus[i], To: cpu})
			traced.do(t, func() error { return linux.SetAffinity(0, cpuset.Of(cpu)) })
		}
		got, lost, err := trace.Read()
		require.NoError(t, err)
		assert.Zero(t, lost)
		assert.Equal(t, want, timeless(t, got, since))
	})
}

// Records that do not fit are counted once, and later ones are seen again.
func TestTraceCountsTheLost(t *testing.T) {
	const moves = 400 // a page holds 170 of them
	allowed := twoCPUs(t)
	a, b := allowed.First(), allowed.Last()
	traced := startThread(t, b)
	e, err := openEvent(unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_CPU_MIGRATIONS,
		Sample:      1,
		Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU,
	}, traced.tid, -1, os.Getpagesize())
	if err != nil {
		require.ErrorIs(t, err, fs.ErrPermission)
		t.Skip("needs perf events of the kernel")
	}
	trace := tracer[Move]{events: []*event{e}, of: func(r record) (Move, bool, error) {
		ns, cpu, err := parseSeen(r.body)
		return Move{NS: ns, To: cpu}, true, err
	}}
	defer func() { assert.NoError(t, trace.Close()) }()
	require.NoError(t, e.enable())
	// A move is reported when the thread is next switched in, even if it was made before the event was opened.
	traced.do(t, func() error { return nil })
	_, _, err = trace.Read()
	require.NoError(t, err)

	traced.alternate(t, moves, a, b)
	kept, lost, err := trace.Read()
	require.NoError(t, err)
	assert.Len(t, kept, os.Getpagesize()/24)
	n, err := unix.Read(e.fd, make([]byte, 16))
	require.NoError(t, err)
	if n == 16 { // Linux 6.0: reported at once
		assert.Equal(t, uint64(moves-len(kept)), lost)
	}

	traced.alternate(t, 10, a, b)
	again, more, err := trace.Read()
	require.NoError(t, err)
	assert.Len(t, again, 10)
	assert.Equal(t, uint64(moves-len(kept)), lost+more)
	assert.Equal(t, lost+more, e.told, "the ring and the event agree")
}

func TestParseLost(t *testing.T) {
	lost, err := parseLost(record{unix.PERF_RECORD_LOST, 0, words(1, 7)})
	require.NoError(t, err)
	assert.Equal(t, uint64(7), lost)
	lost, err = parseLost(record{unix.PERF_RECORD_LOST_SAMPLES, 0, words(8)})
	require.NoError(t, err)
	assert.Equal(t, uint64(8), lost)
	for _, r := range []record{{unix.PERF_RECORD_LOST, 0, words(1)}, {unix.PERF_RECORD_LOST_SAMPLES, 0, nil}} {
		_, err := parseLost(r)
		assert.ErrorIs(t, err, errRing)
	}
}

func TestParseSeen(t *testing.T) {
	body := append(words(123456789012), 0x9b, 1, 0, 0, 0, 0, 0, 0) // CPU 411, little-endian
	if words(1)[0] == 0 {
		t.Skip("needs a little-endian machine")
	}
	ns, cpu, err := parseSeen(body)
	require.NoError(t, err)
	assert.Equal(t, int64(123456789012), ns)
	assert.Equal(t, 411, cpu)
	_, _, err = parseSeen(body[:15])
	assert.ErrorIs(t, err, errRing)
}

// memoryTracer reads rings that the test writes; a record is a time.
func memoryTracer(t interface {
	require.TestingT
	Cleanup(f func())
}, rings int,
) *tracer[Move] {
	trace := &tracer[Move]{of: func(r record) (Move, bool, error) {
		ns, _, err := parseSeen(r.body)
		return Move{NS: ns}, true, err
	}}
	for range rings {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0) // reports no loss
		require.NoError(t, err)
		trace.events = append(trace.events, &event{fd: fd, ring: newRing(1<<12, 0)})
	}
	t.Cleanup(func() { _ = trace.Close() })
	return trace
}

func (t *tracer[Move]) move(ring int, ns int64) bool {
	return t.events[ring].ring.write(recordOf(unix.PERF_RECORD_SAMPLE, words(uint64(ns), 0)...))
}

// While ring 1 is read, a move is written to ring 0, which was read already, and then one to ring 2, which was not.
func TestTraceKeepsTheOrderOfTimeAcrossReads(t *testing.T) {
	trace := memoryTracer(t, 3)
	trace.move(1, 10)
	inner, once := trace.of, false
	trace.of = func(r record) (Move, bool, error) {
		if !once {
			once = true
			trace.move(0, 11)
			trace.move(2, 12)
			trace.move(1, 13) // found only by the second pass
		}
		return inner(r)
	}
	got, _, err := trace.Read()
	require.NoError(t, err)
	assert.Equal(t, []Move{{NS: 10}, {NS: 11}, {NS: 12}}, got)
	got, _, err = trace.Read()
	require.NoError(t, err)
	assert.Equal(t, []Move{{NS: 13}}, got)
}

// Moves before and during a Read are each returned once, in order, and at the latest by the next Read that starts after
// them.
func TestTraceReturnsEachMoveOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rings := rapid.IntRange(1, 4).Draw(t, "rings")
		trace := memoryTracer(t, rings)
		var now int64
		move := func(most int) {
			for range rapid.IntRange(0, most).Draw(t, "moves") {
				if trace.move(rapid.IntRange(0, rings-1).Draw(t, "ring"), now+1) {
					now++
				}
			}
		}
		inner := trace.of
		trace.of = func(r record) (Move, bool, error) {
			move(1)
			return inner(r)
		}
		var seen int64
		for range rapid.IntRange(1, 5).Draw(t, "reads") {
			move(10)
			before := now
			moves, _, err := trace.Read()
			require.NoError(t, err)
			for _, m := range moves {
				require.Equal(t, seen+1, m.NS)
				seen++
			}
			require.GreaterOrEqual(t, seen, before)
		}
		trace.of = inner
		moves, _, err := trace.Read()
		require.NoError(t, err)
		require.Equal(t, now, seen+int64(len(moves)))
	})
}

func TestTraceOfADamagedRing(t *testing.T) {
	trace := memoryTracer(t, 2)
	trace.move(0, 1)
	trace.events[1].ring.write(recordOf(unix.PERF_RECORD_SAMPLE, words(2)...))
	_, _, err := trace.Read()
	require.ErrorIs(t, err, errRing)
	trace.move(0, 3)
	moves, _, err := trace.Read()
	require.NoError(t, err)
	assert.Equal(t, []Move{{NS: 3}}, moves, "the moves pending at the failure are lost")
}

func TestClosedTrace(t *testing.T) {
	eachMethod(t, func(t *testing.T, open func(t *testing.T, tid int) *tracer[Move]) {
		trace := open(t, linux.Gettid())
		require.NoError(t, trace.Close())
		_, _, err := trace.Read()
		assert.ErrorIs(t, err, os.ErrClosed, "a closed trace differs from one without moves")
		assert.NoError(t, trace.Close())
	})
}

// elsewhere is this machine without a directory, or in another PID namespace.
type elsewhere struct {
	fs.FS
	hidden       string
	pidNamespace string
}

func (e elsewhere) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, e.hidden) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return e.FS.Open(name)
}

func (e elsewhere) ReadLink(name string) (string, error) {
	if name == "proc/self/ns/pid" {
		return e.pidNamespace, nil
	}
	return fs.ReadLink(e.FS, name)
}

func (e elsewhere) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(e.FS, name) }

// On any machine there is the best method, or another one with a reason, or an error with a reason.
func TestOpenTraceSaysWhatItCouldNotDo(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	root := os.DirFS("/")
	const initial = "pid:[4026531836]"
	for name, c := range map[string]struct {
		fsys fs.FS
		why  string // the best method is not available
	}{
		"here":                  {root, ""},
		"no tracefs":            {elsewhere{root, "sys/kernel", initial}, "no tracefs"},
		"another PID namespace": {elsewhere{root, "nothing", "pid:[4026532001]"}, "another PID namespace"},
	} {
		trace, err := OpenTrace(0, online(t), c.fsys)
		if err != nil {
			assert.True(t, errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported), err)
			assert.True(t, hinted(err), err)
			assert.ErrorContains(t, err, c.why)
			continue
		}
		t.Log(name, trace.Method(), trace.Degraded())
		if trace.Method() == TraceMigrateTask {
			assert.Empty(t, c.why)
			assert.NoError(t, trace.Degraded())
		} else {
			assert.ErrorContains(t, trace.Degraded(), c.why)
			assert.NotContains(t, trace.Degraded().Error(), "\n")
			assert.True(t, hinted(trace.Degraded()))
		}
		_, _, err = trace.Read()
		assert.NoError(t, err)
		assert.NoError(t, trace.Close())
	}
}

func TestOpenTraceOfNoThread(t *testing.T) {
	_, err := OpenTrace(4<<20+1, online(t), os.DirFS("/"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestOpenTraceWithoutPrivilege(t *testing.T) {
	allowed := twoCPUs(t)
	dropCapabilities(t)
	trace, err := OpenTrace(0, online(t), os.DirFS("/"))
	if err != nil { // perf_event_paranoid above 2 refuses everything
		require.ErrorIs(t, err, fs.ErrPermission)
		assert.True(t, hinted(err))
		level, err := sysfs.ReadInt(os.DirFS("/"), "proc/sys/kernel/perf_event_paranoid")
		require.NoError(t, err)
		assert.Greater(t, level, 2)
		return
	}
	defer func() { assert.NoError(t, trace.Close()) }()
	assert.Equal(t, TraceSwitches, trace.Method())
	require.ErrorIs(t, trace.Degraded(), fs.ErrPermission)
	assert.ErrorContains(t, trace.Degraded(), "sched_migrate_task")

	back := []int{allowed.First(), allowed.Last(), allowed.First()}
	require.NoError(t, linux.VisitCPUs(back, func(int) error { return nil }))
	moves, lost, err := trace.Read()
	require.NoError(t, err)
	assert.Zero(t, lost)
	assert.GreaterOrEqual(t, len(moves), 2)
}

// The hint is that of the last method: here it has none, since no privilege helps.
func TestOpenTraceOfAThreadThatEnds(t *testing.T) {
	const tid = 4<<20 + 1 // above every pid_max
	fsys := fstest.MapFS{fmt.Sprintf("proc/%d/stat", tid): {Data: []byte(statText("x", 0))}}
	_, err := OpenTrace(tid, online(t), fsys)
	if !errors.Is(err, unix.ESRCH) { // perf_event_paranoid above 2 is checked before the thread
		require.ErrorIs(t, err, fs.ErrPermission)
		t.Skip("needs perf_event_paranoid of 2 or less")
	}
	assert.ErrorContains(t, err, "sched_migrate_task")
	assert.Empty(t, hint.Of(err))
}

func TestTraceError(t *testing.T) {
	for _, c := range []struct {
		err    error
		is     error
		remedy string
	}{
		{unix.EACCES, fs.ErrPermission, "kernel.perf_event_paranoid=2 (perf_event_paranoid is "},
		{unix.EPERM, fs.ErrPermission, "kernel.perf_event_paranoid=2 (perf_event_paranoid is "},
		{unix.EMFILE, unix.EMFILE, "ulimit -n"},
		{unix.ENOENT, errors.ErrUnsupported, ""},
		{unix.ENOSYS, errors.ErrUnsupported, ""},
	} {
		err := traceError(TraceSwitches, c.err)
		require.ErrorIs(t, err, c.is)
		assert.ErrorContains(t, err, "trace migrations by switches")
		assert.Contains(t, hint.Of(err), c.remedy)
	}
}

func TestOpenMigrateTaskOnNoCPU(t *testing.T) {
	fsys := fstest.MapFS{
		"proc/self/ns/pid": {Data: []byte("pid:[4026531836]"), Mode: fs.ModeSymlink},
		"sys/kernel/tracing/events/sched/sched_migrate_task/format": {Data: []byte(format618)},
	}
	_, err := openMigrateTask(1, nil, fsys)
	assert.ErrorContains(t, err, "no CPU")
}

func TestRingSize(t *testing.T) {
	for rings, want := range map[int]int{
		0: 512 << 10, 1: 512 << 10, 64: 512 << 10, 65: 256 << 10, 512: 64 << 10, 8192: 64 << 10,
	} {
		assert.Equal(t, want, ringSize(rings), "%d rings", rings)
	}
}

func BenchmarkTrace(b *testing.B) {
	cpus, err := sysfs.ReadSet(os.DirFS("/"), "sys/devices/system/cpu/online")
	require.NoError(b, err)
	for _, o := range openers {
		b.Run("open/"+string(o.method), func(b *testing.B) {
			for b.Loop() {
				trace, err := o.open(linux.Gettid(), cpus.List(), os.DirFS("/"))
				if err != nil {
					b.Skip(err)
				}
				require.NoError(b, trace.Close())
			}
		})
		b.Run("read/"+string(o.method), func(b *testing.B) {
			trace, err := o.open(linux.Gettid(), cpus.List(), os.DirFS("/"))
			if err != nil {
				b.Skip(err)
			}
			for b.Loop() {
				_, _, err := trace.Read()
				require.NoError(b, err)
			}
			require.NoError(b, trace.Close())
		})
	}
	b.Run("read/a-move", func(b *testing.B) {
		const moves = 100
		trace := memoryTracer(b, 1)
		for b.Loop() {
			for i := range moves {
				trace.move(0, int64(i))
			}
			_, _, err := trace.Read()
			require.NoError(b, err)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*moves), "ns/move")
	})
}
