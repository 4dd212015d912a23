package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"gorun/internal/sysfs"
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
		cpus, has, err := groups.readQuota(fsys, dir)
		if err != nil {
			return Quota{}, err
		}
		if has && (q.CPUs == 0 || cpus < q.CPUs) {
			q.CPUs, q.File = cpus, "/"+groups.quotaFile(dir)
		}
		if i == 0 && groups.own {
			q.Leaf = cpus
		}
	}
	return q, nil
}

// readQuota returns the quota of one group.
func (h hierarchy) readQuota(fsys fs.FS, dir string) (cpus float64, limited bool, err error) {
	name := h.quotaFile(dir)
	text, err := sysfs.ReadString(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err == nil && !h.v2 && text != "-1" {
		var period string
		period, err = sysfs.ReadString(fsys, path.Join(dir, "cpu.cfs_period_us"))
		text += " " + period
	}
	if err != nil || text == "-1" && !h.v2 {
		return 0, false, err
	}
	if cpus, limited, err = parseQuota(text); err != nil {
		return 0, false, sysfs.Malformed(name, "%v", err)
	}
	return cpus, limited, nil
}

// quotaFile returns the name of the file with a group's quota.
func (h hierarchy) quotaFile(dir string) string {
	if h.v2 {
		return path.Join(dir, "cpu.max")
	}
	return path.Join(dir, "cpu.cfs_quota_us")
}

// parseQuota parses "QUOTA PERIOD", both in microseconds; a quota of "max" is none.
func parseQuota(text string) (cpus float64, limited bool, err error) {
	quotaText, periodText, _ := strings.Cut(text, " ")
	if quotaText == "max" {
		return 0, false, nil
	}
	quota, quotaErr := strconv.ParseUint(quotaText, 10, 64)
	period, periodErr := strconv.ParseUint(periodText, 10, 64)
	if quotaErr != nil || periodErr != nil || quota == 0 || period == 0 {
		return 0, false, fmt.Errorf("%.40q is not a quota and a period", text)
	}
	return float64(quota) / float64(period), true, nil
}

// Throttling counts how often and how long the CPU quotas of the process's group and its ancestors have stopped it,
// since each group was created.
type Throttling struct {
	Periods   uint64  // periods with runnable threads
	Throttled uint64  // periods in which the quota ran out
	Seconds   float64 // throttled time, summed over CPUs
}

// Groups are the control group of this process and its ancestors, of the CPU controller.
type Groups struct {
	fsys fs.FS
	cpu  hierarchy
}

// FindGroups finds the groups, which takes longer than reading their throttling. A process that is moved to another
// group has to find them again. If the groups are not visible the error wraps fs.ErrNotExist: their quotas are unknown,
// not zero.
func FindGroups(fsys fs.FS) (Groups, error) {
	switch text, err := sysfs.ReadString(fsys, membershipFile); {
	case err != nil:
		return Groups{}, err
	case text == "":
		return Groups{}, fmt.Errorf("%s: it names no group: %w", membershipFile, fs.ErrNotExist)
	}
	cpu, err := find(fsys, "cpu")
	if err == nil && cpu.hidden {
		err = fmt.Errorf("%s: no mounted hierarchy has the CPU controller's group: %w", mountsFile, fs.ErrNotExist)
	}
	return Groups{fsys, cpu}, err
}

// ReadThrottling returns the throttling, from cpu.stat of each group that has a quota; it is zero if none has. A group
// with a quota but without the counters is an error that wraps fs.ErrNotExist. A group with the counters but without a
// quota file is read like one with a quota.
func (g Groups) ReadThrottling() (Throttling, error) {
	fsys, groups := g.fsys, g.cpu
	var sum Throttling
	for _, dir := range groups.dirs {
		_, limited, err := groups.readQuota(fsys, dir)
		if err != nil {
			return Throttling{}, err
		}
		hidden := false
		if !limited {
			_, err := fs.Stat(fsys, groups.quotaFile(dir))
			if hidden = err != nil; !hidden {
				continue
			}
		}
		t, err := groups.readThrottling(fsys, path.Join(dir, "cpu.stat"))
		if hidden && errors.Is(err, fs.ErrNotExist) {
			continue // a group without the controller
		}
		if err != nil {
			return Throttling{}, err
		}
		sum.Periods += t.Periods
		sum.Throttled += t.Throttled
		sum.Seconds += t.Seconds
	}
	return sum, nil
}

// readThrottling reads the counters of one group.
func (h hierarchy) readThrottling(fsys fs.FS, name string) (t Throttling, err error) {
	stat, err := readStat(fsys, name)
	if err != nil {
		return t, err
	}
	timeKey, unit := "throttled_usec", 1e6
	if !h.v2 {
		timeKey, unit = "throttled_time", 1e9
	}
	for _, key := range []string{"nr_periods", "nr_throttled", timeKey} {
		if _, ok := stat[key]; !ok {
			return t, fmt.Errorf("%s: %s: %w", name, key, fs.ErrNotExist)
		}
	}
	return Throttling{stat["nr_periods"], stat["nr_throttled"], float64(stat[timeKey]) / unit}, nil
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
