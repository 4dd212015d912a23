package linux

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/cgroup"
	"gorun/internal/sysfs"
)

// The cost of one more OS thread of a Go program, with a blocked goroutine locked to it. Measured with 8000 of them
// (Linux 6.18, Go 1.26, amd64) as the growth of VmRSS, KernelStack, Slab and PageTables: 19.2 + 16.0 + 5.5 + 4.1
// = 44.8 KiB; and 2.00 more lines of /proc/self/maps and 8328 KiB of VmSize.
const (
	threadBytes      = 45 << 10
	threadMappings   = 2        // a pthread's stack and its guard page
	threadStackBytes = 8 << 20  // a pthread's stack under the usual RLIMIT_STACK
	threadHeapBytes  = 64 << 10 // Go's own address space per thread, in addition to that stack
)

// glibc gives each new thread a malloc arena of 64 MiB of address space, until there are 8 for each CPU
// (malloc/arena.c, HEAP_MAX_SIZE, NARENAS_FROM_NCORES).
const (
	arenaBytes   = 64 << 20
	arenasPerCPU = 8
)

// pidsReserved is the number of PIDs that are not reused once the numbers have wrapped (kernel/pid.c, RESERVED_PIDS).
const pidsReserved = 300

// Limit is a limit on the number of threads of this process.
type Limit struct {
	Name      string // the kernel's name for it: "kernel.pid_max"
	Unit      string // of the numbers: "threads", "mappings" or "bytes"
	Max       uint64
	Used      uint64 // by all that share the limit
	PerThread uint64 // use of one more thread, or of one more process (ProcessLimits); never 0
	Hint      string // how to raise it; Obstacles replaces NEEDED by the required maximum
}

// Room returns the number of further threads that the limit allows.
func (l Limit) Room() int {
	if l.Used >= l.Max {
		return 0
	}
	return int(min((l.Max-l.Used)/l.PerThread, math.MaxInt))
}

// String returns the limit's use, maximum and room.
func (l Limit) String() string {
	return fmt.Sprintf("%s: %d of %d %s used, room for %d threads", l.Name, l.Used, l.Max, l.Unit, l.Room())
}

// needed is the placeholder in a hint for the required maximum.
const needed = "NEEDED"

// Obstacles returns the limits that do not allow this number of further threads, the tightest first, each with the
// required maximum in its hint.
func Obstacles(limits []Limit, threads int) []Limit {
	var obstacles []Limit
	for _, l := range limits {
		if l.Room() < threads {
			most := l.Used + uint64(threads)*l.PerThread
			l.Hint = strings.ReplaceAll(l.Hint, needed, strconv.FormatUint(most, 10))
			obstacles = append(obstacles, l)
		}
	}
	slices.SortStableFunc(obstacles, func(a, b Limit) int { return cmp.Compare(a.Room(), b.Room()) })
	return obstacles
}

// ThreadLimits returns the limits on the number of threads of this process on the machine whose / is fsys: the user's
// and the system's limits on threads, PIDs, the control groups' limits, mappings, memory and address space. A limit that does not apply, or whose file is absent, is left out. A
// limit whose file cannot be read or understood is left out too, and its error is in unread.
//
// It counts what is visible. In a container, the ancestors of its control group and the user's processes outside it are
// not, so the kernel may refuse earlier.
func ThreadLimits(fsys fs.FS) (limits []Limit, unread []error) {
	return readLimits(fsys, userLimit, systemLimits, pidsLimits, mappingLimit, groupMemoryLimits, memoryLimit,
		addressLimit)
}

// ProcessLimits returns the limits on the number of processes that this process may start, each with the given threads
// and bytes of memory. Limits of this process alone do not count. Their Room is in processes. unread is as for
// ThreadLimits.
func ProcessLimits(fsys fs.FS, threads, bytes uint64) (limits []Limit, unread []error) {
	limits, unread = readLimits(fsys, userLimit, systemLimits, pidsLimits, groupMemoryLimits, memoryLimit)
	for i := range limits {
		limits[i].PerThread = threads
		if limits[i].Unit == "bytes" {
			limits[i].PerThread = bytes
		}
	}
	return limits, unread
}

