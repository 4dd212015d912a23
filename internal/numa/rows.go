// Package numa is the experiment of `gorun numa`: a process that does nothing but access memory tells what the kernel's
// placement of it and of its memory costs. Its rows are those of "How effective is numa_preferred_nid w.r.t. NUMA
// performance?" (Chris Hyser, linux-kernel, 2023-12-16).
package numa

import (
	"slices"

	"gorun/internal/result"
)

// What stands in an axis for no number.
const (
	Float = -1 // of memory and CPUs: not bound
	Keep  = -1 // of NUMA balancing: as it is
	None  = -1 // of preferred nodes
)

// Axes are what rows are made of. No list is empty.
type Axes struct {
	Mem           []int // nodes, or Float
	CPU           []int // nodes, or Float
	NUMABalancing []int // 0, 1 or Keep
	PreferredNode []int // nodes, or None
	PreferredBy   string
	ScanDelay     []float64 // of NUMA balancing, in seconds; 0: as before the run
	MigrationCost []float64 // of the scheduler, in seconds; 0: as before the run
	MemPolicy     []string  // of memory that is bound; "": bind
	FirstTouch    []string  // of memory that floats; "": near
	Buffers       []uint64  // bytes
	Pages         []string  // linux.PageKinds
	Access        []string  // csrc.ProbeAccesses
	Full          bool      // the whole product; else as the RFC: a node is preferred with the highest balancing only
}

// Rows returns what is to be measured, numbered from 0. For every access, kind of pages, buffer and
// migration cost the whole table is repeated.
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

// table returns the rows of one buffer, without what is the same for all.
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
				delays = []float64{0} // nothing is scanned
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
