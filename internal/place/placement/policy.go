// Package placement places threads and reads the placement back. A Setting is for one thread, or for each thread of a
// process: it is applied, read back and undone. For a pool of workers a Policy (the request) becomes a Plan (the
// placement of each worker, on this machine or a captured one), and a Plan is opened as a Placer, which applies
// settings to the threads of this process and restores them.
package placement

import (
	"strings"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// Policy is the requested placement of every worker. The zero Policy requests nothing.
type Policy struct {
	Lock      bool         // a worker's goroutine keeps its thread (runtime.LockOSThread)
	PinCPUs   []int        // worker i is pinned to PinCPUs[i mod len]; without Lock the mask leaks with the thread
	PinThread bool         // each thread is pinned to the CPU it first runs a worker on
	Nice      *int         // of each thread that runs a worker
	Sched     *linux.Sched // of each thread that runs a worker
}

// IsNone reports whether the policy requests nothing.
func (p Policy) IsNone() bool {
	return !p.Lock && len(p.PinCPUs) == 0 && !p.PinThread && p.Nice == nil && p.Sched == nil
}

// Leaks reports whether a pinned goroutine may leave its thread: the original program's second feature.
func (p Policy) Leaks() bool { return len(p.PinCPUs) > 0 && !p.Lock }

// perThread reports whether settings are applied once to each thread that runs a worker, since its goroutines float.
func (p Policy) perThread() bool {
	return p.PinThread || !p.Lock && (p.Nice != nil || p.Sched != nil)
}

// String describes the policy in the words of the flags: "lock-thread", "pin-cpus 0-1, nice 5", "none".
func (p Policy) String() string {
	if p.IsNone() {
		return "none"
	}
	var words []string
	switch {
	case p.Leaks():
		words = append(words, "pin-cpus "+cpuset.FormatList(p.PinCPUs), "lock-thread=false")
	case len(p.PinCPUs) > 0:
		words = append(words, "lock-thread", "pin-cpus "+cpuset.FormatList(p.PinCPUs))
	case p.Lock:
		words = append(words, "lock-thread")
	}
	if p.PinThread {
		words = append(words, "pin-thread")
	}
	if s := (Setting{Nice: p.Nice, Sched: p.Sched}); s.Asked() > 0 {
		words = append(words, s.String())
	}
	return strings.Join(words, ", ")
}

// Assignment is a policy for the CPUs of a machine and a number of workers.
type Assignment struct {
	Policy    Policy
	Workers   int
	CPUs      cpuset.Set // the CPUs of the run
	Executors []int      // one locked, pinned thread for each of these CPUs takes the workers; nil: each worker is a goroutine
}

// Assign returns the assignment of a policy to the CPUs of the run, of which its PinCPUs are. With executor, one pinned thread for
// each of the policy's PinCPUs, or for each CPU of the run, takes the workers.
func Assign(policy Policy, cpus cpuset.Set, workers int, executor bool) Assignment {
	plan := Assignment{Policy: policy, Workers: workers, CPUs: cpus}
	if executor {
		plan.Executors = policy.PinCPUs
		if len(plan.Executors) == 0 {
			plan.Executors = cpus.List()
		}
	}
	return plan
}

// CPU returns the CPU to which a worker is pinned, or -1 if it floats or an executor takes it.
func (p Assignment) CPU(worker int) int {
	if len(p.Policy.PinCPUs) == 0 || p.Executors != nil {
		return -1
	}
	return p.Policy.PinCPUs[worker%len(p.Policy.PinCPUs)]
}

// String describes it in the words of the flags.
func (p Assignment) String() string {
	if p.Executors == nil {
		return p.Policy.String()
	}
	policy := p.Policy
	policy.Lock, policy.PinCPUs, policy.PinThread = true, p.Executors, false
	return policy.String()
}

// Share is the number of workers assigned to a CPU.
type Share struct {
	CPU     int `json:"cpu"`
	Workers int `json:"workers"`
}

// Shares returns the share of each pinned CPU, in the order of the policy; nil if workers float or are taken from a
// queue.
func (p Assignment) Shares() []Share {
	n := len(p.Policy.PinCPUs)
	if n == 0 || p.Executors != nil {
		return nil
	}
	shares := make([]Share, n)
	for i, cpu := range p.Policy.PinCPUs {
		shares[i] = Share{CPU: cpu, Workers: p.Workers / n}
		if i < p.Workers%n {
			shares[i].Workers++
		}
	}
	return shares
}