// MemoryLimits returns the limits on the memory of this process and its children. Their Room is in bytes. unread is as
// for ThreadLimits.
func MemoryLimits(fsys fs.FS) (limits []Limit, unread []error) {
	limits, unread = readLimits(fsys, groupMemoryLimits, memoryLimit)
	for i := range limits {
		limits[i].PerThread = 1
	}
	return limits, unread
}

func readLimits(
	fsys fs.FS, readers ...func(fs.FS) ([]Limit, error),
) (limits []Limit, unread []error) {
	for _, read := range readers {
		found, err := read(fsys)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			unread = append(unread, err)
		}
		limits = append(limits, found...)
	}
	return limits, unread
}

// userLimit returns RLIMIT_NPROC, on the threads of the real user ID (getrlimit(2); kernel/fork.c, copy_process).
func userLimit(fsys fs.FS) ([]Limit, error) {
	soft, hard, limited, err := readRlimit(fsys, "Max processes")
	if err != nil || !limited {
		return nil, err
	}
	status, err := sysfs.ReadString(fsys, "proc/self/status")
	if err != nil {
		return nil, err
	}
	self, err := parseStatus(status)
	if err != nil {
		return nil, sysfs.Malformed("proc/self/status", "%v", err)
	}
	idMap, err := sysfs.ReadString(fsys, "proc/self/uid_map")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without user namespaces there is only the initial one
		return nil, err
	}
	if exempt(self, idMap) {
		return nil, nil
	}
	used, err := countThreads(fsys, self.uid)
	if err != nil {
		return nil, err
	}
	return []Limit{{
		Name: "RLIMIT_NPROC", Unit: "threads", Max: soft, Used: used, PerThread: 1,
		Hint: fmt.Sprintf("ulimit -u %s (the hard limit is %s; above it, as root: prlimit --pid $$ --nproc=%[1]s)",
			needed, hard),
	}}, nil
}

// exempt reports whether RLIMIT_NPROC does not apply to the process: it is root or has one of two capabilities, in the
// initial user namespace, which maps the whole range of IDs to itself.
func exempt(self status, idMap string) bool {
	const sysAdmin, sysResource = 1 << 21, 1 << 24 // include/uapi/linux/capability.h
	first := idMap == "" || strings.Join(strings.Fields(idMap), " ") == "0 0 4294967295"
	return first && (self.uid == 0 || self.capabilities&(sysAdmin|sysResource) != 0)
}

// countThreads returns the number of threads of a user's processes. Processes that end while it reads, or that may not
// be read (hidepid), are left out.
func countThreads(fsys fs.FS, uid uint64) (uint64, error) {
	entries, err := fs.ReadDir(fsys, "proc")
	if err != nil {
		return 0, err
	}
	var threads uint64
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		name := path.Join("proc", entry.Name(), "status")
		text, err := sysfs.ReadString(fsys, name)
		if err != nil {
			continue
		}
		s, err := parseStatus(text)
		if err != nil {
			return 0, sysfs.Malformed(name, "%v", err)
		}
		if s.uid == uid {
			threads += s.threads
		}
	}
	return threads, nil
}

