package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"syscall"

	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
)

// schedDebug sums the migrations in /proc/self/task/TID/sched.
type schedDebug struct {
	fsys fs.FS // rooted at /
	sum  uint64
	last map[string]uint64 // by TID
}

// openSched opens the count of the scheduler's debugging figures. On kernels without CONFIG_SCHED_DEBUG the error wraps
// errors.ErrUnsupported.
func openSched(fsys fs.FS) (*schedDebug, error) {
	s := &schedDebug{fsys: fsys}
	if _, err := s.Read(); err != nil {
		return nil, err
	}
	s.sum = 0 // migrations before the opening do not count
	return s, nil
}

// Read adds each thread's migrations since the last Read; a new thread starts at 0.
func (s *schedDebug) Read() (uint64, error) {
	const tasks = "proc/self/task"
	threads, err := fs.ReadDir(s.fsys, tasks)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	seen := make(map[string]uint64, len(threads))
	for _, thread := range threads {
		tid := thread.Name()
		n, err := readSched(s.fsys, path.Join(tasks, tid, "sched"))
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
			Err:    fmt.Errorf("no thread has its se.nr_migrations: %w", errors.ErrUnsupported),
			Remedy: "needs Linux with CONFIG_SCHED_DEBUG",
		}
	}
	s.last = seen
	return s.sum, nil
}

// Close does nothing.
func (*schedDebug) Close() error { return nil }

// ThreadMigrations returns the number of migrations of a thread of any process since its start. Unlike the kernel's
// counter, it does not slow the thread. It returns an error on kernels without CONFIG_SCHED_DEBUG, and for a thread
// that has ended.
func ThreadMigrations(tid int) (uint64, error) {
	return readSched(sysfs.This(), fmt.Sprintf("proc/%d/sched", tid))
}

// readSched returns the migrations in a /proc/PID/sched (kernel/sched/debug.c, proc_sched_show_task).
func readSched(fsys fs.FS, name string) (uint64, error) {
	text, err := sysfs.ReadField(fsys, name, "se.nr_migrations")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, sysfs.Malformed(name, "%.60q is no number of migrations", text)
	}
	return n, nil
}
