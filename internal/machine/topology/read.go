package topology

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"gorun/internal/base/lazy"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
)

// cpuDir holds the CPUs: Documentation/admin-guide/cputopology.rst,
// Documentation/ABI/testing/sysfs-devices-system-cpu.
const cpuDir = "sys/devices/system/cpu"

// Read reads the machine from the files under sys/devices/system, and the affinity mask from proc/self/status if it
// exists. Values that a kernel may omit are substituted, with a warning if the substitute is more than a default. A
// file that cannot be read, is malformed or contradicts others is ignored, with a warning that names it. It returns
// an error only if no file says which CPUs there are, or if the affinity mask is malformed.
func Read(fsys fs.FS) (*Machine, error) { return ReadThis(fsys, nil) }

// ReadThis is Read for the machine that this process runs on. If no file has the affinity mask it calls affinity, and
// if no file lists the CPUs it uses those of the mask. A nil affinity means a captured machine.
func ReadThis(fsys fs.FS, affinity func() (cpuset.Set, error)) (*Machine, error) {
	r := &reader{fsys: fsys, affinity: affinity}
	m, err := r.machine()
	if err != nil {
		return nil, fmt.Errorf("cannot understand this machine: %w", err)
	}
	return m, nil
}

// reader is one reading of a machine.
type reader struct {
	fsys     fs.FS
	affinity func() (cpuset.Set, error) // asks the kernel for this process's mask; nil: a captured machine
	online   cpuset.Set
	warnings []string
	alike    map[string]*alike // by file name without numbers
}

// alike counts further faults in files of one kind; warning is the index of the first fault's warning. A machine may
// have thousands.
type alike struct{ warning, more int }

func (r *reader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// read reports whether a file was read and understood, given its error. An absent file gives false without a warning;
// any other error becomes a warning.
func (r *reader) read(err error) bool {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.fault(err, "it is left out")
	}
	return err == nil
}

var digits = lazy.Regexp("[0-9]+")

// fault adds a warning about the file named by err, and what is done instead. For files whose names differ only in
// numbers (cpu0, cpu1) it names the first and counts the others.
func (r *reader) fault(err error, done string) {
	name, _, _ := strings.Cut(err.Error(), ": ")
	kind := digits().ReplaceAllString(name, "N")
	if f := r.alike[kind]; f != nil {
		f.more++
		return
	}
	if r.alike == nil {
		r.alike = map[string]*alike{}
	}
	r.alike[kind] = &alike{warning: len(r.warnings)}
	r.warn("%v; %s", err, done)
}

// finished returns the warnings, each with the number of further files of its kind.
func (r *reader) finished() []string {
	for _, f := range r.alike {
		if f.more > 0 {
			r.warnings[f.warning] += fmt.Sprintf(" (and %d like it)", f.more)
		}
	}
	return r.warnings
}

