// Package perf counts what the scheduler did to the threads of this process: migrations between CPUs and context
// switches, of every thread that exists and of all to come.
//
// The counts come from the kernel's software counters (perf_event_open(2)) where that is allowed, which miss nothing,
// and else from /proc/self/task/TID/sched, which forgets threads as they end. A counter that cannot count is an error:
// without the privilege the kernel opens one that leaves kernel mode out, and since both events happen in kernel mode,
// that one reads 0 for ever.
package perf

import (
	"errors"
	"fmt"
)

// Event is something that happens to a thread.
type Event int

// The events.
const (
	Migrations      Event = iota // the thread runs on another CPU than before
	ContextSwitches              // the thread leaves its CPU, for whatever reason
)

// String names the event.
func (e Event) String() string {
	switch e {
	case Migrations:
		return "migrations"
	case ContextSwitches:
		return "context switches"
	}
	return fmt.Sprintf("event %d", int(e))
}

// Method says where a count comes from.
type Method string

// The methods.
const (
	// Software is the kernel's software counters. They are exact: threads that end add what they had to the sum.
	Software Method = "perf"
	// SchedDebug is /proc/self/task/TID/sched, present with CONFIG_SCHED_DEBUG. What a thread did after the last Read
	// before its end is lost.
	SchedDebug Method = "sched-debug"
)

// source reads the sum of an event over the process's threads since the source was opened.
type source interface {
	Read() (uint64, error)
	Close() error
}

// Counter counts an event over all threads of this process. It is for one goroutine at a time.
type Counter struct {
	source
	method   Method
	degraded error
}

// Method returns where the count comes from.
func (c *Counter) Method() Method { return c.method }

// Degraded returns why the exact method could not be had; nil when it is in use. Like Open's error it has a Hint.
func (c *Counter) Degraded() error { return c.degraded }

// Open opens the best counter that the machine allows: OpenSoftware, else OpenSchedDebug. The error names what stood in
// the way of each; for the first it wraps fs.ErrPermission where a privilege is missing, and has a Hint.
func Open(event Event) (*Counter, error) {
	c, err := OpenSoftware(event)
	if err == nil {
		return c, nil
	}
	c, debugErr := OpenSchedDebug(event)
	if debugErr != nil {
		return nil, errors.Join(err, debugErr)
	}
	c.degraded = err
	return c, nil
}

// OpenMigrations is Open(Migrations).
func OpenMigrations() (*Counter, error) { return Open(Migrations) }
