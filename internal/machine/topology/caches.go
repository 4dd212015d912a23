package topology

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"gorun/internal/kernel/sysfs"
)

// llcKey identifies a last-level cache: by the CPUs that share it or, if no cache is recorded, by the die (core -1)
// or core that stands for one.
type llcKey struct {
	cache          *sharing
	pkg, die, core int
}

// readLLCs sets LLC and returns the caches. Package, Die and Core must be set.
//
// The last level may differ between CPUs: next to cores under an L3 there may be some whose last cache is an L2
// (low-power cores of a hybrid chip). If no CPU has a recorded cache, each die counts as an LLC (or each package, if
// dies are not recorded). If only some CPUs lack one and no other CPU lists them as sharers, each of their cores
// counts as an LLC.
func (r *reader) readLLCs(online []*CPU) []LLC {
	byLevel := r.readCaches(online)
	keys, levels := make([]llcKey, len(online)), make([]int, len(online))
	for i, c := range online {
		for level, caches := range byLevel {
			if caches[c.CPU] != nil && level > levels[i] {
				levels[i], keys[i].cache = level, caches[c.CPU]
			}
		}
	}
	var lacking []*CPU
	for i, c := range online {
		switch {
		case keys[i].cache != nil:
		case len(byLevel) == 0:
			keys[i] = llcKey{pkg: c.Package, die: c.Die, core: -1}
		default:
			keys[i] = llcKey{core: c.Core}
			lacking = append(lacking, c)
		}
	}
	switch {
	case len(byLevel) == 0:
		r.warn("no cache is recorded; each die counts as an LLC, or each package if dies are not recorded")
	case len(lacking) > 0:
		r.warn("no cache is recorded for CPUs %s; each of their cores counts as an LLC", numbersOf(lacking))
	}

	var llcs []LLC
	for i, n := range numberGroups(keys) {
		if n == len(llcs) {
			llcs = append(llcs, LLC{LLC: n, Level: levels[i], SizeBytes: r.readCacheSize(keys[i].cache)})
		}
		online[i].LLC = n
		llcs[n].CPUs = llcs[n].CPUs.With(online[i].CPU)
	}
	return llcs
}

// readCaches reads the last-level cache in each CPU's own files, grouped by level.
func (r *reader) readCaches(online []*CPU) map[int]partition {
	said, byLevel := map[int][]sharing{}, map[int]partition{}
	for _, c := range online {
		if level, s := r.readLastCache(c.CPU); level > 0 {
			said[level] = append(said[level], s)
		}
	}
	for _, level := range slices.Sorted(maps.Keys(said)) {
		byLevel[level] = r.gather(said[level], true)
	}
	return byLevel
}

// readLastCache reads the level and the sharers of the highest data or unified cache in cpuN/cache
// (Documentation/ABI/testing/sysfs-devices-system-cpu); level 0 if there is none.
func (r *reader) readLastCache(cpu int) (int, sharing) {
	for _, c := range slices.Backward(r.readCacheDirs(cpu)) {
		if !r.isData(c.dir) {
			continue
		}
		if shared, ok := r.readSharing(cpu, c.dir, "shared_cpu_list"); ok {
			return c.level, shared
		}
	}
	return 0, sharing{}
}

// cacheDir is the directory of the files of a CPU's cache, and the cache's level.
type cacheDir struct {
	level int
	dir   string
}

// readCacheDirs returns the directories of a CPU's caches with a recorded level, ascending.
func (r *reader) readCacheDirs(cpu int) (caches []cacheDir) {
	dir := cpuFile(cpu, "cache")
	entries, err := fs.ReadDir(r.fsys, dir)
	r.read(err)
	for _, entry := range entries {
		index := dir + "/" + entry.Name()
		if !strings.HasPrefix(entry.Name(), "index") {
			continue
		}
		if level, ok := r.readNumber(index + "/level"); ok && level > 0 {
			caches = append(caches, cacheDir{level, index})
		}
	}
	slices.SortStableFunc(caches, func(a, b cacheDir) int { return a.level - b.level })
	return caches
}

// isData reports whether a cache holds data; a cache without a recorded type does.
func (r *reader) isData(dir string) bool {
	name := dir + "/type"
	kind, err := sysfs.ReadString(r.fsys, name)
	if err == nil && !slices.Contains([]string{"Data", "Instruction", "Unified"}, kind) {
		err = sysfs.Malformed(name, "%.40q is not a type of cache", kind)
	}
	r.read(err)
	return kind != "Instruction"
}

// readCacheSize reads the size of a cache from the directory of its list of sharers; nil if it is not recorded.
func (r *reader) readCacheSize(cache *sharing) *uint64 {
	if cache == nil {
		return nil
	}
	bytes, err := sysfs.ReadSize(r.fsys, path.Dir(cache.file)+"/size")
	if !r.read(err) {
		return nil
	}
	return &bytes
}

// Cache is a data cache of a CPU, with its level from 1.
type Cache struct {
	Level int
	Bytes uint64
}

// ReadCaches returns the data caches of a CPU, the smallest first
// (Documentation/ABI/testing/sysfs-devices-system-cpu); none if the kernel records none. A cache without a recorded
// level or size is left out; the warnings name malformed files, as in Machine.Warnings.
func ReadCaches(root fs.FS, cpu int) (caches []Cache, warnings []string) {
	r := &reader{fsys: root}
	for _, c := range r.readCacheDirs(cpu) {
		if !r.isData(c.dir) {
			continue
		}
		if bytes, err := sysfs.ReadSize(root, c.dir+"/size"); r.read(err) {
			caches = append(caches, Cache{Level: c.level, Bytes: bytes})
		}
	}
	return caches, r.finished()
}
