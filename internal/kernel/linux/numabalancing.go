package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"gorun/internal/kernel/sysfs"
)

// NUMABalancingSysctl is the switch of automatic NUMA balancing (Documentation/admin-guide/sysctl/kernel.rst,
// numa_balancing): 0 is off, 1 on, 2 the promotion between tiers of memory, 3 both. It applies to the whole machine,
// including containers.
const NUMABalancingSysctl = "/proc/sys/kernel/numa_balancing"

// ErrNoNUMABalancing is the error of a kernel without that switch.
var ErrNoNUMABalancing = errors.New("this kernel was built without NUMA balancing")

// ReadNUMABalancing returns the switch in root, which is rooted at /. Without the switch the error is
// ErrNoNUMABalancing, but only if other files of /proc/sys are visible: a container may hide all of them.
func ReadNUMABalancing(root fs.FS) (int, error) {
	value, err := sysfs.ReadInt(root, strings.TrimPrefix(NUMABalancingSysctl, "/"))
	if err == nil {
		return value, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		const present = "proc/sys/kernel/osrelease" // on every Linux
		if _, hidden := sysfs.ReadString(root, present); hidden == nil {
			return 0, ErrNoNUMABalancing
		}
		err = fmt.Errorf("%w: /proc/sys is hidden", err)
	}
	return 0, fmt.Errorf("whether NUMA balancing is on cannot be read: %w", err)
}

// PreferredNodeIgnored describes a kernel whose NUMA balancing is off. It accepts a preferred node and returns it, but
// numa_migrate_preferred and migrate_degrades_locality (kernel/sched/fair.c), which act on it, are not called.
const PreferredNodeIgnored = "the scheduler ignores a preferred node while NUMA balancing is off"

// numaScanDefault is the kernel's own value of scan_delay_ms and scan_period_min_ms, in seconds (kernel/sched/fair.c).
const numaScanDefault = 1

// ReadNUMAScan returns the CPU time that a thread uses before NUMA balancing first scans its process, and the shortest
// time between two scans, both in seconds. For a file that cannot be read, such as those of debugfs for ordinary users,
// it returns the kernel's default.
func ReadNUMAScan(root fs.FS) (delay, period float64) {
	read := func(of SchedulerTime) float64 {
		if seconds, err := of.Read(root); err == nil && seconds >= 0 {
			return seconds
		}
		return numaScanDefault
	}
	return read(NUMAScanDelay), read(NUMAScanPeriod)
}

// ThreadNUMA holds the statistics of NUMA balancing for a thread. A field is nil where the kernel does not report it.
type ThreadNUMA struct {
	ScanSeq       *int // passes over the process's memory, including passes that skipped every area
	PagesMigrated *int // by faults of the thread
	PreferredNode *int // -1: none
}

// ReadThreadNUMA reads the calling thread's /proc/thread-self/sched (kernel/sched/debug.c, sched_show_numa). The error is
// fs.ErrNotExist on a kernel without CONFIG_SCHED_DEBUG, and ErrNoNUMABalancing on one without NUMA balancing.
func ReadThreadNUMA(root fs.FS) (ThreadNUMA, error) {
	const file = "proc/thread-self/sched"
	text, err := sysfs.ReadString(root, file)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: that needs a kernel with CONFIG_SCHED_DEBUG", err)
	}
	if err != nil {
		return ThreadNUMA{}, err
	}
	number := func(name string) *int {
		value, _ := statusField(text, name)
		if n, err := strconv.Atoi(value); err == nil {
			return &n
		}
		return nil
	}
	n := ThreadNUMA{number("mm->numa_scan_seq"), number("numa_pages_migrated"), number("numa_preferred_nid")}
	if n == (ThreadNUMA{}) {
		err = fmt.Errorf("%s has no line of NUMA balancing: %w", file, ErrNoNUMABalancing)
	}
	return n, err
}
