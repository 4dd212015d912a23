package perf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/sysfs"
)

// Move is one migration of a thread.
type Move struct {
	// NS is the host's CLOCK_MONOTONIC in nanoseconds; in a time namespace clock_gettime(2) differs from it. With
	// TraceMigrateTask it is the time of the scheduler's decision, otherwise the time when the thread ran, or was seen,
	// on its new CPU.
	NS       int64
	From, To int // CPUs
}

// TraceMethod is the source of moves.
type TraceMethod string

// The methods.
const (
	TraceMigrateTask TraceMethod = "sched_migrate_task"
	TraceMigrations  TraceMethod = "migrations"
	TraceSwitches    TraceMethod = "switches"
	TraceReads       TraceMethod = "reads"
)

// TraceMethods lists the methods, the best first. All but the first miss a move to a CPU that the thread leaves before
// it runs there.
var TraceMethods = [...]struct {
	Method  TraceMethod
	Meaning string
	Needs   string
}{
	{
		TraceMigrateTask, "the scheduler's tracepoint on every CPU",
		"root, or CAP_PERFMON and a readable tracefs; the initial pid namespace",
	},
	{
		TraceMigrations, "a record of each migration that the kernel counts",
		"CAP_PERFMON or sysctl kernel.perf_event_paranoid=1",
	},
	{
		TraceSwitches, "the CPU at each context switch",
		"CAP_PERFMON or sysctl kernel.perf_event_paranoid=2",
	},
	{
		TraceReads, "the CPU that the thread itself reads; moves between two reads are missed",
		"nothing",
	},
}

// needs returns what a method needs.
func (m TraceMethod) needs() string {
	for _, row := range TraceMethods {
		if row.Method == m {
			return row.Needs
		}
	}
	return ""
}

// Trace traces the moves of one thread between CPUs. It is for one goroutine at a time.
type Trace struct {
	source   *tracer[Move]
	method   TraceMethod
	degraded error
}

// Method returns the source of the moves.
func (t *Trace) Method() TraceMethod { return t.method }

// Degraded returns why no better method is available; nil when the best is in use. It has a Hint.
func (t *Trace) Degraded() error { return t.degraded }

// Read returns the moves since the last Read, or since OpenTrace, in the order of time, also across Reads. lost is the
// number of records that did not fit into the kernel's rings. With a Read per second, none are lost below some thousand
// moves per second (context switches for TraceSwitches). After an error the pending moves are lost.
func (t *Trace) Read() (moves []Move, lost uint64, err error) { return t.source.Read() }

// Close ends the trace. A second call does nothing.
func (t *Trace) Close() error { return t.source.Close() }

// CPURead is a thread's reading of its own CPU.
type CPURead struct {
	NS  int64 // CLOCK_MONOTONIC in nanoseconds
	CPU int   // -1: unknown
}

// MovesOf returns the moves shown by a thread's reads, given in the order of time: the method TraceReads. A move has
// the time of the first read after it.
func MovesOf(reads []CPURead) []Move {
	var moves []Move
	f := follower{cpu: -1}
	for _, r := range reads {
		if r.CPU < 0 {
			continue
		}
		if m, moved := f.at(r.NS, r.CPU); moved {
			moves = append(moves, m)
		}
	}
	return moves
}

// follower finds a thread's moves from its successive CPUs.
type follower struct {
	cpu int // last seen; -1: not yet seen
}

// at records the thread's CPU, and returns the move to it if there was one.
func (f *follower) at(ns int64, cpu int) (m Move, moved bool) {
	m = Move{ns, f.cpu, cpu}
	moved = f.cpu != cpu && f.cpu >= 0
	f.cpu = cpu
	return m, moved
}

// threadCPU returns the CPU that a thread runs on, or ran on last, or is about to run on.
func threadCPU(fsys fs.FS, tid int) (int, error) {
	name := fmt.Sprintf("proc/%d/stat", tid)
	text, err := sysfs.ReadString(fsys, name)
	if err != nil {
		return 0, err
	}
	cpu, err := parseStatCPU(text)
	if err != nil {
		return 0, sysfs.Malformed(name, "%v", err)
	}
	return cpu, nil
}

