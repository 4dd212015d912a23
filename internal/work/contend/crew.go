package contend

import (
	"cmp"
	"errors"
	"runtime"
	"strconv"
	"sync"

	"gorun/csrc"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
)

// member is a thread that stays on its CPU, kept from row to row because waking a thread costs less than creating one.
// Between tasks it waits on a channel.
type member struct {
	cpu     int
	setting placement.Setting
	tid     int
	tasks   chan func()
}

// Open starts a thread on each of these CPUs, and returns when every one is on its CPU; nodes maps each CPU to its node. variant
// chooses among the instructions that an architecture has for an operation; "" is the best that this machine has. Close ends
// the threads.
func Open(nodes map[int]int, variant string) (*Runner, error) {
	r := &Runner{
		members: map[int]*member{}, nodes: nodes, variant: variant, Gate: csrc.NewGate(1), Stop: csrc.NewStop(), areas: map[int]*linux.Area{},
	}
	ready := make(chan error)
	for cpu := range nodes {
		m := &member{cpu: cpu, setting: placement.Setting{CPUs: cpuset.Of(cpu)}, tasks: make(chan func())}
		r.members[cpu] = m
		r.ended.Go(func() {
			runtime.LockOSThread() // never unlocked: its thread and the mask end with it
			ready <- m.pin()
			for task := range m.tasks {
				task()
			}
		})
	}
	var err error
	for range nodes {
		err = cmp.Or(err, <-ready)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close ends the threads and frees the memory.
func (r *Runner) Close() (err error) {
	for _, m := range r.members {
		close(m.tasks)
	}
	r.ended.Wait()
	for _, area := range r.areas {
		err = errors.Join(err, area.Free())
	}
	r.Gate.Free()
	r.Stop.Free()
	return err
}

// Run runs the task on the threads of these CPUs at the same time, and returns when all are done. The task gets the
// index of its CPU in the list. A thread that is not on its CPU does not run the task; if a task fails, the kernels
// of the others end.
func (r *Runner) Run(cpus []int, task func(i int) error) error {
	errs := make([]error, len(cpus))
	var done sync.WaitGroup
	done.Add(len(cpus))
	for i, cpu := range cpus {
		m := r.members[cpu]
		m.repin()
		m.tasks <- func() {
			defer done.Done()
			if errs[i] = m.check(); errs[i] == nil {
				errs[i] = task(i)
			}
			if errs[i] != nil {
				r.Stop.Set() // the others would wait for it
			}
		}
	}
	done.Wait()
	return cmp.Or(errs...) // threads often fail for the same reason
}

// pin pins the calling thread.
func (m *member) pin() error {
	m.tid = linux.Gettid()
	if err := m.setting.Apply(0); err != nil {
		return err
	}
	return m.check()
}

// repin pins the thread again if it has lost its CPU: when a CPU goes offline, the kernel lets its threads run on all
// CPUs.
func (m *member) repin() {
	if mismatches, err := m.setting.ReadBack(m.tid); err == nil && len(mismatches) > 0 {
		_ = m.setting.Apply(m.tid) // if this fails, check reports the thread's actual CPUs
	}
}

// check reads back that the calling thread may run only on its CPU, and is on it.
func (m *member) check() error {
	mismatches, err := m.setting.ReadBack(0)
	switch cpu := linux.Getcpu(); {
	case err != nil:
		return err
	case len(mismatches) > 0:
		return mismatches[0]
	case cpu != m.cpu && cpu >= 0: // -1: unknown
		return placement.Mismatch{What: "CPU", Asked: strconv.Itoa(m.cpu), Got: strconv.Itoa(cpu)}
	}
	return nil
}
