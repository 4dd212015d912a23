package topology

import (
	"io/fs"
	"maps"
	"slices"

	"gorun/internal/sysfs"
)

// Cache is a data cache of a CPU, with its level from 1.
type Cache struct {
	Level int
	Bytes uint64
}

// ReadCaches returns the data caches of a CPU, the smallest first
// (Documentation/ABI/testing/sysfs-devices-system-cpu); none if the kernel records none. A cache without a recorded
// level or size is left out; the warnings name malformed files, as in Machine.Warnings.
func ReadCaches(root fs.FS, cpu int) (caches []Cache, warnings []string) {
	r := &reader{fsys: root, alike: map[string]*alike{}}
	byLevel := r.readCacheDirs(cpu)
	for _, level := range slices.Sorted(maps.Keys(byLevel)) {
		for _, dir := range byLevel[level] {
			if !r.isData(dir) {
				continue
			}
			if bytes, err := sysfs.ReadSize(root, dir+"/size"); r.read(err) {
				caches = append(caches, Cache{Level: level, Bytes: bytes})
			}
		}
	}
	return caches, r.finished()
}
