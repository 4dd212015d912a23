package placement

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// saved records the settings of this process's threads before a setting changes them, and restores them.
type saved struct {
	first   map[int]*Setting // by TID
	process *Setting         // of the main thread: restored on threads that were started later
}

func save(asked *Setting) (*saved, error) {
	tids, err := linux.Tasks()
	if err != nil {
		return nil, err
	}
	g := &saved{first: make(map[int]*Setting, len(tids))}
	for _, tid := range tids {
		s, err := asked.current(tid)
		if errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return nil, err
		}
		g.first[tid] = &s
	}
	if g.process = g.first[os.Getpid()]; g.process == nil {
		return nil, errors.New("the main thread is not among /proc/self/task")
	}
	return g, nil
}

func (g *saved) want(tid int) *Setting {
	if s, ok := g.first[tid]; ok {
		return s
	}
	return g.process
}

// ApplyAll applies the setting to every thread of this process, reads it back, and returns when all threads have it; new
// threads inherit it. The returned function restores every thread. A memory policy cannot be applied to another thread.
func (s *Setting) ApplyAll() (restore func() error, err error) {
	g, err := save(s)
	if err != nil {
		return nil, err
	}
	// A thread started during a pass may have inherited the old setting: repeat until a pass changes no thread.
	for settled := false; !settled; {
		tids, err := linux.Tasks()
		settled = true
		for _, tid := range tids {
			if err != nil {
				break
			}
			if s.verify(tid) == nil {
				continue
			}
			settled = false
			if err = s.place(tid); errors.Is(err, syscall.ESRCH) {
				err = nil // it has ended
			}
		}
		if err != nil {
			return nil, errors.Join(err, g.restore())
		}
	}
	return g.restore, nil
}

// Usable reports whether a thread can be given all of these CPUs now. A CPU that comes online is in the masks of processes before
// it is in their cpusets, and only then can a thread be moved to it (cpuset_hotplug_workfn, kernel/cgroup/cpuset.c). It tries
// this with a thread of its own, which ends.
func Usable(cpus cpuset.Set) bool {
	var is cpuset.Set
	err := OnThread(func() error {
		err := linux.SetAffinity(0, cpus)
		is, _ = linux.GetAffinity(0) // it works if the call before did
		return err
	})
	return err == nil && cpus.Minus(is).Empty() || err != nil && !errors.Is(err, syscall.EINVAL)
}

// Confine sets the affinity of every thread of this process; new threads inherit it. The returned function restores
// every thread.
func Confine(cpus cpuset.Set) (restore func() error, err error) {
	s := Setting{CPUs: cpus}
	if restore, err = s.ApplyAll(); err != nil {
		return nil, fmt.Errorf("confine the run to CPUs %v: %w", cpus, err)
	}
	return restore, nil
}

// restore restores every thread. One that cannot be restored (lowering a nice value needs a
// privilege) is ended. It returns an error for what could not be undone.
func (g *saved) restore() error {
	const rounds = 40
	var stuck map[int]error
	for round := range rounds {
		tids, err := linux.Tasks()
		if err != nil {
			return err
		}
		stuck = map[int]error{}
		for _, tid := range tids {
			if err := g.want(tid).setMissing(tid); err != nil && !errors.Is(err, syscall.ESRCH) {
				stuck[tid] = err
			}
		}
		if len(stuck) == 0 {
			return nil
		}
		if round > 0 {
			time.Sleep(time.Millisecond) // an ended thread stays in /proc for a moment
		}
		drain(stuck, len(tids)+2)
	}
	for tid, err := range stuck {
		return fmt.Errorf("thread %d (and %d more) could not be put back: %w", tid, len(stuck)-1, err)
	}
	return nil
}

// drain ends threads: it occupies n threads at once, each with a goroutine locked to it, and lets the stuck ones end
// with their goroutine (runtime.LockOSThread: a goroutine that exits while locked ends its thread). The main thread
// cannot end, so cmd/gorun uses it only for main.
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
