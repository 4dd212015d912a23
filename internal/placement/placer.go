package placement

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
)

// mismatchesKept bounds how many differences between what was asked and what the kernel answered are kept in words.
const mismatchesKept = 8

// Placer applies a plan to the threads of this process and undoes it.
type Placer struct {
	plan       Plan
	guard      *guard
	restorable bool // nice and policy can be put back on a thread that goes on living
	pinned     map[int]cpuset.Set

	seen sync.Map // thread id → CPU it was pinned to (or -1): the threads that perThread settings were applied to

	checked    atomic.Int64
	mu         sync.Mutex
	mismatches []string
	missed     int
}

// Open prepares the plan on this machine. It remembers how every thread is, and tries what the plan asks on a thread
// of its own, so that a refusal (a CPU outside the cpuset, a nice value without the privilege) is an error before any
// work begins.
func (p Plan) Open() (*Placer, error) {
	pl := &Placer{plan: p, restorable: true, pinned: map[int]cpuset.Set{}}
	for _, cpu := range append(append([]int(nil), p.Policy.PinCPUs...), p.Executors...) {
		pl.pinned[cpu] = cpuset.Of(cpu)
	}
	if p.untouched() {
		return pl, nil
	}
	var err error
	if pl.guard, err = newGuard(); err != nil {
		return nil, err
	}
	tried := make(chan error)
	go func() { tried <- pl.try() }()
	return pl, <-tried
}

// untouched tells whether the plan changes no setting of any thread.
func (p Plan) untouched() bool {
	policy := p.Policy
	policy.Lock = false
	return policy.IsNone() && p.Executors == nil
}

// try applies everything once on the calling goroutine's thread, which ends afterwards if it cannot be put back.
func (pl *Placer) try() error {
	runtime.LockOSThread()
	for _, mask := range pl.pinned {
		if err := setMask(0, mask); err != nil {
			return err
		}
	}
	if err := pl.setPriority(); err != nil {
		return err
	}
	switch err := pl.undo(); {
	case errors.Is(err, fs.ErrPermission):
		pl.restorable = false
		return nil
	case err != nil:
		return err
	}
	runtime.UnlockOSThread()
	return nil
}

// setPriority applies policy and nice to the calling thread and reads both back.
func (pl *Placer) setPriority() error {
	if want := pl.plan.Policy.Sched; want != nil {
		if err := linux.SetSched(0, *want); err != nil {
			return err
		}
		if got, err := linux.GetSched(0); err != nil {
			return err
		} else if got != *want {
			return fmt.Errorf("asked for policy %v, the kernel answers %v", want, got)
		}
	}
	if want := pl.plan.Policy.Nice; want != nil {
		if err := linux.SetNice(0, *want); err != nil {
			return err
		}
		if got, err := linux.GetNice(0); err != nil {
			return err
		} else if got != *want {
			return fmt.Errorf("asked for nice %d, the kernel answers %d", *want, got)
		}
	}
	return nil
}

// undo puts the calling thread back to what a thread of this process is.
func (pl *Placer) undo() error {
	policy := pl.plan.Policy
	if policy.Sched != nil {
		if err := linux.SetSched(0, pl.guard.process.sched); err != nil {
			return err
		}
	}
	if policy.Nice != nil {
		if err := linux.SetNice(0, pl.guard.process.nice); err != nil {
			return err
		}
	}
	if len(pl.pinned) > 0 {
		return linux.SetAffinity(0, pl.guard.process.allowed)
	}
	return nil
}

// Seat is where a worker (or an executor) has been put.
type Seat struct {
	CPU      int    // the CPU it is pinned to; -1: it floats
	Verified bool   // the kernel's answer is what was asked; false also when nothing was asked
	Mismatch string // what the kernel answered instead
	TID      int    // the thread that it is locked to; 0: it may change threads
	settings bool   // Leave has settings to undo
}

// Enter places the calling goroutine as a worker. Leave must be called on the same goroutine, and the goroutine must
// return soon after.
func (pl *Placer) Enter(worker int) Seat {
	policy := &pl.plan.Policy
	seat := Seat{CPU: pl.plan.CPU(worker)}
	if policy.IsNone() {
		return seat
	}
	runtime.LockOSThread() // what follows is about one thread, whether or not the worker keeps it
	pl.apply(&seat, worker)
	if !policy.Lock {
		runtime.UnlockOSThread()
		return seat
	}
	seat.TID = linux.Gettid()
	seat.settings = len(policy.PinCPUs) > 0 || policy.Nice != nil || policy.Sched != nil
	return seat
}

