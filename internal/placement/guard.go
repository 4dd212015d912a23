package placement

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
)

// state is what a thread can be left with.
type state struct {
	mask    cpuset.Set // where it may run: online CPUs
	allowed cpuset.Set // what to set to have mask again: offline CPUs are in it too
	nice    int
	sched   linux.Sched
}

func readState(tid int) (s state, err error) {
	if s.mask, err = linux.GetAffinity(tid); err != nil {
		return s, err
	}
	if s.nice, err = linux.GetNice(tid); err != nil {
		return s, err
	}
	s.sched, err = linux.GetSched(tid)
	return s, err
}

// guard remembers how the threads of this process were, and puts them back.
type guard struct {
	first   map[int]state // by thread id
	process state         // of the main thread: what a thread that came later should have
}

func newGuard() (*guard, error) {
	tids, err := linux.Tasks()
	if err != nil {
		return nil, err
	}
	g := &guard{first: make(map[int]state, len(tids))}
	for _, tid := range tids {
		s, err := readState(tid)
		if err == nil {
			s.allowed, err = linux.AllowedCPUs(tid)
		}
		if errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrNotExist) {
			continue // it ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		g.first[tid] = s
	}
	main, ok := g.first[os.Getpid()]
	if !ok {
		return nil, errors.New("the main thread is not among /proc/self/task")
	}
	g.process = main
	return g, nil
}

func (g *guard) want(tid int) state {
	if s, ok := g.first[tid]; ok {
		return s
	}
	return g.process
}

// Confine lets every thread of the process run on these CPUs only (or on more than before); threads to come inherit
// it. The returned function puts every thread back.
func Confine(cpus cpuset.Set) (restore func() error, err error) {
	g, err := newGuard()
	if err != nil {
		return nil, err
	}
	// A thread that is started meanwhile has its starter's old mask: once more, until a pass finds none.
	for confined := map[int]bool{}; ; {
		tids, err := linux.Tasks()
		if err != nil {
			return nil, errors.Join(err, g.restore())
		}
		seen := len(confined)
		for _, tid := range tids {
			if confined[tid] {
				continue
			}
			confined[tid] = true
			if err := setMask(tid, cpus); err != nil && !errors.Is(err, syscall.ESRCH) {
				return nil, errors.Join(fmt.Errorf("confine the run to CPUs %v: %w", cpus, err), g.restore())
			}
		}
		if len(confined) == seen {
			return g.restore, nil
		}
	}
}

// setMask sets a thread's mask and reads it back. The kernel cuts a mask down to the cpuset of its cgroup without a
// word.
func setMask(tid int, cpus cpuset.Set) error {
	if err := linux.SetAffinity(tid, cpus); err != nil {
		return err
	}
	if has, err := linux.HasAffinity(tid, cpus); has || err != nil {
		return err
	}
	got, err := linux.GetAffinity(tid)
	if err == nil {
		err = fmt.Errorf("asked for CPUs %v, the kernel answers %v", cpus, got)
	}
	return err
}

// restore gives every thread its first mask, nice and policy again. A thread that may not have them back (a raised
// nice needs a privilege to be lowered) is ended. What could not be undone is an error.
func (g *guard) restore() error {
	const rounds = 40
	var stuck map[int]error
	for round := range rounds {
		tids, err := linux.Tasks()
		if err != nil {
			return err
		}
		stuck = map[int]error{}
		for _, tid := range tids {
			if err := g.restoreThread(tid); err != nil && !errors.Is(err, syscall.ESRCH) {
				stuck[tid] = err
			}
		}
		if len(stuck) == 0 {
			return nil
		}
		if round > 0 {
			time.Sleep(time.Millisecond) // an ended thread leaves /proc a moment later
		}
		drain(stuck, len(tids)+2)
	}
	for tid, err := range stuck {
		return fmt.Errorf("thread %d (and %d more) could not be put back: %w", tid, len(stuck)-1, err)
	}
	return nil
}

func (g *guard) restoreThread(tid int) error {
	is, err := readState(tid)
	if err != nil {
		return err
	}
	want := g.want(tid)
	if is.sched != want.sched {
		if err := linux.SetSched(tid, want.sched); err != nil {
			return err
		}
	}
	if is.nice != want.nice {
		if err := linux.SetNice(tid, want.nice); err != nil {
			return err
		}
	}
	if !is.mask.Equal(want.mask) {
		return linux.SetAffinity(tid, want.allowed)
	}
	return nil
}

// drain ends threads: it occupies n threads at once, each by a goroutine locked to it, and lets those that are stuck
// end with their goroutine (runtime.LockOSThread: a goroutine that exits locked takes its thread along). The main
// thread cannot end, which is why cmd/gorun keeps it for main alone.
func drain(stuck map[int]error, n int) {
	var arrived, left sync.WaitGroup
	arrived.Add(n)
	left.Add(n)
	for range n {
		go func() {
			defer left.Done()
			runtime.LockOSThread()
			arrived.Done()
			arrived.Wait()
			if _, ends := stuck[linux.Gettid()]; !ends {
				runtime.UnlockOSThread()
			}
		}()
	}
	left.Wait()
}