// systemLimits returns kernel.threads-max, on all threads of the system, and kernel.pid_max, on those of a PID
// namespace (of the system before Linux 6.14). Both count the threads of the system; a namespace has no more.
func systemLimits(fsys fs.FS) ([]Limit, error) {
	text, err := sysfs.ReadString(fsys, "proc/loadavg")
	if err != nil {
		return nil, err
	}
	threads, err := parseLoadavg(text)
	if err != nil {
		return nil, sysfs.Malformed("proc/loadavg", "%v", err)
	}
	var limits []Limit
	var unread error
	for _, l := range []Limit{
		{Name: "kernel.threads-max", Used: threads},
		{Name: "kernel.pid_max", Used: threads + pidsReserved},
	} {
		file := "proc/sys/" + strings.Replace(l.Name, ".", "/", 1)
		most, err := sysfs.ReadInt(fsys, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && most < 0 {
			err = sysfs.Malformed(file, "%d is not a maximum", most)
		}
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		l.Max, l.Unit, l.PerThread = uint64(most), "threads", 1
		l.Hint = fmt.Sprintf("as root: sysctl -w %s=%s", l.Name, needed)
		limits = append(limits, l)
	}
	return limits, unread
}

// pidsLimits returns the limits of the pids controller, of this control group and its ancestors.
func pidsLimits(fsys fs.FS) ([]Limit, error) {
	groups, err := cgroup.ReadPids(fsys)
	var limits []Limit
	for _, g := range groups {
		limits = append(limits, Limit{
			Name: g.File, Unit: "threads", Max: g.Max, Used: g.Used, PerThread: 1,
			Hint: fmt.Sprintf("as root: echo %s > %s (systemd: TasksMax=%[1]s; Docker: --pids-limit %[1]s)",
				needed, g.File),
		})
	}
	return limits, err
}

// mappingLimit returns vm.max_map_count, on the mappings of this process.
func mappingLimit(fsys fs.FS) ([]Limit, error) {
	most, err := sysfs.ReadInt(fsys, "proc/sys/vm/max_map_count")
	if err != nil {
		return nil, err
	}
	if most < 0 {
		return nil, sysfs.Malformed("proc/sys/vm/max_map_count", "%d is not a maximum", most)
	}
	maps, err := fs.ReadFile(fsys, "proc/self/maps")
	if err != nil {
		return nil, err
	}
	return []Limit{{
		Name: "vm.max_map_count", Unit: "mappings",
		Max: uint64(most), Used: uint64(strings.Count(string(maps), "\n")), PerThread: threadMappings,
		Hint: fmt.Sprintf("as root: sysctl -w vm.max_map_count=%s", needed),
	}}, nil
}

// groupMemoryLimits returns the memory controller's limits.
func groupMemoryLimits(fsys fs.FS) ([]Limit, error) {
	groups, err := cgroup.ReadMemory(fsys)
	var limits []Limit
	for _, g := range groups {
		limits = append(limits, Limit{
			Name: g.File, Unit: "bytes", Max: g.Max, Used: g.Used, PerThread: threadBytes,
			Hint: fmt.Sprintf("as root: echo %s > %s (systemd: MemoryMax=%[1]s; Docker: --memory %[1]s)",
				needed, g.File),
		})
	}
	return limits, err
}

// memoryLimit returns the available memory of the system as a limit.
func memoryLimit(fsys fs.FS) ([]Limit, error) {
	available, err := sysfs.ReadKB(fsys, "proc/meminfo", "MemAvailable")
	if err != nil {
		return nil, err
	}
	return []Limit{{
		Name: "MemAvailable", Unit: "bytes", Max: available, PerThread: threadBytes,
		Hint: fmt.Sprintf("free some memory: %s bytes are needed", needed),
	}}, nil
}

// addressLimit returns RLIMIT_AS, on the address space of this process. A pthread takes its whole stack at once, of
// RLIMIT_STACK bytes if that is finite (pthread_create(3)), and each of the first ones also a malloc arena.
func addressLimit(fsys fs.FS) ([]Limit, error) {
	soft, _, limited, err := readRlimit(fsys, "Max address space")
	if err != nil || !limited {
		return nil, err
	}
	perThread := uint64(threadHeapBytes)
	stack, _, limited, err := readRlimit(fsys, "Max stack size")
	if err != nil {
		return nil, err
	}
	if !limited {
		stack = threadStackBytes
	}
	perThread += stack
	used, err := sysfs.ReadKB(fsys, "proc/self/status", "VmSize")
	if err != nil {
		return nil, err
	}
	l := Limit{
		Name: "RLIMIT_AS", Unit: "bytes", Max: soft, Used: used, PerThread: perThread,
		Hint: "ulimit -v unlimited",
	}
	online, err := sysfs.ReadSet(fsys, "sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	arenas := arenasPerCPU * online.Len()
	few := l
	few.PerThread += arenaBytes
	if few.Room() <= arenas {
		return []Limit{few}, nil // the limit is reached before all arenas exist
	}
	l.Used += uint64(arenas) * arenaBytes
	return []Limit{l}, nil
}
