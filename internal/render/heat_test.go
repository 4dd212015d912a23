package render

import (
	"cmp"
	"math"
	"slices"
)

// neighbours is a map of so many CPUs, whose second half are the siblings of the first. There are two nodes, and caches
// of up to four cores; a figure follows from what two CPUs share, with some noise that is the same each time.
func neighbours(cpus int) *heat {
	h := &heat{unit: "ns"}
	cores := cpus / 2
	for cpu := range cpus {
		core := cpu % cores
		h.seat = append(h.seat, seat{cpu: cpu, core: core, llc: core / min(4, cores/2), node: 2 * core / cores})
	}
	slices.SortFunc(h.seat, func(a, b seat) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.llc, b.llc), cmp.Compare(a.core, b.core),
			cmp.Compare(a.cpu, b.cpu))
	})
	for _, a := range h.seat {
		var row []float64
		for _, b := range h.seat {
			shared := 4.0
			switch {
			case a.cpu == b.cpu:
				shared = math.NaN()
			case a.core == b.core:
				shared = 1
			case a.llc == b.llc && a.node == b.node:
				shared = 2
			case a.node == b.node:
				shared = 3
			}
			row = append(row, 10*shared*shared*(1+float64((min(a.cpu, b.cpu)*31+max(a.cpu, b.cpu)*17)%13)/100))
		}
		h.at = append(h.at, row)
	}
	return h
}
