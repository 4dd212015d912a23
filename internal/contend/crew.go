package contend

import (
	"runtime"
	"strconv"
	"sync"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/placement"
)

// crew has one pinned thread per CPU, kept from row to row because waking a thread costs less than creating one.
// Between tasks a member waits on a channel.
type crew struct {
	members map[int]*member // by CPU
	ended   sync.WaitGroup
}

// member is a thread that stays on its CPU.
type member struct {
	cpu     int
	setting placement.Setting
	tid     int
	tasks   chan func()
}

// newCrew starts the threads, and returns when every one is on its CPU.
func newCrew(cpus []int) (*crew, error) {
	c := &crew{members: make(map[int]*member, len(cpus))}
	ready := make(chan error, len(cpus))
	for _, cpu := range cpus {
		m := &member{cpu: cpu, setting: placement.Setting{CPUs: cpuset.Of(cpu)}, tasks: make(chan func())}
		c.members[cpu] = m
		c.ended.Add(1)
		go func() {
			defer c.ended.Done()
			runtime.LockOSThread() // never unlocked: its thread and the mask end with it
			ready <- m.pin()
			for task := range m.tasks {
				task()
			}
		}()
	}
	var first error
	for range cpus {
		if err := <-ready; err != nil && first == nil {
			first = err
		}
	}
	if first != nil {
		c.close()
		return nil, first
	}
	return c, nil
}

// pin pins the calling thread.
func (m *member) pin() error {
	m.tid = linux.Gettid()
	if _, err := m.setting.Apply(0); err != nil {
		return err
	}
	return m.check()
}

// repin pins the thread again if it has lost its CPU: when a CPU goes offline, the kernel lets its threads run on all
// CPUs.
func (m *member) repin() {
	if mismatches, err := m.setting.ReadBack(m.tid); err == nil && len(mismatches) > 0 {
		_, _ = m.setting.Apply(m.tid) // if this fails, check reports the thread's actual CPUs
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

// run runs the task on the threads of these CPUs at the same time, and returns when all are done. The task gets the
// index of its CPU in the list, and the result of check for its thread.
func (c *crew) run(cpus []int, task func(i int, err error)) {
	var done sync.WaitGroup
	done.Add(len(cpus))
	for i, cpu := range cpus {
		m := c.members[cpu]
		m.repin()
		m.tasks <- func() {
			defer done.Done()
			task(i, m.check())
		}
	}
	done.Wait()
}

// close ends the threads.
func (c *crew) close() {
	for _, m := range c.members {
		close(m.tasks)
	}
	c.ended.Wait()
}
