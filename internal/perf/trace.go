package perf

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"gorun/internal/sysfs"
)

// Move is one migration of a thread.
type Move struct {
	// NS is the host's CLOCK_MONOTONIC in nanoseconds; in a time namespace clock_gettime(2) differs from it. With
	// TraceMigrateTask it is the time of the scheduler's decision, otherwise the time when the thread ran, or was seen,
	// on its new CPU.
	NS       int64
	From, To int // CPUs
}

// TraceMethod is the source of moves.
type TraceMethod string

// The methods.
const (
	TraceMigrateTask TraceMethod = "sched_migrate_task"
	TraceMigrations  TraceMethod = "migrations"
	TraceSwitches    TraceMethod = "switches"
	TraceReads       TraceMethod = "reads"
)

// TraceMethods lists the methods, the best first. All but the first miss a move to a CPU that the thread leaves before
// it runs there.
var TraceMethods = [...]struct {
	Method  TraceMethod
	Meaning string
	Needs   string
}{
	{
		TraceMigrateTask, "the scheduler's tracepoint on every CPU",
		"root, or CAP_PERFMON and a readable tracefs; the initial pid namespace",
	},
	{
		TraceMigrations, "a record of each migration that the kernel counts",
		"CAP_PERFMON or sysctl kernel.perf_event_paranoid=1",
	},
	{
		TraceSwitches, "the CPU at each context switch",
		"CAP_PERFMON or sysctl kernel.perf_event_paranoid=2",
	},
	{
		TraceReads, "the CPU that the thread itself reads; moves between two reads are missed",
		"nothing",
	},
}

// needs returns what a method needs.
func (m TraceMethod) needs() string {
	for _, row := range TraceMethods {
		if row.Method == m {
			return row.Needs
		}
	}
	return ""
}

// moveSource reads the moves since it was opened or last read.
type moveSource interface {
	Read() (moves []Move, lost uint64, err error)
	Close() error
}

// Trace traces the moves of one thread between CPUs. It is for one goroutine at a time.
type Trace struct {
	source   moveSource
	method   TraceMethod
	degraded error
}

// Method returns the source of the moves.
func (t *Trace) Method() TraceMethod { return t.method }

// Degraded returns why no better method is available; nil when the best is in use. It has a Hint.
func (t *Trace) Degraded() error { return t.degraded }

// Read returns the moves since the last Read, or since OpenTrace, in the order of time, also across Reads. lost is the
// number of records that did not fit into the kernel's rings. With a Read per second, none are lost below some thousand
// moves per second (context switches for TraceSwitches). After an error the pending moves are lost.
func (t *Trace) Read() (moves []Move, lost uint64, err error) { return t.source.Read() }

// Close ends the trace. A second call does nothing.
func (t *Trace) Close() error { return t.source.Close() }

// CPURead is a thread's reading of its own CPU.
type CPURead struct {
	NS  int64 // CLOCK_MONOTONIC in nanoseconds
	CPU int   // -1: unknown
}

// MovesOf returns the moves shown by a thread's reads, given in the order of time: the method TraceReads. A move has
// the time of the first read after it.
func MovesOf(reads []CPURead) []Move {
	var moves []Move
	f := follower{cpu: -1}
	for _, r := range reads {
		if r.CPU < 0 {
			continue
		}
		if m, moved := f.at(r.NS, r.CPU); moved {
			moves = append(moves, m)
		}
	}
	return moves
}

// follower finds a thread's moves from its successive CPUs.
type follower struct {
	cpu int // last seen; -1: not yet seen
}

// at records the thread's CPU, and returns the move to it if there was one.
func (f *follower) at(ns int64, cpu int) (m Move, moved bool) {
	m = Move{ns, f.cpu, cpu}
	moved = f.cpu != cpu && f.cpu >= 0
	f.cpu = cpu
	return m, moved
}

// threadCPU returns the CPU that a thread runs on, or ran on last, or is about to run on.
func threadCPU(fsys fs.FS, tid int) (int, error) {
	name := fmt.Sprintf("proc/%d/stat", tid)
	text, err := sysfs.ReadString(fsys, name)
	if err != nil {
		return 0, err
	}
	cpu, err := parseStatCPU(text)
	if err != nil {
		return 0, sysfs.Malformed(name, "%v", err)
	}
	return cpu, nil
}

// parseStatCPU returns field 39 of /proc/PID/stat, processor (proc_pid_stat(5)). Field 2 is a name in parentheses,
// which may contain spaces and parentheses.
func parseStatCPU(text string) (int, error) {
	const processor, afterName = 39, 3
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= processor-afterName {
		return 0, fmt.Errorf("%.60q has no field %d", text, processor)
	}
	cpu, err := strconv.ParseUint(fields[processor-afterName], 10, 31)
	if err != nil {
		return 0, fmt.Errorf("field %d is not a CPU: %.20q", processor, fields[processor-afterName])
	}
	return int(cpu), nil
}
