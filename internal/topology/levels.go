package topology

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"gorun/internal/sysfs"
)

// Cache is a data cache that a CPU reaches, by its level from 1.
type Cache struct {
	Level int
	Bytes uint64
}

// ReadCaches returns the data caches that a CPU reaches, the smallest first (Documentation/ABI/testing/
// sysfs-devices-system-cpu); none where the kernel does not tell.
func ReadCaches(root fs.FS, cpu int) ([]Cache, error) {
	dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/cache", cpu)
	entries, err := fs.ReadDir(root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var caches []Cache
	for _, entry := range entries {
		index := dir + "/" + entry.Name() + "/"
		kind, kindErr := sysfs.ReadString(root, index+"type")
		level, levelErr := sysfs.ReadInt(root, index+"level")
		bytes, sizeErr := sysfs.ReadSize(root, index+"size")
		if !strings.HasPrefix(entry.Name(), "index") || kind == "Instruction" {
			continue
		}
		if err := cmp.Or(kindErr, levelErr, sizeErr); errors.Is(err, fs.ErrNotExist) {
			continue // some hypervisors leave a file out
		} else if err != nil {
			return nil, err
		}
		caches = append(caches, Cache{Level: level, Bytes: bytes})
	}
	slices.SortFunc(caches, func(a, b Cache) int { return cmp.Compare(a.Level, b.Level) })
	return caches, err
}
