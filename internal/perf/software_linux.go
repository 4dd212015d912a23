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

// attempts bounds how often the threads are listed until none appears while their counters are opened.
const attempts = 10

// software is one counter a thread that existed when it was opened; each counts the threads too that its own has
// started since (attr.inherit).
type software struct {
	fds []int
}

// OpenSoftware opens the kernel's software counters for every thread of the process; threads to come are counted with
// the thread that starts them. A missing privilege is an error that wraps fs.ErrPermission and has a Hint.
//
// It takes a file descriptor and 4-8 µs a thread, and once some milliseconds for the first counter of the process and
// the probe: open it while there are dozens of threads, not thousands. A Read takes 0.5 µs a thread that was there, and
// 0.08 µs a thread that came since. The counted pay too: 2.7 µs of CPU time for the life of each new thread (13.7
// without, 16.4 with), so that 50,000 threads take 0.14 s more; and 0.33 µs a context switch (0.98 without, 1.31 with).
// Measured by BenchmarkBurden and its neighbours, minima of 9, on 2 CPUs with Linux 6.18.
func OpenSoftware(event Event) (*Counter, error) {
	config, err := event.config()
	if err != nil {
		return nil, err
	}
	if err := probe(); err != nil {
		return nil, err
	}
	// A thread that appears between the listing and the opening may or may not have inherited a counter, depending on
	// which thread started it. Only when the list was still the same afterwards is every thread counted once.
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

// subset tells whether every number of a is in b; both ascend.
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

// openThread opens a counter of one thread on whatever CPU it runs. It counts in kernel mode: where that is not
// allowed, the kernel says so here, and does not give a counter that stays 0.
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

// permissionRemedy says which privilege is missing, with the level in force where it can be read.
func permissionRemedy() string {
	remedy := "needs sysctl kernel.perf_event_paranoid=1 or CAP_PERFMON"
	level, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err == nil {
		remedy += fmt.Sprintf(" (perf_event_paranoid is %s)", strings.TrimSpace(string(level)))
	}
	return remedy
}

// Read returns the sum over the threads that were there and all they have started.
func (s *software) Read() (uint64, error) {
	if len(s.fds) == 0 {
		return 0, &linux.Error{Op: "read a software counter", Err: os.ErrClosed} // no count is not a count of 0
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
		err = unix.EIO // the kernel gives whole counts, or nothing from a counter in error
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

// probe finds out whether the counters count, on another goroutine: a caller that is locked to its thread is not moved.
// A success is remembered; a refusal may be lifted meanwhile and is not.
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

// probeThread moves the calling thread between two of its CPUs and looks at whether its counter moves too. With one CPU
// there is nothing to move between; that the counter opened, kernel mode included, must then do.
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