// EnterExecutor places the calling goroutine as the executor of one of the plan's CPUs.
func (pl *Placer) EnterExecutor(index int) Seat {
	runtime.LockOSThread()
	seat := Seat{CPU: pl.plan.Executors[index], TID: linux.Gettid(), settings: true}
	pl.check(&seat, index, setMask(0, pl.pinned[seat.CPU]), pl.setPriority())
	return seat
}

// apply gives the calling thread what the policy asks for the worker: its CPU, then what belongs to the thread.
func (pl *Placer) apply(seat *Seat, worker int) {
	policy := &pl.plan.Policy
	if policy.perThread() && seat.CPU < 0 {
		pl.applyThread(seat, worker)
		if !policy.Lock {
			return
		}
	}
	pinned := len(policy.PinCPUs) > 0
	if !pinned && policy.Nice == nil && policy.Sched == nil {
		return
	}
	var err error
	if pinned {
		err = setMask(0, pl.pinned[seat.CPU])
	}
	pl.check(seat, worker, err, pl.setPriority())
}

// applyThread sets what belongs to the calling thread, once: the CPU it runs on now, and nice and policy where no
// worker owns the thread.
func (pl *Placer) applyThread(seat *Seat, worker int) {
	tid := linux.Gettid()
	if cpu, ok := pl.seen.Load(tid); ok {
		seat.CPU, seat.Verified = cpu.(int), true
		return
	}
	var pinned, priority error
	if pl.plan.Policy.PinThread {
		seat.CPU = linux.Getcpu()
		pinned = setMask(0, cpuset.Of(seat.CPU))
	}
	if !pl.plan.Policy.Lock {
		priority = pl.setPriority()
	}
	pl.seen.Store(tid, seat.CPU)
	pl.check(seat, worker, pinned, priority)
}

// Follow is for a worker that was seen on another CPU than before: its goroutine may run on a thread that has not got
// the per-thread settings yet.
func (pl *Placer) Follow(seat *Seat, worker int) {
	if seat.TID == 0 && pl.plan.Policy.perThread() && len(pl.plan.Policy.PinCPUs) == 0 {
		runtime.LockOSThread()
		pl.applyThread(seat, worker)
		runtime.UnlockOSThread()
	}
}

// check counts one read-back and keeps what went wrong.
func (pl *Placer) check(seat *Seat, worker int, errs ...error) {
	pl.checked.Add(1)
	seat.Verified = true
	if err := errors.Join(errs...); err != nil {
		pl.Differs(seat, worker, err)
	}
}

// Differs records that a worker is not where it was put.
func (pl *Placer) Differs(seat *Seat, worker int, err error) {
	seat.Verified, seat.Mismatch = false, err.Error()
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.missed++
	if len(pl.mismatches) < mismatchesKept {
		pl.mismatches = append(pl.mismatches, fmt.Sprintf("worker %d: %v", worker, err))
	}
}

// Leave undoes Enter. Where the kernel does not allow that, the goroutine stays locked, and its thread ends with it.
func (pl *Placer) Leave(seat Seat) {
	if seat.TID == 0 {
		return // what was set stays with the thread until Restore
	}
	if seat.settings && (!pl.restorable || pl.undo() != nil) {
		pl.seen.Delete(seat.TID) // the number may come back as a new thread's
		return
	}
	runtime.UnlockOSThread()
}

// Restore puts every thread of the process back, once the workers are gone.
func (pl *Placer) Restore() error {
	pl.seen.Clear()
	if pl.guard == nil {
		return nil
	}
	return pl.guard.restore()
}

// Report tells how many read-backs were made since the last Report, how many differed, and the first of those in words.
func (pl *Placer) Report() (checked, missed int, mismatches []string) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	checked, missed, mismatches = int(pl.checked.Swap(0)), pl.missed, pl.mismatches
	pl.missed, pl.mismatches = 0, nil
	return checked, missed, mismatches
}
