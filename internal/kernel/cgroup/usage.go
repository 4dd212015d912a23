package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gorun/internal/kernel/sysfs"
)

// CPUSeconds returns the CPU time of all processes that are or were in a control group or in one below it: usage_usec of
// cpu.stat, which a group of version 2 has also without the CPU controller; in version 1 cpuacct.usage. dir is a name in
// fsys. In version 1 it may be of any controller: the group's time is in the directory that has the same path in the
// hierarchy of cpuacct. A group without a count is an error that wraps fs.ErrNotExist.
func CPUSeconds(fsys fs.FS, dir string) (seconds float64, err error) {
	mounts, err := readLines(fsys, mountsFile, parseMount)
	if err != nil {
		return 0, err
	}
	of, below, ok := mountOf(mounts, dir)
	switch {
	case !ok:
		return 0, fmt.Errorf("%s: it is not in a mounted hierarchy of control groups: %w", dir, fs.ErrNotExist)
	case of.v2:
		return usageOfStat(fsys, path.Join(dir, "cpu.stat"))
	}
	if !slices.Contains(of.options, accounting) {
		if dir, ok = inAccounting(fsys, mounts, path.Join(of.root, below)); !ok {
			return 0, fmt.Errorf("%s: the hierarchy of %s has no such group: %w", path.Join(of.root, below), accounting, fs.ErrNotExist)
		}
	}
	name := path.Join(dir, "cpuacct.usage")
	text, err := sysfs.ReadString(fsys, name)
	if err != nil {
		return 0, err
	}
	nanoseconds, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, sysfs.Malformed(name, "%.40q is not a number", text)
	}
	return float64(nanoseconds) / 1e9, nil
}

// Processes returns the PIDs of all processes in a control group and in those below it (cgroup.procs). It leaves out groups that
// are removed meanwhile, and groups of version 2 that list threads and no processes.
func Processes(fsys fs.FS, dir string) (pids []int, err error) {
	err = fs.WalkDir(fsys, dir, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != dir {
			return nil
		}
		if err != nil || !entry.IsDir() {
			return err
		}
		file := path.Join(name, "cgroup.procs")
		text, err := sysfs.ReadString(fsys, file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENODEV) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, field := range strings.Fields(text) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				return sysfs.Malformed(file, "%.40q is not a PID", field)
			}
			pids = append(pids, pid)
		}
		return nil
	})
	return pids, err
}

// accounting is the controller of version 1 that counts CPU time.
const accounting = "cpuacct"

// mountOf returns the mounted hierarchy that a directory is in, and the directory's path below the mount point. Of several
// mounts at one point, the last hides the others.
func mountOf(mounts []mount, dir string) (of mount, below string, found bool) {
	for _, m := range mounts {
		if m.point == "" { // another file system
			continue
		}
		if rest, ok := within(path.Join("/", m.point), path.Join("/", dir)); ok && len(m.point) >= len(of.point) {
			of, below, found = m, rest, true
		}
	}
	return of, below, found
}

// inAccounting returns the directory of a group in the hierarchy of version 1 that counts CPU time.
func inAccounting(fsys fs.FS, mounts []mount, group string) (dir string, found bool) {
	mounts = slices.DeleteFunc(slices.Clone(mounts), func(m mount) bool { return m.v2 || !slices.Contains(m.options, accounting) })
	dirs, found := locate(fsys, mounts, group)
	if !found {
		return "", false
	}
	return dirs[0], true
}

func usageOfStat(fsys fs.FS, name string) (seconds float64, err error) {
	stat, err := readStat(fsys, name)
	if err != nil {
		return 0, err
	}
	microseconds, counted := stat["usage_usec"]
	if !counted {
		return 0, fmt.Errorf("%s: usage_usec: %w", name, fs.ErrNotExist)
	}
	return float64(microseconds) / 1e6, nil
}
