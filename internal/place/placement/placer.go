package placement

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// mismatchesKept limits the number of mismatches that are kept as text.
const mismatchesKept = 8

// Placer applies a plan to the threads of this process and undoes it.
type Placer struct {
	plan       Assignment
	saved      *saved
	restorable bool             // a seat can be undone, so that its thread need not end
	seats      map[int]*Setting // setting of a worker's thread, by its CPU or floating
	undo       Setting          // undoes a seat
	mask       cpuset.Set       // of a thread that is not pinned; empty: unknown

	seen sync.Map // thread id → CPU it was pinned to (or -1): threads that have the perThread settings

	checked    atomic.Int64
	mu         sync.Mutex
	mismatches []string
	missed     int
}

// floating is the CPU of a seat that is not pinned.
const floating = -1

// Open prepares the plan on this machine. It records the settings of every thread, and tries the plan on a separate
// thread, so that a refusal (a CPU outside the cpuset, a nice value without privilege) is an error before any work
// starts.
func (p Assignment) Open() (*Placer, error) {
	seats := p.seats()
	pl := &Placer{plan: p, restorable: true, seats: seats}
	pl.mask, _ = linux.GetAffinity(os.Getpid()) // if it cannot be read it is not compared
	most := Setting{Nice: p.Policy.Nice, Sched: p.Policy.Sched}
	if len(seats) > 1 || p.Policy.PinThread {
		most.CPUs = p.CPUs
	}
	if most.Asked() == 0 {
		return pl, nil
	}
	var err error
	if pl.saved, err = save(&most); err != nil {
		return nil, err
	}
	pl.undo = *pl.saved.process
	if len(seats) == 1 { // the mask of --pin-thread stays with the thread until Restore
		pl.undo.CPUs, pl.undo.allowed = cpuset.Set{}, cpuset.Set{}
	}
	tried := make(chan error)
	go func() { tried <- pl.try() }()
	return pl, <-tried
}

// seats returns the setting of a worker's thread for each CPU to which workers or executors are pinned, and for
// floating.
func (p Assignment) seats() map[int]*Setting {
	seats := map[int]*Setting{floating: {Nice: p.Policy.Nice, Sched: p.Policy.Sched}}
	for _, cpu := range slices.Concat(p.Policy.PinCPUs, p.Executors) {
		seats[cpu] = &Setting{CPUs: cpuset.Of(cpu), Nice: p.Policy.Nice, Sched: p.Policy.Sched}
	}
	return seats
}

// try applies every seat once to the calling goroutine's thread, which ends afterwards if it cannot be restored.
func (pl *Placer) try() error {
	runtime.LockOSThread()
	for _, seat := range pl.seats {
		if err := seat.place(0); err != nil {
			return err
		}
	}
	if pl.plan.Policy.PinThread { // its CPU is known only when a worker runs
		if err := (&Setting{CPUs: pl.plan.CPUs}).place(0); err != nil {
			return err
		}
	}
	switch err := pl.undo.Apply(0); {
	case errors.Is(err, fs.ErrPermission):
		pl.restorable = false
		return nil
	case err != nil:
		return err
	}
	runtime.UnlockOSThread()
	return nil
}

// Seat is the placement of a worker or an executor.
type Seat struct {
	CPU      int    // the CPU it is pinned to; -1: it floats
	Verified bool   // the kernel's answer matches the request; also false if nothing was requested
	Mismatch string // the kernel's differing answer
	TID      int    // the thread that it is locked to; 0: it may change threads
}

// Enter places the calling goroutine as a worker. Leave must be called on the same goroutine, and the goroutine must
// return soon after.
func (pl *Placer) Enter(worker int) Seat {
	policy := &pl.plan.Policy
	seat := Seat{CPU: pl.plan.CPU(worker)}
	if policy.IsNone() {
		return seat
	}
	runtime.LockOSThread() // the following is about one thread, even if the worker does not keep it
	pl.apply(&seat, worker)
	if !policy.Lock {
		runtime.UnlockOSThread()
		return seat
	}
	seat.TID = linux.Gettid()
	return seat
}

// EnterExecutor places the calling goroutine as the executor of one of the plan's CPUs.
func (pl *Placer) EnterExecutor(index int) Seat {
	runtime.LockOSThread()
	seat := Seat{CPU: pl.plan.Executors[index], TID: linux.Gettid()}
	pl.check(&seat, index, pl.seats[seat.CPU].place(0))
	return seat
}

