package migrate

import (
	"fmt"
	"slices"

	"gorun/internal/base/bytesize"
	"gorun/internal/experiment"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// usual are working sets for a machine that does not record its caches.
var usual = []uint64{16 << 10, 512 << 10, 64 << 20}

// mostOfMemory is the part of the memory that there is room for which a working set by default takes at most.
const mostOfMemory = 4

// parseSizes reads --working-set; nil: the sizes follow from the machine's caches.
func parseSizes(text string) ([]uint64, error) {
	if text == all {
		return nil, nil
	}
	return bytesize.ParseList(text)
}

// sizesOn returns the sizes of --working-set, or sizes for the machine's caches, the smallest first. By default there are two,
// by a core's own largest cache and by its share of the last one: a move loses most of these, and they can be judged within seconds.
func (f *flags) sizesOn(m experiment.Machine, r *experiment.Resolution[Cell]) []uint64 {
	if len(f.sizes) > 0 {
		return f.sizes
	}
	cpu := m.CPUs.First()
	caches, odd := topology.ReadCaches(m.Root, cpu)
	r.Warnings = append(r.Warnings, result.OddMachine(odd)...)
	if len(caches) == 0 {
		r.Warnings = append(r.Warnings, result.Warning{
			Code: "no-caches", Message: fmt.Sprintf("no cache of CPU %d is recorded: the working sets are %s", cpu, list(usual)),
			Hint: "give the sizes that matter by --working-set",
		})
		return usual
	}
	var sizes []uint64
	own := caches[:len(caches)-1]
	if f.workingSet != all {
		own = own[max(0, len(own)-1):]
	}
	for _, cache := range own {
		sizes = append(sizes, cache.Bytes/2)
	}
	last := caches[len(caches)-1].Bytes
	of, _ := m.CPU(cpu)
	cores := m.OnePerCore(m.Where(func(c topology.CPU) bool { return c.LLC == of.LLC })) // that share the cache
	sizes = append(sizes, last/uint64(len(cores))/2)
	_, room, _ := linux.AvailableMemory(m.Root) // a limit that cannot be read does not count
	switch beyond := 2 * last; {
	case f.workingSet != all:
	case beyond <= room/mostOfMemory:
		sizes = append(sizes, beyond)
	default:
		r.Warnings = append(r.Warnings, result.Warning{
			Code: "no-beyond", Message: "there is too little memory for a working set of twice the last-level cache",
			Hint: "--working-set gives sizes",
		})
	}
	for i, size := range sizes {
		sizes[i] = max(bytesize.Page, size/bytesize.Page*bytesize.Page)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}
