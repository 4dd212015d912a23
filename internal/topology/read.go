package topology

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/sysfs"
)

// cpuDir holds the CPUs: Documentation/admin-guide/cputopology.rst, Documentation/ABI/testing/sysfs-devices-system-cpu.
const cpuDir = "sys/devices/system/cpu"

// Read reads the machine from the files under sys/devices/system (and proc/self/status for the affinity mask, where it
// is there). What a kernel may leave out is made up for, and a Warning says so where that is more than a default; a
// file that holds nonsense, or contradicts another one about CPUs, cores or packages, is an error that names it.
func Read(fsys fs.FS) (*Machine, error) {
	r := &reader{fsys: fsys}
	m, err := r.machine()
	if err != nil {
		return nil, fmt.Errorf("cannot understand this machine: %w", err)
	}
	return m, nil
}

// reader is one reading of a machine.
type reader struct {
	fsys     fs.FS
	online   cpuset.Set
	warnings []string
}

func (r *reader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// machine reads all parts in the order in which they need each other.
func (r *reader) machine() (*Machine, error) {
	present, err := r.readPresentAndOnline()
	if err != nil {
		return nil, err
	}
	m := &Machine{}
	index := map[int]*CPU{} // online
	m.CPUs = make([]CPU, 0, present.Len())
	for cpu := range present.All() {
		m.CPUs = append(m.CPUs, CPU{
			CPU: cpu, Core: Unknown, LLC: Unknown, Node: Unknown, Package: Unknown, Die: Unknown,
			Online: r.online.Contains(cpu),
		})
		if c := &m.CPUs[len(m.CPUs)-1]; c.Online {
			index[cpu] = c
		}
	}
	online := make([]*CPU, 0, len(index))
	for cpu := range r.online.All() {
		online = append(online, index[cpu])
	}
	for _, part := range []func([]*CPU) error{r.readPackages, r.readCores, r.readClasses} {
		if err := part(online); err != nil {
			return nil, err
		}
	}
	if m.LLCs, err = r.readLLCs(online); err != nil {
		return nil, err
	}
	if m.Nodes, err = r.readNodes(online); err != nil {
		return nil, err
	}
	if m.Isolated, err = r.readOptionalSet(cpuDir + "/isolated"); err != nil {
		return nil, err
	}
	if m.NohzFull, err = r.readOptionalSet(cpuDir + "/nohz_full"); err != nil {
		return nil, err
	}
	affinity, err := r.readAffinity()
	if err != nil {
		return nil, err
	}
	m.Warnings = r.warnings
	m.SetAffinity(affinity)
	return m, nil
}

// readPresentAndOnline sets r.online and returns the present CPUs. Without the kernel's own lists (they came with Linux
// 2.6.29), the CPUs are those with a directory, and offline where cpuN/online says 0.
func (r *reader) readPresentAndOnline() (present cpuset.Set, err error) {
	const presentFile, onlineFile = cpuDir + "/present", cpuDir + "/online"
	present, err = r.readList(presentFile)
	if errors.Is(err, fs.ErrNotExist) {
		present, err = r.listNumbered(cpuDir, "cpu")
	}
	if err != nil {
		return present, err
	}
	r.online, err = r.readList(onlineFile)
	if errors.Is(err, fs.ErrNotExist) {
		r.online, err = r.readOnlineOneByOne(present)
	}
	if err != nil {
		return present, err
	}
	if missing := r.online.Minus(present); !missing.Empty() {
		return present, sysfs.Malformed(onlineFile, "CPUs %s are online and not among the present %s", missing, present)
	}
	return present, nil
}

// readList reads a list of CPUs or nodes that cannot be empty.
func (r *reader) readList(name string) (cpuset.Set, error) {
	set, err := sysfs.ReadSet(r.fsys, name)
	if err == nil && set.Empty() {
		err = sysfs.Malformed(name, "the list is empty")
	}
	return set, err
}

// listNumbered returns N of each directory entry "prefixN".
func (r *reader) listNumbered(dir, prefix string) (cpuset.Set, error) {
	entries, err := fs.ReadDir(r.fsys, dir)
	if err != nil {
		return cpuset.Set{}, err
	}
	var numbers []int
	for _, entry := range entries {
		digits, ok := strings.CutPrefix(entry.Name(), prefix)
		if n, err := strconv.ParseUint(digits, 10, 16); ok && err == nil {
			numbers = append(numbers, int(n))
		}
	}
	if len(numbers) == 0 {
		return cpuset.Set{}, fmt.Errorf("%s/%s*: %w", dir, prefix, fs.ErrNotExist)
	}
	return cpuset.Of(numbers...), nil
}

func (r *reader) readOnlineOneByOne(present cpuset.Set) (cpuset.Set, error) {
	var online []int
	for cpu := range present.All() {
		name := cpuFile(cpu, "online")
		switch state, err := sysfs.ReadString(r.fsys, name); {
		case errors.Is(err, fs.ErrNotExist) || err == nil && state == "1": // a CPU that cannot go offline has no such file
			online = append(online, cpu)
		case err != nil:
			return cpuset.Set{}, err
		case state != "0":
			return cpuset.Set{}, sysfs.Malformed(name, "%q is neither 0 nor 1", state)
		}
	}
	if len(online) == 0 {
		return cpuset.Set{}, sysfs.Malformed(cpuDir, "no CPU is online")
	}
	return cpuset.Of(online...), nil
}

func cpuFile(cpu int, name string) string { return cpuDir + "/cpu" + strconv.Itoa(cpu) + "/" + name }

// optional reads a file that need not be there; an absent and an empty one are false.
func (r *reader) optional(name string) (text string, ok bool, err error) {
	text, err = sysfs.ReadString(r.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return text, err == nil && text != "", err
}

// readOptionalSet reads a list that need not be there. The kernel writes "(null)" for one that was never set up.
func (r *reader) readOptionalSet(name string) (cpuset.Set, error) {
	text, ok, err := r.optional(name)
	if !ok || text == "(null)" {
		return cpuset.Set{}, err
	}
	return sysfs.ReadSet(r.fsys, name)
}

// readNumber reads a number that need not be there; absent and empty are false. The kernel writes -1 for "unknown".
func (r *reader) readNumber(name string) (n int, ok bool, err error) {
	if _, ok, err = r.optional(name); ok {
		n, err = sysfs.ReadInt(r.fsys, name)
	}
	return n, ok && err == nil, err
}

// readAffinity reads the mask of this process, proc_pid_status(5); it is empty where none is recorded.
func (r *reader) readAffinity() (cpuset.Set, error) {
	const name = "proc/self/status"
	for _, form := range [...]struct {
		field string
		parse func(string) (cpuset.Set, error)
	}{{"Cpus_allowed_list", cpuset.Parse}, {"Cpus_allowed", sysfs.ParseMask}} {
		text, err := sysfs.ReadField(r.fsys, name, form.field)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return cpuset.Set{}, err
		}
		mask, err := form.parse(text)
		if err != nil {
			return cpuset.Set{}, sysfs.Malformed(name, "field %s: %v", form.field, err)
		}
		return mask, nil
	}
	return cpuset.Set{}, nil
}

// readSharing reads which online CPUs share something, from the first of the files that tells. Each name is a list;
// its bitmap twin, which is all that kernels before 2.6.27 have, is read where the list is not. An empty file counts
// as absent: a set of sharers holds at least the CPU itself.
func (r *reader) readSharing(dir string, lists ...string) (s sharing, ok bool, err error) {
	for _, list := range lists {
		for _, form := range [...]struct {
			name string
			read func(fs.FS, string) (cpuset.Set, error)
		}{{list, sysfs.ReadSet}, {bitmapTwin(list), sysfs.ReadMask}} {
			file := dir + "/" + form.name
			if _, ok, err = r.optional(file); err != nil {
				return s, false, err
			}
			if ok {
				cpus, err := form.read(r.fsys, file)
				return sharing{file, cpus.Intersect(r.online)}, err == nil, err
			}
		}
	}
	return s, false, nil
}

// bitmapTwin returns the name of the bitmap file that tells the same as a list file.
func bitmapTwin(list string) string {
	switch list {
	case "shared_cpu_list":
		return "shared_cpu_map"
	case "cpulist":
		return "cpumap"
	}
	return strings.TrimSuffix(list, "_list")
}

// numbersOf returns the numbers of some CPUs as a set.
func numbersOf(cpus []*CPU) cpuset.Set {
	numbers := make([]int, len(cpus))
	for i, c := range cpus {
		numbers[i] = c.CPU
	}
	return cpuset.Of(numbers...)
}

// without returns the CPUs for which known does not hold.
func without(cpus []*CPU, known func(*CPU) bool) []*CPU {
	return slices.DeleteFunc(slices.Clone(cpus), known)
}
