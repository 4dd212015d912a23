package topology

import (
	"errors"
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
func (r *reader) readLLCs(online []*CPU) ([]LLC, error) {
	byLevel, err := r.readCaches(online)
	if err != nil {
		return nil, err
	}
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
	for i, n := range number(keys) {
		if n == len(llcs) {
			llc := LLC{LLC: n, Level: levels[i]}
			if llc.SizeBytes, err = r.readCacheSize(keys[i].cache); err != nil {
				return nil, err
			}
			llcs = append(llcs, llc)
		}
		online[i].LLC = n
		llcs[n].CPUs = llcs[n].CPUs.With(online[i].CPU)
	}
	return llcs, nil
}

// readCaches reads the last cache that each CPU's own files tell of, by level.
func (r *reader) readCaches(online []*CPU) (map[int]partition, error) {
	byLevel := map[int]partition{}
	var overlapping []*CPU
	for _, c := range online {
		level, shared, err := r.readLastCache(cpuFile(c.CPU, "cache"))
		if err != nil {
			return nil, err
		}
		if level == 0 {
			continue
		}
		if byLevel[level] == nil {
			byLevel[level] = partition{}
		}
		merged, err := byLevel[level].merge(c.CPU, shared)
		if err != nil {
			return nil, err
		}
		if merged {
			overlapping = append(overlapping, c)
		}
	}
	if len(overlapping) > 0 {
		r.warn("the last-level caches of CPUs %s overlap others without being the same; such are taken for one",
			numbersOf(overlapping))
	}
	return byLevel, nil
}

// readLastCache reads the level and the sharers of the highest data or unified cache in cpuN/cache
// (Documentation/ABI/testing/sysfs-devices-system-cpu); level 0 where there is none.
func (r *reader) readLastCache(dir string) (int, sharing, error) {
	entries, err := fs.ReadDir(r.fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, sharing{}, nil
	}
	if err != nil {
		return 0, sharing{}, err
	}
	byLevel := map[int]string{}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "index") {
			continue
		}
		index := dir + "/" + entry.Name()
		kind, _, err := r.optional(index + "/type")
		if err != nil {
			return 0, sharing{}, err
		}
		level, _, err := r.readNumber(index + "/level")
		if err != nil {
			return 0, sharing{}, err
		}
		if kind != "Instruction" && level > 0 {
			byLevel[level] = index
		}
	}
	for _, level := range slices.Backward(slices.Sorted(maps.Keys(byLevel))) {
		if shared, ok, err := r.readSharing(byLevel[level], "shared_cpu_list"); ok || err != nil {
			return level, shared, err
		}
	}
	return 0, sharing{}, nil
}

// readCacheSize reads the size of a cache from beside the file that tells its sharers; nil where it is not recorded.
func (r *reader) readCacheSize(cache *sharing) (*uint64, error) {
	if cache == nil {
		return nil, nil
	}
	file := path.Dir(cache.file) + "/size"
	if _, ok, err := r.optional(file); !ok {
		return nil, err
	}
	bytes, err := sysfs.ReadSize(r.fsys, file)
	return &bytes, err
}
