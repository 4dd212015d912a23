package perf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/record/result"
)

// Counters count events of the CPU: of the processes that a thread starts, and of all their descendants.
type Counters struct {
	figures  []*figure
	userOnly bool // the kernel has refused to count in kernel mode
	lacks    result.Counters
}

// counted is a kind of event, and the figure that it is counted for.
type counted struct {
	name   string // of the figure, in JSON
	kind   uint32 // perf_event_attr.type
	config uint64
	in     func(*result.Counters) **uint64
}

// figure has the events that are added up for a figure: one of each PMU that counts it.
type figure struct {
	counted
	fds     []int
	refused bool // the kernel has refused one
}

// hardware are the kernel's generic events. Their PMU chooses what they are (PERF_COUNT_HW_CACHE_MISSES is of the last level on Intel, of L2
// on AMD, and of L1 for data on arm64).
var hardware = []counted{
	{"cycles", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES, func(c *result.Counters) **uint64 { return &c.Cycles }},
	{"instructions", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS, func(c *result.Counters) **uint64 { return &c.Instructions }},
	{"branch_misses", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_MISSES, func(c *result.Counters) **uint64 { return &c.BranchMisses }},
	{"cache_misses", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES, func(c *result.Counters) **uint64 { return &c.CacheMisses }},
	{"tlb_misses", unix.PERF_TYPE_HW_CACHE, unix.PERF_COUNT_HW_CACHE_DTLB | unix.PERF_COUNT_HW_CACHE_OP_READ<<8 |
		unix.PERF_COUNT_HW_CACHE_RESULT_MISS<<16, func(c *result.Counters) **uint64 { return &c.TLBMisses }},
}

// topdown are the events that a PMU describes in its files, if it has them. The first one must lead their group.
var topdown = []struct {
	name, file string
	in         func(*result.Counters) **uint64
}{
	{"slots", "slots", nil},
	{"slots_retiring", "topdown-retiring", func(c *result.Counters) **uint64 { return &c.Retiring }},
	{"slots_bad_speculation", "topdown-bad-spec", func(c *result.Counters) **uint64 { return &c.BadSpeculation }},
	{"slots_frontend_bound", "topdown-fe-bound", func(c *result.Counters) **uint64 { return &c.FrontendBound }},
	{"slots_backend_bound", "topdown-be-bound", func(c *result.Counters) **uint64 { return &c.BackendBound }},
}

// group are events that are counted at the same times, or not at all.
type group struct {
	pmu    int // its number
	events []counted
}

const pmus = "sys/bus/event_source/devices"

// groups returns the events that can be asked for on a machine: of each PMU of cores, those of hardware, and those of topdown if it has them.
func groups(fsys fs.FS) []group {
	cores := corePMUs(fsys)
	all := make([]group, 0, 2*len(cores))
	for i, name := range cores {
		kind, err := sysfs.ReadInt(fsys, path.Join(pmus, name, "type"))
		if name != "" && err != nil {
			continue
		}
		g := group{i, slices.Clone(hardware)}
		if len(cores) > 1 {
			for j := range g.events {
				g.events[j].config |= uint64(kind) << unix.PERF_PMU_TYPE_SHIFT
			}
		}
		all = append(all, g)
		var slots []counted
		for _, t := range topdown {
			text, err := sysfs.ReadString(fsys, path.Join(pmus, name, "events", t.file))
			if config, ok := eventConfig(text); err == nil && ok {
				slots = append(slots, counted{t.name, uint32(kind), config, t.in})
			}
		}
		if len(slots) == len(topdown) {
			all = append(all, group{i, slots})
		}
	}
	return all
}

// corePMUs returns the names of the PMUs of cores: "cpu", or those that list their CPUs, as on a machine with several kinds of cores and on
// arm64 (tools/perf/util/pmus.c). "" stands for the one that the kernel chooses, if it names none.
func corePMUs(fsys fs.FS) (names []string) {
	devices, _ := fs.ReadDir(fsys, pmus)
	for _, d := range devices {
		if d.Name() == "cpu" {
			return []string{"cpu"}
		}
		if _, err := fs.Stat(fsys, path.Join(pmus, d.Name(), "cpus")); err == nil {
			names = append(names, d.Name())
		}
	}
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

// eventConfig returns the perf_event_attr.config of an event by its file, such as "event=0x00,umask=0x80". ok is false if it has other terms.
func eventConfig(text string) (config uint64, ok bool) {
	for term := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(term, "=")
		n, err := strconv.ParseUint(value, 0, 8)
		switch {
		case err != nil:
			return 0, false
		case name == "event":
			config |= n
		case name == "umask":
			config |= n << 8
		default:
			return 0, false
		}
	}
	return config, true
}

// OpenCounters counts what the processes do that the calling thread will start, from their execve(2) on, and all their descendants. The goroutine
// must be locked to the thread. What cannot be counted is in the result of Read. It needs CAP_PERFMON, or kernel.perf_event_paranoid of at
// most 1, or of 2 to count in user mode only.
//
// Like a Family, it misses a program that gains privileges at its execve(2).
func OpenCounters() *Counters { return openCounters(here(), anyCPU) }