// machine reads all parts, each after the parts that it depends on.
func (r *reader) machine() (*Machine, error) {
	present, err := r.readPresentAndOnline()
	if err != nil {
		if present, err = r.presentByMask(err); err != nil {
			return nil, err
		}
	}
	affinity, err := r.readAffinity()
	if err != nil {
		return nil, err
	}
	m := &Machine{devices: &deviceList{root: r.fsys}}
	index := map[int]*CPU{} // online
	m.CPUs = make([]CPU, 0, present.Len())
	for cpu := range present.All() {
		m.CPUs = append(m.CPUs, CPU{
			CPU: cpu, Core: Unknown, LLC: Unknown, Node: Unknown, Package: Unknown, Die: Unknown,
			Kind:   Unknown,
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
	r.readPackages(online)
	r.readCores(online)
	r.readClasses(online)
	m.LLCs = r.readLLCs(online)
	m.Nodes = r.readNodes(online)
	m.Isolated = r.readOptionalSet(cpuDir + "/isolated")
	m.NohzFull = r.readOptionalSet(cpuDir + "/nohz_full")
	m.Warnings = r.finished()
	m.SetAffinity(affinity)
	return m, nil
}

// readPresentAndOnline sets r.online and returns the present CPUs. Without the kernel's lists (before Linux 2.6.29),
// a CPU is present if it has a directory, and offline if cpuN/online says 0. If the two lists contradict each other,
// the directories decide.
func (r *reader) readPresentAndOnline() (present cpuset.Set, err error) {
	const presentFile, onlineFile = cpuDir + "/present", cpuDir + "/online"
	present, err = r.readList(presentFile)
	if !r.read(err) {
		if present, err = r.listNumbered(cpuDir, "cpu"); err != nil {
			return present, err
		}
	}
	r.online, err = r.readList(onlineFile)
	if !r.read(err) {
		r.online = r.readOnlineOneByOne(present)
	}
	if missing := r.online.Minus(present); !missing.Empty() {
		err := sysfs.Malformed(onlineFile, "CPUs %s are online and not among the present %s",
			shortened(missing), shortened(present))
		r.fault(err, "those with a directory count")
		if listed, err := r.listNumbered(cpuDir, "cpu"); err == nil {
			present = listed
		}
		r.online = r.online.Intersect(present)
	}
	if r.online.Empty() {
		return present, sysfs.Malformed(cpuDir, "no CPU is online")
	}
	return present, nil
}

// presentByMask sets r.online to the CPUs of the affinity mask, and returns them. It is used if no file lists the
// CPUs, for this reason.
func (r *reader) presentByMask(reason error) (cpuset.Set, error) {
	if r.affinity == nil {
		return cpuset.Set{}, reason
	}
	mask, err := r.affinity()
	if err != nil {
		return mask, fmt.Errorf("%w; %w", reason, err)
	}
	r.fault(reason, "only the CPUs of the affinity mask are known, and none of their cores, caches and nodes "+
		"(mount -t sysfs sysfs /sys)")
	r.online = mask
	return mask, nil
}

// readList reads a list of CPUs or nodes that cannot be empty.
func (r *reader) readList(name string) (cpuset.Set, error) {
	set, err := sysfs.ReadSet(r.fsys, name)
	if err == nil && set.Empty() {
		err = sysfs.Malformed(name, "the list is empty")
	}
	return set, err
}

// listNumbered returns the numbers N of the directory entries "prefixN".
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

// readOnlineOneByOne returns the CPUs that are not offline according to their own file. A CPU that cannot go offline
// has no such file, and some firmware leaves it empty.
func (r *reader) readOnlineOneByOne(present cpuset.Set) cpuset.Set {
	var online []int
	for cpu := range present.All() {
		name := cpuFile(cpu, "online")
		state, err := sysfs.ReadString(r.fsys, name)
		if err == nil && state != "0" && state != "1" {
			err = sysfs.Malformed(name, "%.40q is neither 0 nor 1", state)
		}
		if !r.read(err) || state == "1" {
			online = append(online, cpu)
		}
	}
	return cpuset.Of(online...)
}

func cpuFile(cpu int, name string) string { return cpuDir + "/cpu" + strconv.Itoa(cpu) + "/" + name }

// readOptionalSet reads an optional list. The kernel writes "(null)" for one that was never set up.
func (r *reader) readOptionalSet(name string) cpuset.Set {
	if text, err := sysfs.ReadString(r.fsys, name); err == nil && text == "(null)" {
		return cpuset.Set{}
	}
	set, err := sysfs.ReadSet(r.fsys, name)
	if !r.read(err) {
		return cpuset.Set{}
	}
	return set
}

// readNumber reads an optional number. The kernel writes -1 for "unknown".
func (r *reader) readNumber(name string) (n int, ok bool) {
	n, err := sysfs.ReadInt(r.fsys, name)
	return n, r.read(err)
}

// readAffinity reads the mask of this process (proc_pid_status(5)); it is empty if none is recorded. If a mask is
// recorded but neither of its forms can be parsed, that is an error, because the allowed CPUs are unknown.
func (r *reader) readAffinity() (cpuset.Set, error) {
	const name = "proc/self/status"
	var errs []error
	for _, form := range [...]struct {
		field string
		parse func(string) (cpuset.Set, error)
	}{{"Cpus_allowed_list", cpuset.Parse}, {"Cpus_allowed", sysfs.ParseMask}} {
		text, err := sysfs.ReadField(r.fsys, name, form.field)
		if err == nil {
			var mask cpuset.Set
			mask, err = form.parse(text)
			if err == nil && mask.Intersect(r.online).Empty() {
				err = errors.New("no online CPU is in it")
			}
			if err == nil {
				for _, err := range errs {
					r.fault(err, "it is left out")
				}
				return mask, nil
			}
			err = sysfs.Malformed(name, "field %s: %v", form.field, err)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if r.affinity != nil {
		if mask, err := r.affinity(); err == nil && !mask.Intersect(r.online).Empty() {
			for _, err := range errs {
				r.fault(err, "the kernel's own answer counts")
			}
			return mask, nil
		}
	}
	if len(errs) > 0 {
		return cpuset.Set{}, errs[0]
	}
	if _, err := fs.Stat(r.fsys, name); err == nil || r.affinity != nil {
		r.warn("%s: it has no affinity mask; every online CPU is taken for ours", name)
	}
	return cpuset.Set{}, nil
}

// readSharing reads the online CPUs that share something with a CPU, from the first file that contains the CPU
// itself. Each name is a list; if it is missing, the bitmap file is read, the only one before Linux 2.6.27.
func (r *reader) readSharing(cpu int, dir string, lists ...string) (s sharing, ok bool) {
	for _, list := range lists {
		for _, form := range [...]struct {
			name string
			read func(fs.FS, string) (cpuset.Set, error)
		}{{list, sysfs.ReadSet}, {bitmapTwin(list), sysfs.ReadMask}} {
			file := dir + "/" + form.name
			cpus, err := form.read(r.fsys, file)
			if err == nil && !cpus.Contains(cpu) {
				err = sysfs.Malformed(file, "CPU %d is not among the CPUs %q that share with it", cpu, shortened(cpus))
			}
			if r.read(err) {
				return sharing{file: file, cpus: cpus.Intersect(r.online)}, true
			}
		}
	}
	return s, false
}

// shortened formats a set for a warning; of thousands of ranges it shows the beginning.
func shortened(cpus cpuset.Set) string {
	const most = 60
	if text := cpus.String(); len(text) > most {
		return text[:most] + "…"
	}
	return cpus.String()
}

// bitmapTwin returns the name of the bitmap file with the same content as a list file.
func bitmapTwin(list string) string {
	switch list {
	case "shared_cpu_list":
		return "shared_cpu_map"
	case "cpulist":
		return "cpumap"
	}
	return strings.TrimSuffix(list, "_list")
}

// numbersOf returns the numbers of CPUs as a set.
func numbersOf(cpus []*CPU) cpuset.Set {
	numbers := make([]int, len(cpus))
	for i, c := range cpus {
		numbers[i] = c.CPU
	}
	return cpuset.Of(numbers...)
}