// parseStatCPU returns field 39 of /proc/PID/stat, processor (proc_pid_stat(5)). Field 2 is a name in parentheses,
// which may contain spaces and parentheses.
func parseStatCPU(text string) (int, error) {
	const processor, afterName = 39, 3
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= processor-afterName {
		return 0, fmt.Errorf("%.60q has no field %d", text, processor)
	}
	cpu, err := strconv.ParseUint(fields[processor-afterName], 10, 31)
	if err != nil {
		return 0, fmt.Errorf("field %d is not a CPU: %.20q", processor, fields[processor-afterName])
	}
	return int(cpu), nil
}

// opener opens a method that traces a thread, or the processes that it starts.
type opener[T timed] struct {
	method TraceMethod
	open   func(tid int, cpus []int, fsys fs.FS) (*tracer[T], error)
}

// openers lists the methods that trace a thread from outside, in the order of TraceMethods.
var openers = []opener[Move]{
	{TraceMigrateTask, openMigrateTask},
	{TraceMigrations, openMigrationRecords},
	{TraceSwitches, openSwitches},
}

// OpenTrace traces a thread by the best method that the machine allows; TID 0 is the calling thread. cpus are the
// online CPUs: a move decided on a CPU that comes online later may be missed. fsys is rooted at /. If no method is
// available, the error gives the reason for each, wraps fs.ErrPermission or errors.ErrUnsupported, and has the Hint of
// the last, which needs the least privilege. The thread's own reads remain (MovesOf).
//
// With the tracepoint, opening takes a file descriptor, 0.15 ms and up to 512 KiB per CPU, and closing takes 40 ms.
// With the others both take 0.3 ms in total, one file descriptor and one ring. A Read takes 0.3-0.6 µs, and some 0.1 µs
// per move (BenchmarkTrace).
func OpenTrace(tid int, cpus []int, fsys fs.FS) (*Trace, error) {
	if tid == 0 {
		tid = linux.Gettid()
	}
	// The tracepoint's filter accepts any number, so check the TID first.
	if _, err := threadCPU(fsys, tid); err != nil {
		return nil, fmt.Errorf("trace thread %d: %w", tid, err)
	}
	source, method, degraded, err := openBest(openers, tid, cpus, fsys)
	if err != nil {
		return nil, err
	}
	return &Trace{source: source, method: method, degraded: degraded}, nil
}

// openBest opens the first available method. degraded says why those before it are not available.
func openBest[T timed](openers []opener[T], tid int, cpus []int, fsys fs.FS) (
	source *tracer[T], method TraceMethod, degraded, err error,
) {
	var remedy string
	for _, o := range openers {
		source, err := o.open(tid, cpus, fsys)
		if err == nil {
			return source, o.method, degraded, nil
		}
		if degraded == nil {
			degraded = err
		} else {
			degraded = fmt.Errorf("%w; %w", degraded, err)
		}
		remedy = hint.Of(err)
	}
	return nil, "", nil, hint.With(degraded, remedy)
}

// openMigrateTask opens the tracepoint on every CPU, since it fires on the CPU that moves the thread.
func openMigrateTask(tid int, cpus []int, fsys fs.FS) (*tracer[Move], error) {
	format, attr, err := migrateTaskEvent(fsys)
	if err != nil {
		return nil, err
	}
	t := &tracer[Move]{of: func(r record) (Move, bool, error) {
		if r.kind != unix.PERF_RECORD_SAMPLE {
			return Move{}, false, nil
		}
		_, m, err := format.move(r.body)
		return m, true, err
	}}
	return t, t.openOnEach(TraceMigrateTask, attr, -1, cpus, fmt.Sprintf("pid == %d", tid))
}