// apply applies the policy's settings for the worker to the calling thread: its CPU, then the thread's settings.
func (pl *Placer) apply(seat *Seat, worker int) {
	policy := &pl.plan.Policy
	if policy.perThread() && seat.CPU < 0 {
		pl.applyThread(seat, worker)
		if !policy.Lock {
			return
		}
	}
	cpu := floating
	if len(policy.PinCPUs) > 0 {
		cpu = seat.CPU
	} else if policy.Nice == nil && policy.Sched == nil {
		return
	}
	pl.check(seat, worker, pl.seats[cpu].place(0))
}

// applyThread applies the settings of the calling thread, once: the CPU that it runs on now, and nice and policy if no
// worker owns the thread.
func (pl *Placer) applyThread(seat *Seat, worker int) {
	tid := linux.Gettid()
	if cpu, ok := pl.seen.Load(tid); ok {
		seat.CPU, seat.Verified = cpu.(int), true
		return
	}
	var setting Setting
	if !pl.plan.Policy.Lock {
		setting = *pl.seats[floating]
	}
	if pl.plan.Policy.PinThread {
		seat.CPU = linux.Getcpu()
		setting.CPUs = cpuset.Of(seat.CPU)
	}
	pl.seen.Store(tid, seat.CPU)
	pl.check(seat, worker, setting.place(0))
}

// Follow is called for a worker that was seen on a different CPU: its goroutine may now run on a thread without the
// per-thread settings.
func (pl *Placer) Follow(seat *Seat, worker int) {
	if seat.TID == 0 && pl.plan.Policy.perThread() && len(pl.plan.Policy.PinCPUs) == 0 {
		runtime.LockOSThread()
		pl.applyThread(seat, worker)
		runtime.UnlockOSThread()
	}
}

// ReadBack reads back the setting of the calling thread, which runs a worker. If the goroutine floats, that is the
// setting of every thread, or one that an earlier worker applied to this thread.
func (pl *Placer) ReadBack(seat *Seat, worker int) {
	policy := &pl.plan.Policy
	if policy.Leaks() {
		return // the thread's mask is left to chance
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cpu := seat.CPU
	if seat.TID == 0 && policy.perThread() {
		of, given := pl.seen.Load(linux.Gettid())
		if !given {
			return // Follow applies it
		}
		cpu = of.(int)
	}
	asked := *pl.seats[floating]
	if asked.CPUs = pl.mask; cpu >= 0 {
		asked.CPUs = cpuset.Of(cpu)
	}
	if asked.Asked() == 0 {
		return
	}
	pl.checked.Add(1)
	if err := asked.verify(0); err != nil {
		pl.Differs(seat, worker, err)
	}
}

// check counts one read-back and records a mismatch.
func (pl *Placer) check(seat *Seat, worker int, err error) {
	pl.checked.Add(1)
	seat.Verified = true
	if err != nil {
		pl.Differs(seat, worker, err)
	}
}

// Differs records that a worker's placement differs from the request.
func (pl *Placer) Differs(seat *Seat, worker int, err error) {
	seat.Verified, seat.Mismatch = false, err.Error()
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.missed++
	if len(pl.mismatches) < mismatchesKept {
		pl.mismatches = append(pl.mismatches, fmt.Sprintf("worker %d: %v", worker, err))
	}
}

// Leave undoes Enter. If the kernel does not allow that, the goroutine stays locked and its thread ends with it.
func (pl *Placer) Leave(seat Seat) {
	if seat.TID == 0 {
		return // the thread keeps the settings until Restore
	}
	if !pl.restorable || pl.undo.Apply(0) != nil {
		pl.seen.Delete(seat.TID) // the TID may be reused
		return
	}
	runtime.UnlockOSThread()
}

// Restore restores every thread of the process, after the workers have ended.
func (pl *Placer) Restore() error {
	pl.seen.Clear()
	if pl.saved == nil {
		return nil
	}
	return pl.saved.restore()
}

// Report returns the number of read-backs since the last Report, the number of mismatches, and the first of these as
// text.
func (pl *Placer) Report() (checked, missed int, mismatches []string) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	checked, missed, mismatches = int(pl.checked.Swap(0)), pl.missed, pl.mismatches
	pl.missed, pl.mismatches = 0, nil
	return checked, missed, mismatches
}
