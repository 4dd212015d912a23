package topology

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"gorun/internal/sysfs"
)

// llcKey tells last-level caches apart: by the CPUs that share one or, where no cache is recorded, by what is taken for
// one: a die, or a core (-1 for a whole die).
type llcKey struct {
	cache          *sharing
	pkg, die, core int
}

// readLLCs sets LLC and returns the caches. Package, Die and Core must be set.
//
// The last level is each CPU's own: beside cores under an L3 there may be some that end at their L2 (low-power cores of
// a hybrid chip). Where no CPU has a cache recorded, each die is taken for an LLC (a package where dies are not told
// apart); where only some lack one, and are not among the sharers of another CPU's, each of their cores is.
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
		r.warn("no cache is recorded; each die, or package where dies are not told apart, is taken for an LLC")
	case len(lacking) > 0:
		r.warn("no cache is recorded for CPUs %s; each of their cores is taken for an LLC", numbersOf(lacking))
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

// readCaches reads the last cache that each CPU's own files have, by level.
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
// (Documentation/ABI/testing/sysfs-devices-system-cpu); level 0 where there is none.
func (r *reader) readLastCache(cpu int) (int, sharing) {
	byLevel := r.readCacheDirs(cpu)
	for _, level := range slices.Backward(slices.Sorted(maps.Keys(byLevel))) {
		for _, dir := range byLevel[level] {
			if !r.isData(dir) {
				continue
			}
			if shared, ok := r.readSharing(cpu, dir, "shared_cpu_list"); ok {
				return level, shared
			}
		}
	}
	return 0, sharing{}
}

// readCacheDirs returns the directories of a CPU's caches whose level is recorded, by level.
func (r *reader) readCacheDirs(cpu int) map[int][]string {
	dir, byLevel := cpuFile(cpu, "cache"), map[int][]string{}
	entries, err := fs.ReadDir(r.fsys, dir)
	if !r.read(err) {
		return nil
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "index") {
			continue
		}
		index := dir + "/" + entry.Name()
		if level, ok := r.readNumber(index + "/level"); ok && level > 0 {
			byLevel[level] = append(byLevel[level], index)
		}
	}
	return byLevel
}

// isData reports whether a cache holds data; one without a type is taken for a cache of data.
func (r *reader) isData(dir string) bool {
	name := dir + "/type"
	kind, err := sysfs.ReadString(r.fsys, name)
	if err == nil && !slices.Contains([]string{"Data", "Instruction", "Unified"}, kind) {
		err = sysfs.Malformed(name, "%.40q is no type of a cache", kind)
	}
	r.read(err)
	return kind != "Instruction"
}

// readCacheSize reads the size of a cache from beside the file that has its sharers; nil where it is not recorded.
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
