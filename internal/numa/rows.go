// Package numa is the experiment of `gorun numa`: a process that only accesses memory measures the cost of the
// placement of the process and its memory. Its rows are those of "How effective is numa_preferred_nid w.r.t. NUMA
// performance?" (Chris Hyser, linux-kernel, 2023-12-16).
package numa

import (
	"slices"

	"gorun/internal/result"
)

// The values of an axis that are not nodes or settings.
const (
	Float       = -1 // memory or CPUs: not bound
	KeepSetting = -1 // NUMA balancing: as it is
	None        = -1 // no preferred node
)

// Axes are the values from which rows are made. No list is empty.
type Axes struct {
	Mem           []int // nodes, or Float
	CPU           []int // nodes, or Float
	NUMABalancing []int // 0, 1 or Keep
	PreferredNode []int // nodes, or None
	PreferredBy   string
	ScanDelay     []float64 // of NUMA balancing, in seconds; 0: as before the run
	MigrationCost []float64 // of the scheduler, in seconds; 0: as before the run
	MemPolicy     []string  // for bound memory; "": bind
	FirstTouch    []string  // for floating memory; "": near
	Buffers       []uint64  // bytes
	Pages         []string  // linux.PageKinds
	Access        []string  // csrc.ProbeAccesses
	Full          bool      // the whole product; otherwise as in the RFC, see --full
}

// Rows returns the rows to measure, numbered from 0. The whole table is repeated for every access, kind of pages,
// buffer and migration cost.
func Rows(a Axes) []result.NumaRow {
	var rows []result.NumaRow
	for _, access := range a.Access {
		for _, pages := range a.Pages {
			for _, bytes := range a.Buffers {
				for _, cost := range a.MigrationCost {
					for _, row := range a.table() {
						row.Row, row.Access, row.Pages, row.BufferBytes = len(rows), access, pages, bytes
						row.MigrationCost = cost
						rows = append(rows, row)
					}
				}
			}
		}
	}
	return rows
}

// table returns the rows of one buffer, without the values that are the same for all.
func (a Axes) table() []result.NumaRow {
	var rows []result.NumaRow
	for _, preferred := range a.PreferredNode {
		balancing, by := a.NUMABalancing, ""
		if preferred != None {
			by = a.PreferredBy
			if !a.Full {
				balancing = []int{slices.Max(balancing)}
			}
		}
		for _, nb := range balancing {
			delays := a.ScanDelay
			if nb == 0 {
				delays = []float64{0} // there are no scans
			}
			for _, delay := range delays {
				for _, row := range a.placed() {
					row.PreferredNode, row.PreferredBy, row.NUMABalancing, row.ScanDelay = preferred, by, nb, delay
					rows = append(rows, row)
				}
			}
		}
	}
	return rows
}

// placed returns a row for each place of the memory and the probe.
func (a Axes) placed() (rows []result.NumaRow) {
	for _, mem := range a.Mem {
		ways := a.MemPolicy
		if mem == Float {
			ways = a.FirstTouch
		}
		for _, cpu := range a.CPU {
			for _, way := range ways {
				row := result.NumaRow{Mem: mem, CPU: cpu}
				if mem == Float {
					row.FirstTouch = way
				} else {
					row.MemPolicy = way
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}
