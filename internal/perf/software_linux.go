package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"gorun/internal/linux"
)

// attempts limits the listings of the threads, repeated until no thread appears while the counters are opened.
const attempts = 10

// software has one counter per thread that existed when it was opened. Each also counts the threads started since by
// its thread (attr.inherit).
type software struct {
	fds []int
}

// OpenSoftware opens the kernel's software counters for every thread of the process; new threads are counted with the
// thread that starts them. A missing privilege is an error that wraps fs.ErrPermission and has a Hint.
//
// It takes a file descriptor and 4-8 µs per thread, and some milliseconds once for the first counter of the process and
// the probe: open it while there are dozens of threads, not thousands. A Read takes 0.5 µs per thread that existed at
// the opening, and 0.08 µs per newer thread. Counting also slows the threads: by 2.7 µs of CPU time for the life of
// each new thread (13.7 without, 16.4 with), so that 50,000 threads take 0.14 s more, and by 0.33 µs per context switch
// (0.98 without, 1.31 with). Measured by BenchmarkBurden and its neighbours, minima of 9, on 2 CPUs with Linux 6.18.
func OpenSoftware(event Event) (*Counter, error) {
	config, err := event.config()
	if err != nil {
		return nil, err
	}
	if err := probe(); err != nil {
		return nil, err
	}
	// A thread that appears between the listing and the opening may or may not have inherited a counter, depending on
	// which thread started it. Every thread is counted once only if the list is unchanged afterwards.
	for range attempts {
		before, err := linux.Tasks()
		if err != nil {
			return nil, err
		}
		s, err := openThreads(config, before)
		if err != nil {
			return nil, err
		}
		after, err := linux.Tasks()
		if err == nil && subset(after, before) {
			return &Counter{source: s, method: Software}, nil
		}
		if err := errors.Join(err, s.Close()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("count %v: new threads kept appearing while the counters were opened", event)
}

// subset reports whether every number of a is in b; both ascend.
func subset(a, b []int) bool {
	for _, n := range a {
		if _, found := slices.BinarySearch(b, n); !found {
			return false
		}
	}
	return true
}

// config returns the event's number (perf_event_open(2), PERF_TYPE_SOFTWARE).
func (e Event) config() (uint64, error) {
	switch e {
	case Migrations:
		return unix.PERF_COUNT_SW_CPU_MIGRATIONS, nil
	case ContextSwitches:
		return unix.PERF_COUNT_SW_CONTEXT_SWITCHES, nil
	}
	return 0, fmt.Errorf("%v cannot be counted", e)
}

// openThreads opens a counter for each of the threads; those that have ended are left out.
func openThreads(config uint64, tids []int) (*software, error) {
	s := &software{fds: make([]int, 0, len(tids))}
	for _, tid := range tids {
		fd, err := openThread(config, tid, unix.PerfBitInherit)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.fds = append(s.fds, fd)
	}
	return s, nil
}

// openThread opens a counter of one thread on all CPUs. It counts in kernel mode: if that is not allowed the kernel
// returns an error here, instead of a counter that stays 0.
func openThread(config uint64, tid int, bits uint64) (int, error) {
	attr := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config: config,
		Bits:   bits,
	}
	fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		return fd, nil
	}
	remedy := ""
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		remedy = permissionRemedy()
	case errors.Is(err, unix.EMFILE):
		remedy = "each thread takes a file descriptor: raise RLIMIT_NOFILE (ulimit -n)"
	case errors.Is(err, unix.ENOENT):
		err = fmt.Errorf("%w: this kernel has no such counter: %w", err, errors.ErrUnsupported)
	}
	return -1, &linux.Error{Op: "open a software counter (perf_event_open)", Err: err, Remedy: remedy}
}

// permissionRemedy names the missing privilege, with the current level if it can be read.
func permissionRemedy() string {
	remedy := "needs sysctl kernel.perf_event_paranoid=1 or CAP_PERFMON"
	level, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err == nil {
		remedy += fmt.Sprintf(" (perf_event_paranoid is %s)", strings.TrimSpace(string(level)))
	}
	return remedy
}

// Read returns the sum over the threads that existed at the opening and all that they have started.
func (s *software) Read() (uint64, error) {
	if len(s.fds) == 0 {
		return 0, &linux.Error{Op: "read a software counter", Err: os.ErrClosed} // an unknown count is not 0
	}
	var sum uint64
	for _, fd := range s.fds {
		n, err := readCount(fd)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func readCount(fd int) (uint64, error) {
	var buf [8]byte
	n, err := unix.Read(fd, buf[:])
	if err == nil && n != len(buf) {
		err = unix.EIO // the kernel returns whole counts, or nothing from a counter in error state
	}
	if err != nil {
		return 0, &linux.Error{Op: "read a software counter", Err: err}
	}
	return binary.NativeEndian.Uint64(buf[:]), nil
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

var probed struct {
	sync.Mutex
	works bool
}

// probe tests whether the counters count, on another goroutine, so that a caller that is locked to its thread is not
// moved. A success is cached; a refusal is not, since it may be lifted.
func probe() error {
	probed.Lock()
	defer probed.Unlock()
	if probed.works {
		return nil
	}
	outcome := make(chan error)
	go func() { outcome <- probeThread() }()
	err := <-outcome
	probed.works = err == nil
	return err
}

// probeThread moves the calling thread between two of its CPUs and checks that its counter counts the moves. With one
// CPU it only checks that the counter can be opened, including kernel mode.
func probeThread() (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := openThread(unix.PERF_COUNT_SW_CPU_MIGRATIONS, 0, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	allowed, err := linux.GetAffinity(0)
	if err != nil || allowed.First() == allowed.Last() {
		return err
	}
	stay := func(int) error { return nil }
	if err := linux.VisitCPUs([]int{allowed.First(), allowed.Last(), allowed.First()}, stay); err != nil {
		return err
	}
	moves, err := readCount(fd)
	if err == nil && moves < 2 {
		err = fmt.Errorf("the kernel's counter of migrations does not count: a thread moved twice and it shows %d: %w",
			moves, errors.ErrUnsupported)
	}
	return err
}