// migrateTaskEvent returns the event of the tracepoint and the layout of its samples.
func migrateTaskEvent(fsys fs.FS) (migrateTask, unix.PerfEventAttr, error) {
	if err := inInitialPIDNamespace(fsys); err != nil {
		return migrateTask{}, unix.PerfEventAttr{}, err
	}
	format, err := readMigrateTask(fsys)
	return format, unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_TRACEPOINT,
		Config:      format.id,
		Sample:      1,
		Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_RAW,
	}, err
}

// inInitialPIDNamespace returns an error unless this process's TIDs are those of the initial PID namespace, which the
// tracepoint's filter compares. NSpid of /proc/self/status cannot be used: it starts with the namespace that /proc was
// mounted in.
func inInitialPIDNamespace(fsys fs.FS) error {
	const initial = "pid:[4026531836]" // include/uapi/linux/nsfs.h, PID_NS_INIT_INO; the same since Linux 3.8
	namespace, err := fs.ReadLink(fsys, "proc/self/ns/pid")
	if err == nil && namespace != initial {
		err = fmt.Errorf("it does not work in another PID namespace: %w", errors.ErrUnsupported)
	}
	if err == nil {
		return nil
	}
	return &linux.Error{
		Op:     "trace migrations by " + string(TraceMigrateTask),
		Err:    err,
		Remedy: "run outside of the container, or in the host's PID namespace (docker run --pid=host)",
	}
}

// openMigrationRecords opens the counter of migrations with a record of each.
func openMigrationRecords(tid int, _ []int, fsys fs.FS) (*tracer[Move], error) {
	if err := probe(); err != nil {
		return nil, fmt.Errorf("trace migrations by %s: %w", TraceMigrations, err)
	}
	return openFollower(TraceMigrations, tid, fsys, unix.PerfEventAttr{
		Config:      unix.PERF_COUNT_SW_CPU_MIGRATIONS,
		Sample:      1,
		Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU,
	})
}

// openSwitches opens a dummy event for its records of context switches. These need no kernel mode, so every user may
// have them if perf_event_paranoid is at most 2.
func openSwitches(tid int, _ []int, fsys fs.FS) (*tracer[Move], error) {
	return openFollower(TraceSwitches, tid, fsys, unix.PerfEventAttr{
		Config:      unix.PERF_COUNT_SW_DUMMY,
		Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU,
		Bits:        unix.PerfBitContextSwitch | unix.PerfBitSampleIDAll | unix.PerfBitExcludeKernel,
	})
}

