package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"gorun/internal/linux"
	"gorun/internal/sysfs"
)

// schedDebug sums a field of /proc/self/task/TID/sched.
type schedDebug struct {
	fsys  fs.FS // rooted at /
	field string
	sum   uint64
	last  map[string]uint64 // by TID
}

// OpenSchedDebug opens the scheduler's debugging figures, which need no privilege. On kernels without
// CONFIG_SCHED_DEBUG the error wraps errors.ErrUnsupported. A Read takes 15-25 µs per thread.
func OpenSchedDebug(event Event) (*Counter, error) {
	s, err := openSchedDebug(os.DirFS("/"), event)
	if err != nil {
		return nil, err
	}
	return &Counter{source: s, method: SchedDebug}, nil
}

func openSchedDebug(fsys fs.FS, event Event) (*schedDebug, error) {
	s := &schedDebug{fsys: fsys}
	switch event {
	case Migrations:
		s.field = "se.nr_migrations"
	case ContextSwitches:
		s.field = "nr_switches"
	default:
		return nil, fmt.Errorf("%v cannot be counted", event)
	}
	if _, err := s.Read(); err != nil {
		return nil, err
	}
	s.sum = 0 // events before the counter was opened do not count
	return s, nil
}

// Read adds each thread's events since the last Read; a new thread starts at 0.
func (s *schedDebug) Read() (uint64, error) {
	const tasks = "proc/self/task"
	threads, err := fs.ReadDir(s.fsys, tasks)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	seen := make(map[string]uint64, len(threads))
	for _, thread := range threads {
		tid := thread.Name()
		n, err := readSched(s.fsys, path.Join(tasks, tid, "sched"), s.field)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended; without CONFIG_SCHED_DEBUG all threads seem to have ended
		}
		if err != nil {
			return 0, err
		}
		seen[tid] = n
		if before := s.last[tid]; n >= before {
			s.sum += n - before
		} else {
			s.sum += n // a new thread with the TID of an ended one
		}
	}
	if len(seen) == 0 {
		return 0, &linux.Error{
			Op:     "read /proc/self/task/TID/sched",
			Err:    fmt.Errorf("no thread has this file: %w", errors.ErrUnsupported),
			Remedy: "needs Linux with CONFIG_SCHED_DEBUG",
		}
	}
	s.last = seen
	return s.sum, nil
}

// Close does nothing.
func (s *schedDebug) Close() error { return nil }

// ThreadMigrations returns the number of migrations of a thread of any process since its start. Unlike a counter of
// OpenSoftware it does not slow the thread. It returns an error on kernels without CONFIG_SCHED_DEBUG, and for a thread
// that has ended.
func ThreadMigrations(tid int) (uint64, error) {
	return readSched(os.DirFS("/"), fmt.Sprintf("proc/%d/sched", tid), "se.nr_migrations")
}

func readSched(fsys fs.FS, name, field string) (uint64, error) {
	text, err := sysfs.ReadString(fsys, name)
	if err != nil {
		return 0, err
	}
	n, err := parseSched(text, field)
	if err != nil {
		return 0, sysfs.Malformed(name, "%v", err)
	}
	return n, nil
}

// parseSched returns a field of /proc/PID/sched (kernel/sched/debug.c, proc_sched_show_task): lines of "name : number".
func parseSched(text, field string) (uint64, error) {
	for line := range strings.Lines(text) {
		name, number, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) != field {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%.60q has no number", line)
		}
		return n, nil
	}
	return 0, fmt.Errorf("no field %s", field)
}
