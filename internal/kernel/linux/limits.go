package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/sysfs"
)

// The cost of one more OS thread of a Go program, with a blocked goroutine locked to it, measured with 8000 of them (Linux
// 6.18, Go 1.26, amd64).
const (
	threadBytes     = 45 << 10       // VmRSS, KernelStack, Slab and PageTables
	threadMappings  = 2              // a stack, of 8 MiB under the usual RLIMIT_STACK, and its guard page
	threadAddresses = 8<<20 + 64<<10 // VmSize
	pidsReserved    = 300            // PIDs that are not used again after a wrap (kernel/pid.c)
)

// Need is what a run needs at the same time.
type Need struct {
	Threads int     // of this process
	Others  int     // threads of the processes that it starts
	Bytes   float64 // of memory, in addition to that of the threads
}

// limit is a limit of the machine or of this process.
type limit struct {
	name      string // the kernel's name for it
	unit      string
	max, used uint64
	need      uint64
	hint      string // how to raise it to NEEDED, the required maximum
}

// Enough returns an error with a hint for each limit that leaves too little room. The Go runtime aborts if the kernel
// refuses it a thread. unread has the errors of files that could not be read; a file that is absent is no limit. In a
// container, the ancestors of its control group and the user's processes outside are not visible, so the kernel may refuse
// earlier. fsys is rooted at /.
func Enough(fsys fs.FS, n Need) (unread []error, err error) {
	var words, hints []string
	for _, read := range []func(fs.FS, Need) ([]limit, error){
		userLimit, systemLimits, pidsLimits, mappingLimit, addressLimit, memoryLimit,
	} {
		limits, err := read(fsys, n)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			unread = append(unread, err)
		}
		for _, l := range limits {
			if room := l.max - min(l.max, l.used); room < l.need {
				words = append(words, fmt.Sprintf("%s leaves room for %d of the %d %s that are needed", l.name, room, l.need, l.unit))
				hints = append(hints, strings.ReplaceAll(l.hint, "NEEDED", strconv.FormatUint(l.used+l.need, 10)))
			}
		}
	}
	if words == nil {
		return unread, nil
	}
	return unread, hint.With(errors.New(strings.Join(words, "; ")), strings.Join(hints, "; "))
}

func (n Need) threads() uint64 { return uint64(n.Threads + n.Others) }

// userLimit returns RLIMIT_NPROC, on the threads of the real user ID (getrlimit(2); kernel/fork.c, copy_process). It does
// not apply to root and two capabilities in the initial user namespace, which maps the whole range of IDs to itself.
func userLimit(fsys fs.FS, n Need) ([]limit, error) {
	soft, limited, err := readRlimit(fsys, "Max processes")
	if err != nil || !limited {
		return nil, err
	}
	self, err := readStatus(fsys, "proc/self/status")
	if err != nil {
		return nil, err
	}
	idMap, err := sysfs.ReadString(fsys, "proc/self/uid_map")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without user namespaces there is only the initial one
		return nil, err
	}
	const sysAdmin, sysResource = 1 << 21, 1 << 24 // include/uapi/linux/capability.h
	initial := idMap == "" || strings.Join(strings.Fields(idMap), " ") == "0 0 4294967295"
	if initial && (self.uid == 0 || self.capabilities&(sysAdmin|sysResource) != 0) {
		return nil, nil
	}
	used, err := countThreads(fsys, self.uid)
	return []limit{{"RLIMIT_NPROC", "threads", soft, used, n.threads(), "ulimit -u NEEDED, or as root: prlimit --pid $$ --nproc=NEEDED"}}, err
}

// countThreads returns the number of threads of a user's processes. Processes that end while it reads, or that may not
// be read (hidepid), are left out.
func countThreads(fsys fs.FS, uid uint64) (threads uint64, err error) {
	files, err := fs.Glob(fsys, "proc/[0-9]*/status")
	for _, file := range files {
		s, err := readStatus(fsys, file)
		if errors.Is(err, sysfs.ErrMalformed) {
			return 0, err
		}
		if err == nil && s.uid == uid {
			threads += s.threads
		}
	}
	return threads, err
}

