package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/kernel/sysfs"
)

// Quota is the CPU time per second that the process may use, in CPUs.
type Quota struct {
	CPUs   float64 // the least quota of its group and the ancestors; 0: none that is visible
	File   string  // absolute path of the file with it, for raising it
	Leaf   float64 // the quota of its own group; 0: none, or the group is not visible
	Hidden bool    // no group is visible, so that it is not known whether one has a quota
}

// ReadQuota returns the quota of the process (cpu.max; in version 1 cpu.cfs_quota_us and cpu.cfs_period_us).
func ReadQuota(fsys fs.FS) (Quota, error) {
	groups, err := find(fsys, "cpu")
	if err != nil {
		return Quota{}, err
	}
	q := Quota{Hidden: groups.hidden}
	for i, dir := range groups.dirs {
		cpus, _, err := groups.readQuota(fsys, dir)
		if err != nil {
			return Quota{}, err
		}
		if cpus > 0 && (q.CPUs == 0 || cpus < q.CPUs) {
			q.CPUs, q.File = cpus, "/"+groups.quotaFile(dir)
		}
		if i == 0 && groups.own {
			q.Leaf = cpus
		}
	}
	return q, nil
}

// readQuota returns the quota of one group, 0 if it has none, and reports whether the group has the file.
func (h hierarchy) readQuota(fsys fs.FS, dir string) (cpus float64, found bool, err error) {
	name := h.quotaFile(dir)
	text, err := sysfs.ReadString(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err == nil && !h.v2 {
		if text == "-1" {
			return 0, true, nil
		}
		var period string
		period, err = sysfs.ReadString(fsys, path.Join(dir, "cpu.cfs_period_us"))
		text += " " + period
	}
	if err != nil {
		return 0, true, err
	}
	if cpus, err = parseQuota(text); err != nil {
		err = sysfs.Malformed(name, "%v", err)
	}
	return cpus, true, err
}

// quotaFile returns the name of the file with a group's quota.
func (h hierarchy) quotaFile(dir string) string {
	if h.v2 {
		return path.Join(dir, "cpu.max")
	}
	return path.Join(dir, "cpu.cfs_quota_us")
}

// parseQuota parses "QUOTA PERIOD", both in microseconds; a quota of "max" is none.
func parseQuota(text string) (cpus float64, err error) {
	quotaText, periodText, _ := strings.Cut(text, " ")
	if quotaText == "max" {
		return 0, nil
	}
	quota, quotaErr := strconv.ParseUint(quotaText, 10, 64)
	period, periodErr := strconv.ParseUint(periodText, 10, 64)
	if quotaErr != nil || periodErr != nil || quota == 0 || period == 0 {
		return 0, fmt.Errorf("%.40q is not a quota and a period", text)
	}
	return float64(quota) / float64(period), nil
}

// Groups are the control group of a process and its ancestors, of the CPU controller.
type Groups struct {
	fsys fs.FS
	cpu  hierarchy
	err  error // why they are not known
}

// FindGroups finds the groups, which takes longer than reading their throttling. A process that is moved to another
// group has to find them again.
func FindGroups(fsys fs.FS) Groups { return findGroups(fsys, self) }

// FindGroupsOf finds those of another process. One that has ended is in no group, or in the root group (version 1).
func FindGroupsOf(fsys fs.FS, pid int) Groups { return findGroups(fsys, strconv.Itoa(pid)) }

// Without returns the groups that are not among others.
func (g Groups) Without(others Groups) Groups {
	g.cpu.dirs = slices.DeleteFunc(slices.Clone(g.cpu.dirs), func(dir string) bool { return slices.Contains(others.cpu.dirs, dir) })
	return g
}

func findGroups(fsys fs.FS, pid string) Groups {
	text, err := sysfs.ReadString(fsys, membershipFile(pid))
	if err == nil && text == "" {
		err = fmt.Errorf("%s: it names no group: %w", membershipFile(pid), fs.ErrNotExist)
	}
	if err != nil {
		return Groups{err: err}
	}
	cpu, err := findOf(fsys, pid, "cpu")
	if err == nil && cpu.hidden {
		err = fmt.Errorf("%s: no mounted hierarchy has the CPU controller's group: %w", mountsFile, fs.ErrNotExist)
	}
	return Groups{fsys, cpu, err}
}

// ReadThrottling returns for how long the CPU quotas of the groups have stopped the process since each group was
// created, in seconds, summed over CPUs, from cpu.stat of each group that has a quota; it is zero if none has. A group
// with a quota but without the counter is an error that wraps fs.ErrNotExist. A group with the counter but without a
// quota file is read like one with a quota. If the groups are not visible the error wraps fs.ErrNotExist: their quotas
// are unknown, not zero.
func (g Groups) ReadThrottling() (seconds float64, err error) {
	if g.err != nil {
		return 0, g.err
	}
	key, unit := "throttled_usec", 1e6
	if !g.cpu.v2 {
		key, unit = "throttled_time", 1e9
	}
	for _, dir := range g.cpu.dirs {
		cpus, found, err := g.cpu.readQuota(g.fsys, dir)
		if err != nil {
			return 0, err
		}
		if found && cpus == 0 {
			continue
		}
		name := path.Join(dir, "cpu.stat")
		stat, err := readStat(g.fsys, name)
		throttled, counted := stat[key]
		if err == nil && !counted {
			err = fmt.Errorf("%s: %s: %w", name, key, fs.ErrNotExist)
		}
		if !found && errors.Is(err, fs.ErrNotExist) {
			continue // a group without the controller
		}
		if err != nil {
			return 0, err
		}
		seconds += float64(throttled) / unit
	}
	return seconds, nil
}

// readStat reads a file with lines of "key number", such as cpu.stat and memory.stat.
func readStat(fsys fs.FS, name string) (map[string]uint64, error) {
	text, err := sysfs.ReadString(fsys, name)
	if err != nil {
		return nil, err
	}
	stat := make(map[string]uint64)
	for line := range strings.Lines(text) {
		key, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return nil, sysfs.Malformed(name, "%.40q is not a name and a number", line)
		}
		stat[key] = n
	}
	return stat, nil
}
