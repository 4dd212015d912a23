package cgroup

import (
	"errors"
	"io/fs"
	"path"

	"gorun/internal/cpuset"
	"gorun/internal/sysfs"
)

// ReadCPUs returns the CPUs that the process's group has (cpuset.cpus.effective; in version 1 cpuset.effective_cpus, or
// cpuset.cpus before Linux 3.17), from the nearest group that reports them. The set is empty if none does.
func ReadCPUs(fsys fs.FS) (cpuset.Set, error) {
	groups, err := find(fsys, "cpuset")
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
