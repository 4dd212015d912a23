package cgroup

import (
	"errors"
	"io/fs"
	"path"
	"strconv"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
)

// Limit is the limit of one group on a resource, and its use.
type Limit struct {
	File string // absolute path of the file with Max, for raising it
	Max  uint64
	Used uint64
}

// ReadPids returns the limits on the number of threads (pids.max, pids.current) of the process's group and its
// ancestors, innermost first. Groups without a limit are left out.
func ReadPids(fsys fs.FS) ([]Limit, error) {
	groups, err := find(fsys, "pids")
	if err != nil {
		return nil, err
	}
	return readLimits(fsys, groups.dirs, "pids.max", "pids.current")
}

// ReadMemory returns the limits on memory, in bytes (memory.max and memory.current; in version 1 memory.limit_in_bytes
// and memory.usage_in_bytes), of the process's group and its ancestors, innermost first. Groups without a limit are
// left out. Page cache that has not been used lately (inactive_file) is not counted as used: the kernel drops it first.
func ReadMemory(fsys fs.FS) ([]Limit, error) {
	groups, err := find(fsys, "memory")
	if err != nil {
		return nil, err
	}
	maxFile, usedFile, cacheKey := "memory.max", "memory.current", "inactive_file"
	if !groups.v2 {
		maxFile, usedFile, cacheKey = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
	}
	limits, err := readLimits(fsys, groups.dirs, maxFile, usedFile)
	if err != nil {
		return nil, err
	}
	for i := range limits {
		stat, err := readStat(fsys, path.Join(path.Dir(limits[i].File)[1:], "memory.stat"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		limits[i].Used -= min(limits[i].Used, stat[cacheKey])
	}
	return limits, nil
}

// readLimits reads a limit and its use in each of the groups.
func readLimits(fsys fs.FS, dirs []string, maxFile, usedFile string) ([]Limit, error) {
	var limits []Limit
	for _, dir := range dirs {
		maxName, usedName := path.Join(dir, maxFile), path.Join(dir, usedFile)
		most, limited, err := readMax(fsys, maxName)
		if err != nil {
			return nil, err
		}
		if !limited {
			continue
		}
		text, err := sysfs.ReadString(fsys, usedName)
		if err != nil {
			return nil, err
		}
		used, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, sysfs.Malformed(usedName, "%.40q is not a number", text)
		}
		limits = append(limits, Limit{"/" + maxName, most, used})
	}
	return limits, nil
}

// readMax reads a file that holds a limit, a number; limited is false for "max" and if there is no such file.
func readMax(fsys fs.FS, name string) (most uint64, limited bool, err error) {
	text, err := sysfs.ReadString(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil || text == "max" {
		return 0, false, err
	}
	most, err = strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false, sysfs.Malformed(name, "%.40q is neither a number nor max", text)
	}
	return most, most < noLimit, nil
}

// noLimit is the least number that means "no limit": for memory, version 1 writes LONG_MAX rounded down to a multiple
// of the page size.
const noLimit = 1 << 62

// MemoryKills is a memory limit, and the number of processes of the group killed by the OOM killer.
type MemoryKills struct {
	Limit
	Kills uint64 // 0: unknown
}

// ReadMemoryKills returns the limits of ReadMemory that may have killed processes. It omits limits that,
// according to the kernel, killed no process (oom_kill of memory.events; in version 1 of memory.oom_control).
func ReadMemoryKills(fsys fs.FS) ([]MemoryKills, error) {
	limits, err := ReadMemory(fsys)
	if err != nil {
		return nil, err
	}
	var killed []MemoryKills
	for _, l := range limits {
		file := "memory.events"
		if path.Base(l.File) != "memory.max" {
			file = "memory.oom_control"
		}
		stat, err := readStat(fsys, path.Join(path.Dir(l.File)[1:], file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if kills, counted := stat["oom_kill"]; !counted || kills > 0 {
			killed = append(killed, MemoryKills{l, kills})
		}
	}
	return killed, nil
}

// ReadCPUs returns the CPUs that the process's group has (cpuset.cpus.effective; in version 1 cpuset.effective_cpus, or
// cpuset.cpus before Linux 3.17), from the nearest group that reports them. The set is empty if none does.
func ReadCPUs(fsys fs.FS) (cpuset.Set, error) { return readCPUs(fsys, self) }

// CPUsOf returns what ReadCPUs does, for the group of another process.
func CPUsOf(fsys fs.FS, pid int) (cpuset.Set, error) { return readCPUs(fsys, strconv.Itoa(pid)) }

func readCPUs(fsys fs.FS, pid string) (cpuset.Set, error) {
	groups, err := findOf(fsys, pid, "cpuset")
	if err != nil {
		return cpuset.Set{}, err
	}
	files := []string{"cpuset.effective_cpus", "cpuset.cpus"}
	if groups.v2 {
		files = []string{"cpuset.cpus.effective"}
	}
	for _, dir := range groups.dirs {
		for _, file := range files {
			set, err := sysfs.ReadSet(fsys, path.Join(dir, file))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return cpuset.Set{}, err
			}
			if !set.Empty() {
				return set, nil
			}
		}
	}
	return cpuset.Set{}, nil
}