// openFollower opens a software event whose records give the thread's CPU.
func openFollower(method TraceMethod, tid int, fsys fs.FS, attr unix.PerfEventAttr) (*tracer[Move], error) {
	attr.Type = unix.PERF_TYPE_SOFTWARE
	e, err := openEvent(attr, tid, -1, ringBytes)
	if err != nil {
		return nil, traceError(method, err)
	}
	t := &tracer[Move]{events: []*event{e}}
	if err := e.enable(); err != nil {
		return nil, errors.Join(traceError(method, err), t.Close())
	}
	var f follower
	if f.cpu, err = threadCPU(fsys, tid); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	t.of = func(r record) (Move, bool, error) {
		if r.kind != unix.PERF_RECORD_SAMPLE && r.kind != unix.PERF_RECORD_SWITCH {
			return Move{}, false, nil
		}
		ns, cpu, err := parseSeen(r.body)
		if err != nil {
			return Move{}, false, err
		}
		m, moved := f.at(ns, cpu)
		return m, moved, nil
	}
	if _, _, err := t.Read(); err != nil { // a move while its CPU was read is recorded but not reported
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// parseSeen parses a sample, or a switch, which has only the fields added by sample_id_all: u64 time, u32 CPU, u32 0.
func parseSeen(body []byte) (ns int64, cpu int, err error) {
	if len(body) < 16 {
		return 0, 0, fmt.Errorf("%w: a sample of %d bytes", errRing, len(body))
	}
	return int64(binary.NativeEndian.Uint64(body)), int(int32(binary.NativeEndian.Uint32(body[8:]))), nil
}

// traceError returns the error of an event that could not be opened.
func traceError(method TraceMethod, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		remedy = "needs " + method.needs()
		if level, err := sysfs.ReadString(os.DirFS("/"), "proc/sys/kernel/perf_event_paranoid"); err == nil {
			remedy += fmt.Sprintf(" (perf_event_paranoid is %s)", level)
		}
	case errors.Is(err, unix.EMFILE):
		remedy = "each CPU takes a file descriptor: raise RLIMIT_NOFILE (ulimit -n)"
	case errors.Is(err, unix.ENOENT):
		err = fmt.Errorf("%w: this kernel has no such event: %w", err, errors.ErrUnsupported)
	}
	return &linux.Error{
		Op: fmt.Sprintf("trace migrations by %s (perf_event_open)", method), Err: err, Remedy: remedy,
	}
}

// timed is a parsed record with a time.
type timed interface {
	time() int64 // CLOCK_MONOTONIC in nanoseconds
}

func (m Move) time() int64 { return m.NS }

// tracer reads the rings of a method's events in the order of time.
type tracer[T timed] struct {
	events []*event
	of     func(record) (found T, ok bool, err error)
	held   []T    // for the next Read
	spare  []T    // the result of the last Read, for reuse once the caller has finished with it
	told   uint64 // lost records that Read has reported
}

// openOnEach opens an event on each CPU, for one thread or for all (-1). After an error none is open.
func (t *tracer[T]) openOnEach(
	method TraceMethod, attr unix.PerfEventAttr, tid int, cpus []int, filter string,
) error {
	for _, cpu := range cpus {
		e, err := openEvent(attr, tid, cpu, ringSize(len(cpus)))
		if err == nil {
			t.events = append(t.events, e)
		}
		if err == nil && filter != "" {
			err = e.setFilter(filter)
		}
		if err == nil {
			err = e.enable()
		}
		if err != nil {
			return errors.Join(traceError(method, fmt.Errorf("CPU %d: %w", cpu, err)), t.Close())
		}
	}
	if len(t.events) == 0 {
		return fmt.Errorf("trace migrations by %s: no CPU was given", method)
	}
	return nil
}

// Read reads all rings twice. The first pass may read one ring just before a record is written, and another ring after
// a later record; the second pass then finds the earlier record. The second pass may itself miss records in the same
// way, but none earlier than those that the first pass found. Only those are returned, and the rest with the next Read.
func (t *tracer[T]) Read() ([]T, uint64, error) {
	if len(t.events) == 0 {
		return nil, 0, &linux.Error{Op: "read the trace of migrations", Err: os.ErrClosed} // not the same as no moves
	}
	found, err := t.drain(append(t.spare, t.held...))
	last := int64(math.MinInt64)
	for _, f := range found {
		last = max(last, f.time())
	}
	if err == nil {
		found, err = t.drain(found)
	}
	if err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(found, func(a, b T) int { return cmp.Compare(a.time(), b.time()) })
	end, _ := slices.BinarySearchFunc(found, last+1, func(f T, ns int64) int { return cmp.Compare(f.time(), ns) })
	t.held = append(t.held[:0], found[end:]...)

	var sum uint64
	for _, e := range t.events {
		lost, err := e.lost()
		if err != nil {
			return nil, 0, err
		}
		sum += lost
	}
	lost := sum - t.told
	t.told = sum
	return found[:end], lost, nil
}

// drain appends the records of the rings.
func (t *tracer[T]) drain(found []T) ([]T, error) {
	for _, e := range t.events {
		err := e.drain(func(r record) error {
			f, ok, err := t.of(r)
			if ok && err == nil {
				found = append(found, f)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Close closes the events.
func (t *tracer[T]) Close() error {
	var errs []error
	for _, e := range t.events {
		errs = append(errs, e.close())
	}
	t.events = nil
	return errors.Join(errs...)
}
