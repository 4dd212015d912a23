// Package perf counts and records migrations, the moves of threads between CPUs, records page faults, and counts events of CPUs
// (Counters). There are three ways to see migrations:
//
//   - The kernel's counter of migrations (perf_event_open(2)), over all threads of this process (OpenMigrations), or with
//     a record of each migration of one thread (OpenTrace). It needs CAP_PERFMON, or kernel.perf_event_paranoid of at
//     most 1.
//   - Records of context switches, which have the CPU, of one thread (OpenTrace) or of a command and its descendants
//     (OpenFamily). They need CAP_PERFMON, or kernel.perf_event_paranoid of at most 2.
//   - A thread's own readings of its CPU (MovesOf), and its count in /proc/TID/sched (ThreadMigrations, OpenMigrations).
//     They need nothing.
//
// If a thread is moved again before it runs, only /proc/TID/sched counts both moves.
package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
)

// Method is a way to see migrations, as results name it.
type Method string

// The methods.
const (
	// Software is the kernel's counter. It is exact: the counts of ended threads stay in the sum.
	Software Method = "perf"
	// SchedDebug is /proc/self/task/TID/sched, which needs CONFIG_SCHED_DEBUG. A thread's migrations between the last Read
	// and its end are lost.
	SchedDebug Method = "sched-debug"
	// TraceMigrations is a record of each migration that the kernel counts.
	TraceMigrations Method = "migrations"
	// TraceSwitches is a record of each context switch.
	TraceSwitches Method = "switches"
	// TraceReads is the thread's own readings. Moves between two of them are missed.
	TraceReads Method = "reads"
)

// Counter counts the migrations of all present and future threads of this process. It is for one goroutine at a time.
type Counter struct {
	source
	Method   Method
	Degraded error // why the kernel's counter is not available, with a Hint; nil when it is in use
}

// source reads the number of migrations of the process's threads since the source was opened.
type source interface {
	Read() (uint64, error)
	Close() error
}

// OpenMigrations opens the kernel's counter for every thread of the process, else /proc/self/task/TID/sched. The error
// names the cause for each. If a privilege for the first is missing it wraps fs.ErrPermission, and it has a Hint.
//
// The kernel's counter takes a file descriptor and 4-8 µs per thread, and some milliseconds for the first one on the
// machine: open it while there are dozens of threads, not thousands. A Read takes 0.5 µs per thread that existed at the
// opening, and 0.08 µs per newer thread. Counting also slows the threads: by 2.7 µs of CPU time for the life of each new
// thread (13.7 without, 16.4 with), so that 50,000 threads take 0.14 s more, and by 0.33 µs per context switch (0.98
// without, 1.31 with). A Read of /proc/self/task/TID/sched takes 15-25 µs per thread. Minima of 9, on 2 CPUs with Linux
// 6.18.
func OpenMigrations() (*Counter, error) {
	exact, err := openSoftware()
	if err == nil {
		return &Counter{source: exact, Method: Software}, nil
	}
	sched, schedErr := openSched(os.DirFS("/"))
	if schedErr != nil {
		return nil, errors.Join(err, schedErr)
	}
	return &Counter{source: sched, Method: SchedDebug, Degraded: err}, nil
}

// software has a counter for each thread that existed when it was opened. Each also counts the threads started since by
// its thread (attr.inherit).
type software struct {
	fds []int
}

// attempts limits the listings of the threads, repeated until no thread appears while the counters are opened.
const attempts = 10

func openSoftware() (*software, error) {
	// A thread that appears between the listing and the opening may or may not have inherited a counter, depending on
	// which thread started it. Every thread is counted once only if the list is unchanged afterwards.
	for range attempts {
		before, err := linux.Tasks()
		if err != nil {
			return nil, err
		}
		s, err := openThreads(before)
		if err != nil {
			return nil, err
		}
		after, err := linux.Tasks()
		isNew := func(tid int) bool { return !slices.Contains(before, tid) }
		if err == nil && !slices.ContainsFunc(after, isNew) {
			return s, nil
		}
		if err := errors.Join(err, s.Close()); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("count migrations: new threads kept appearing while the counters were opened")
}

// openThreads opens a counter for each of the threads that have not ended. The counters include kernel
// mode, in which all migrations happen: if that is not allowed, the kernel returns an error here, instead of a counter
// that stays 0.
func openThreads(tids []int) (*software, error) {
	attr := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config: unix.PERF_COUNT_SW_CPU_MIGRATIONS,
		Bits:   unix.PerfBitInherit,
	}
	s := &software{fds: make([]int, 0, len(tids))}
	for _, tid := range tids {
		fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return nil, errors.Join(openError("count migrations", err, 1), s.Close())
		}
		s.fds = append(s.fds, fd)
	}
	return s, nil
}

// openError returns the error of an event that could not be opened, which the kernel allows with
// kernel.perf_event_paranoid of at most a level.
func openError(op string, err error, level int) error {
	remedy := ""
	switch {
	case errors.Is(err, fs.ErrPermission):
		remedy = fmt.Sprintf("needs sysctl kernel.perf_event_paranoid=%d or CAP_PERFMON", level)
		if is, err := sysfs.ReadString(os.DirFS("/"), "proc/sys/kernel/perf_event_paranoid"); err == nil {
			remedy += fmt.Sprintf(" (perf_event_paranoid is %s)", is)
		}
	case errors.Is(err, unix.EMFILE):
		remedy = "it takes a file descriptor for each thread or CPU: raise RLIMIT_NOFILE (ulimit -n)"
	case errors.Is(err, unix.ENOENT):
		err = fmt.Errorf("%w: this kernel has no such event: %w", err, errors.ErrUnsupported)
	}
	return &linux.Error{Op: op + " (perf_event_open)", Err: err, Remedy: remedy}
}

// Read returns the sum over the threads that existed at the opening and all that they have started.
func (s *software) Read() (uint64, error) {
	const op = "read a counter of migrations"
	if len(s.fds) == 0 {
		return 0, &linux.Error{Op: op, Err: os.ErrClosed} // an unknown count is not 0
	}
	var sum uint64
	for _, fd := range s.fds {
		var buf [8]byte
		n, err := unix.Read(fd, buf[:])
		if err == nil && n != len(buf) {
			err = unix.EIO // the kernel returns whole counts, or nothing from a counter in error state
		}
		if err != nil {
			return 0, &linux.Error{Op: op, Err: err}
		}
		sum += binary.NativeEndian.Uint64(buf[:])
	}
	return sum, nil
}

// Close closes the counters.
func (s *software) Close() error {
	var errs []error
	for _, fd := range s.fds {
		errs = append(errs, unix.Close(fd))
	}
	s.fds = nil
	return errors.Join(errs...)
}
