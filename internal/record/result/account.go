package result

import "math"

// Account says where the time of a sample went, in nanoseconds. Running, Waiting and Blocked are those of one thread, and add up to the wall
// time: of a started program its first thread, from its start to its end; of copies, that of the one that ends last; of gorun's own
// work, the busiest thread. Of other threads and processes, only the CPU time is known when they have ended: that is Others.
// What else they did is known only where gorun looked at them while they ran (--why).
type Account struct {
	// On a CPU; and ready to run, while another thread had the CPU (schedstat, Documentation/scheduler/sched-stats.rst).
	Running uint64 `json:"running" figure:"ns" is:"The time of the thread on a CPU."`
	Waiting uint64 `json:"waiting" figure:"ns" is:"The time in which the thread was ready to run, and another one had the CPU."`
	// Neither: asleep, stopped, throttled by a quota, or while the hypervisor had the CPU.
	Blocked uint64 `json:"blocked" figure:"ns" is:"The rest of the wall time."`
	Others  uint64 `json:"others" figure:"ns" is:"The CPU time of other threads and processes."`
	// The time in which other threads and processes were ready to run, each up to the last look at it: a lower bound, in seconds of threads, of
	// which any number can wait at the same time. nil: nobody looked.
	OthersWaiting *uint64 `json:"others_waiting,omitempty" figure:"ns" is:"The time for which other threads and processes waited for a CPU, as far as it was seen."`
	// The part of Others after the last look, of which it is not known for how long they also waited. nil: nobody looked.
	OthersUnseen *uint64 `json:"others_unseen,omitempty" figure:"ns" is:"The CPU time of other threads and processes after they were last looked at."`
	// The part of Running and Others that was in the kernel; the rest was in user mode. The kernel finds it by looking at a thread at each tick of
	// its clock (kernel/sched/cputime.c).
	Kernel *uint64 `json:"kernel,omitempty" figure:"ns" is:"The part of the CPU time that was in the kernel."`
}

// AccountOf returns the account of a sample with this wall time, in which the thread ran and waited for this long, and all threads and
// processes used this much CPU time in user mode and in the kernel; all in seconds. It returns nil if the times contradict each other.
func AccountOf(wall, ran, waited, user, kernel float64) *Account {
	a := Account{Running: ns(ran), Waiting: ns(waited)}
	if a.Running+a.Waiting > ns(wall) {
		return nil
	}
	a.Blocked = ns(wall) - a.Running - a.Waiting
	if used := ns(user) + ns(kernel); used > a.Running {
		a.Others = used - a.Running
	}
	if user+kernel > 0 {
		a.Kernel = new(uint64(math.Round(kernel / (user + kernel) * float64(a.CPU()))))
	}
	return &a
}

// Saw adds what looks have found of other threads and processes: they ran and waited for this long, in seconds.
func (a *Account) Saw(ran, waited float64) {
	a.OthersWaiting, a.OthersUnseen = new(ns(waited)), new(a.Others-min(a.Others, ns(ran)))
}

// ns returns seconds in nanoseconds.
func ns(seconds float64) uint64 { return uint64(math.Round(max(0, seconds) * 1e9)) }

// CPU is the CPU time of all threads and processes.
func (a *Account) CPU() uint64 { return a.Running + a.Others }

// Wall is the time that the parts of the thread add up to.
func (a *Account) Wall() uint64 { return a.Running + a.Waiting + a.Blocked }

// User is the part of the CPU time in user mode; nil: not known.
func (a *Account) User() *uint64 {
	if a.Kernel == nil {
		return nil
	}
	return new(a.CPU() - *a.Kernel)
}
