package numa

import (
	"errors"
	"slices"

	"gorun/internal/guard/guardian"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

// knob is a time of the scheduler that rows can set. It applies to the whole machine, and is restored at the
// end.
type knob struct {
	flag string
	of   []linux.SchedulerTime            // all of them are set to the same time
	asks func(row result.NumaRow) float64 // in seconds; 0: as before the run
}

var (
	scanDelay = knob{
		"scan-delay",
		[]linux.SchedulerTime{linux.NUMAScanDelay, linux.NUMAScanPeriod},
		func(row result.NumaRow) float64 { return row.ScanDelay },
	}
	migrationCost = knob{
		"migration-cost",
		[]linux.SchedulerTime{linux.MigrationCost},
		func(row result.NumaRow) float64 { return row.MigrationCost },
	}
	knobs = [...]knob{scanDelay, migrationCost}
)

// number returns the number that a cell writes into the file of one of the knob's times.
func (k knob) number(c Cell, of linux.SchedulerTime) int {
	if n, err := of.Number(k.asks(c.Row)); err == nil {
		return n
	}
	return asBefore
}

// may returns an error, with the remedy, if this process cannot set a row's value.
func (k knob) may(row result.NumaRow) error {
	if k.asks(row) == 0 {
		return nil
	}
	for _, of := range k.of {
		file, err := of.File()
		if err == nil {
			err = linux.MaySetKernelFile(file, k.number(Cell{Request: Request{Row: row}}, of))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// heldFile is a kernel file that the run has locked.
type heldFile struct {
	*guardian.KernelFile
	value func(Cell) int // the value that a cell sets, or asBefore
}

// asBefore stands for the number in a file before the run. No file can contain it.
const asBefore = -1

// set sets the cell's value, or restores the previous one, which another cell may have changed.
func (h heldFile) set(c Cell) error {
	value := h.value(c)
	if value == asBefore {
		value = h.Before()
	}
	return h.Set(value)
}

// hold locks the kernel's files that cells change.
func hold(g *guardian.Guardian, cells []Cell) (all []heldFile, err error) {
	take := func(path string, value func(Cell) int) {
		if err != nil || !slices.ContainsFunc(cells, func(c Cell) bool { return value(c) != asBefore }) {
			return
		}
		var file *guardian.KernelFile
		if file, err = g.Hold(path); err == nil {
			all = append(all, heldFile{file, value})
		}
	}
	if take(linux.NUMABalancingSysctl, Cell.balancing); errors.Is(err, errors.ErrUnsupported) {
		err = nil // such a kernel has it off, and rows with it on are not measured
	}
	for _, k := range knobs {
		for _, of := range k.of {
			if file, missing := of.File(); missing == nil { // otherwise no cell sets it: see may
				take(file, func(c Cell) int { return k.number(c, of) })
			}
		}
	}
	if err != nil {
		return nil, errors.Join(err, release(all))
	}
	return all, nil
}

// release restores all held files.
func release(all []heldFile) (err error) {
	for _, h := range all {
		err = errors.Join(err, h.Restore())
	}
	return err
}