// here has the groups of this machine.
var here = sync.OnceValue(func() []group { return groups(sysfs.This()) })

func anyCPU(int) int { return -1 }

// openCounters opens groups of events. on returns the CPU on which the events of a PMU are counted; -1: any.
func openCounters(all []group, on func(pmu int) int) *Counters {
	c := &Counters{}
	for _, g := range all {
		leader := -1
		for _, e := range g.events {
			f := c.figure(e)
			fd, err := c.open(e, on(g.pmu), leader)
			if err != nil {
				if !f.refused && e.in != nil {
					c.lacks.Lacking(e.name, countError(err, leader >= 0))
				}
				f.refused = true
				continue
			}
			f.fds = append(f.fds, fd)
			if leader < 0 {
				leader = fd
			}
		}
	}
	return c
}

// figure returns the figure for which an event is counted.
func (c *Counters) figure(e counted) *figure {
	for _, f := range c.figures {
		if f.name == e.name {
			return f
		}
	}
	f := &figure{counted: e}
	c.figures = append(c.figures, f)
	return f
}

// open opens an event, in the group of a leader if that is not -1. The members of a group are enabled with their leader.
func (c *Counters) open(e counted, cpu, leader int) (fd int, err error) {
	attr := unix.PerfEventAttr{
		Type: e.kind, Config: e.config, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitInherit,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	if leader < 0 {
		attr.Bits |= unix.PerfBitDisabled | unix.PerfBitEnableOnExec
	}
	if c.userOnly {
		attr.Bits |= unix.PerfBitExcludeKernel
	}
	fd, err = unix.PerfEventOpen(&attr, linux.Gettid(), cpu, leader, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, fs.ErrPermission) && !c.userOnly {
		c.userOnly = true // the kernel refuses that to all events or to none
		return c.open(e, cpu, leader)
	}
	return fd, err
}

// countError is the error of an event that could not be opened, in a group that has others.
func countError(err error, others bool) error {
	what := ""
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV):
		what = "this machine has no such counter, as is usual in a virtual machine"
	case errors.Is(err, unix.EOPNOTSUPP):
		what = "the CPU cannot count it in this way"
	case errors.Is(err, unix.EINVAL) && others:
		what = "the CPU cannot count it together with the others"
	case errors.Is(err, unix.EBUSY):
		what = "another program has the counters"
	default:
		return openError("count events", err, 2)
	}
	return fmt.Errorf("%s (perf_event_open: %w)", what, err)
}

// tally is a reading of an event: its count, and for how many nanoseconds it should have been counted, and was.
type tally struct{ count, enabled, running uint64 }

// readTally reads an event. The processes that have inherited it have ended, so that it has all their counts.
func readTally(fd int) (t tally, err error) {
	var buf [24]byte // u64 value, u64 time_enabled, u64 time_running
	n, err := unix.Read(fd, buf[:])
	if err == nil && n != len(buf) {
		err = unix.EIO // an event in error state
	}
	if err != nil {
		return t, &linux.Error{Op: "read a counter", Err: err}
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(buf[8*i:]) }
	return tally{word(0), word(1), word(2)}, nil
}

// total adds up the readings of an event, one of each PMU, and the seconds in which it was counted. An event that was not counted for all of the time
// is an error: the kernel counts in turns if the CPU has too few counters (multiplexing), and scaling up would be a guess. Of several PMUs,
// each counts while the program runs on its CPUs. A thousandth may be lost between them.
func total(of []tally) (count uint64, seconds float64, err error) {
	var enabled, running, lost uint64
	for _, t := range of {
		count, running, enabled = count+t.count, running+t.running, max(enabled, t.enabled)
	}
	if len(of) > 1 {
		lost = enabled / 1000
	}
	switch {
	case enabled == 0:
		err = errors.New("the program was not counted: it may have gained privileges when it was started")
	case running+lost < enabled:
		err = fmt.Errorf("counted for %.0f%% of the time only, since the CPU has too few counters, or other programs use them",
			math.Floor(100*float64(running)/float64(enabled)))
	}
	return count, float64(running) / 1e9, err
}

// Read returns the counts, and why some are not known. It is called when the processes have ended.
func (c *Counters) Read() *result.Counters {
	r := &result.Counters{}
	for _, l := range c.lacks.Lacks {
		r.Lacks = append(r.Lacks, result.Lack{Of: slices.Clone(l.Of), Why: l.Why})
	}
	for _, f := range c.figures {
		if f.in == nil || f.refused {
			continue
		}
		var of []tally
		var failure error
		for _, fd := range f.fds {
			t, err := readTally(fd)
			of, failure = append(of, t), cmp.Or(failure, err)
		}
		count, seconds, err := total(of)
		if err = cmp.Or(failure, err); err != nil {
			r.Lacking(f.name, err)
			continue
		}
		*f.in(r), r.UserOnly = &count, c.userOnly
		if f.in(r) == &r.Cycles {
			r.CountedSeconds = seconds
		}
	}
	return r
}

// Close ends the counting.
func (c *Counters) Close() error {
	var errs []error
	for _, f := range c.figures {
		for _, fd := range f.fds {
			errs = append(errs, unix.Close(fd))
		}
	}
	c.figures = nil
	return errors.Join(errs...)
}
