// Package perf counts migrations between CPUs and context switches of all present and future threads of this process.
//
// The counts come from the kernel's software counters (perf_event_open(2)), which are complete, or if these are not
// allowed from /proc/self/task/TID/sched, which loses threads when they end. A counter that cannot count is an error:
// without privilege the kernel opens only one that excludes kernel mode, which always reads 0, since both events happen
// in kernel mode.
package perf

import (
	"errors"
	"fmt"
)

// Event is a scheduler event of a thread.
type Event int

// The events.
const (
	Migrations      Event = iota // the thread runs on another CPU than before
	ContextSwitches              // the thread leaves its CPU, for any reason
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

// Method is the source of a count.
type Method string

// The methods.
const (
	// Software is the kernel's software counters. They are exact: the counts of ended threads stay in the sum.
	Software Method = "perf"
	// SchedDebug is /proc/self/task/TID/sched, which needs CONFIG_SCHED_DEBUG. A thread's events between the last Read
	// and its end are lost.
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

// Method returns the source of the count.
func (c *Counter) Method() Method { return c.method }

// Degraded returns why the exact method is not available; nil when it is in use. Like Open's error it has a Hint.
func (c *Counter) Degraded() error { return c.degraded }

// Open opens the best counter that the machine allows: OpenSoftware, else OpenSchedDebug. The error names the cause for
// each. If a privilege for the first is missing it wraps fs.ErrPermission, and it has a Hint.
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