// systemLimits returns kernel.threads-max, on all threads of the system, and kernel.pid_max, on those of a PID
// namespace (of the system before Linux 6.14), which has no more.
func systemLimits(fsys fs.FS, n Need) (limits []limit, err error) {
	text, err := sysfs.ReadString(fsys, "proc/loadavg")
	if err != nil {
		return nil, err
	}
	threads, err := parseLoadavg(text)
	if err != nil {
		return nil, sysfs.Malformed("proc/loadavg", "%v", err)
	}
	for _, l := range []limit{{name: "threads-max", used: threads}, {name: "pid_max", used: threads + pidsReserved}} {
		most, unread := readMost(fsys, "proc/sys/kernel/"+l.name)
		if unread == nil {
			name := "kernel." + l.name
			limits = append(limits, limit{name, "threads", most, l.used, n.threads(), "as root: sysctl -w " + name + "=NEEDED"})
		} else if !errors.Is(unread, fs.ErrNotExist) {
			err = errors.Join(err, unread)
		}
	}
	return limits, err
}

// readMost reads a file with a maximum.
func readMost(fsys fs.FS, file string) (uint64, error) {
	most, err := sysfs.ReadInt(fsys, file)
	if err == nil && most < 0 {
		err = sysfs.Malformed(file, "%d is not a maximum", most)
	}
	return uint64(most), err
}

// pidsLimits returns the limits of the pids controller, of this control group and its ancestors.
func pidsLimits(fsys fs.FS, n Need) (limits []limit, err error) {
	groups, err := cgroup.ReadPids(fsys)
	for _, g := range groups {
		limits = append(limits, limit{
			g.File, "threads", g.Max, g.Used, n.threads(),
			"as root: echo NEEDED > " + g.File + " (systemd: TasksMax=NEEDED; Docker: --pids-limit NEEDED)",
		})
	}
	return limits, err
}

// mappingLimit returns vm.max_map_count, on the mappings of this process.
func mappingLimit(fsys fs.FS, n Need) ([]limit, error) {
	most, err := readMost(fsys, "proc/sys/vm/max_map_count")
	if err != nil {
		return nil, err
	}
	maps, err := fs.ReadFile(fsys, "proc/self/maps")
	return []limit{{
		"vm.max_map_count", "mappings", most, uint64(strings.Count(string(maps), "\n")),
		uint64(n.Threads) * threadMappings, "as root: sysctl -w vm.max_map_count=NEEDED",
	}}, err
}

// addressLimit returns RLIMIT_AS, on the address space of this process.
func addressLimit(fsys fs.FS, n Need) ([]limit, error) {
	soft, limited, err := readRlimit(fsys, "Max address space")
	if err != nil || !limited {
		return nil, err
	}
	used, err := sysfs.ReadKB(fsys, "proc/self/status", "VmSize")
	return []limit{{"RLIMIT_AS", "bytes", soft, used, uint64(n.Threads) * threadAddresses, "ulimit -v unlimited"}}, err
}

// memoryLimit returns what AvailableMemory returns.
func memoryLimit(fsys fs.FS, n Need) ([]limit, error) {
	name, room, err := AvailableMemory(fsys)
	need := uint64(min(n.Bytes+float64(n.threads()*threadBytes), 1<<62))
	return []limit{{name, "bytes", room, 0, need, "free some memory, or raise the limit of the control group"}}, err
}

// AvailableMemory returns the bytes of memory that this process and its children may still use, and the name of the limit.
func AvailableMemory(fsys fs.FS) (name string, bytes uint64, err error) {
	name = "MemAvailable"
	bytes, err = sysfs.ReadKB(fsys, "proc/meminfo", name)
	if err != nil {
		bytes = math.MaxUint64
	}
	groups, groupsErr := cgroup.ReadMemory(fsys)
	for _, g := range groups {
		if room := g.Max - min(g.Max, g.Used); room < bytes {
			name, bytes = g.File, room
		}
	}
	return name, bytes, errors.Join(err, groupsErr)
}
