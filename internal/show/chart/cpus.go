package chart

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

const (
	cpusRow   = rowNames + lowRow + 6
	cpusCells = 8192 // of the figure; of more CPUs, fewer rows are drawn
)

// busyShares returns the part of the samples' wall time in which each CPU was at work for the run. CPUs of which that is not known have
// none.
func busyShares(samples result.Samples) map[int]float64 {
	shares, seconds := map[int]float64{}, 0.0
	for _, s := range samples.Each() {
		for _, cpu := range s.CPUs {
			shares[cpu.CPU] += cpu.BusySeconds
		}
		if len(s.CPUs) > 0 {
			seconds += s.Seconds
		}
	}
	for cpu := range shares {
		shares[cpu] /= seconds
	}
	maps.DeleteFunc(shares, func(_ int, share float64) bool { return !Drawable(share) })
	return shares
}

// CPUStrip is the part of the time that each CPU was at work for the run, in the order of the CPUs' numbers. False where no sample
// tells of its CPUs.
func CPUStrip(all []view.Measured) (Drawing, bool) {
	var rows []view.Measured
	var busy []map[int]float64 // by row
	known := map[int]bool{}
	for _, r := range all {
		if shares := busyShares(r.Samples); len(shares) > 0 {
			rows, busy = append(rows, r), append(busy, shares)
			for cpu := range shares {
				known[cpu] = true
			}
		}
	}
	cpus := slices.Sorted(maps.Keys(known))
	if len(cpus) == 0 || len(cpus) > cpusCells {
		return Drawing{}, false
	}
	f := Drawing{
		Title:       "How busy each CPU was",
		Description: "The part of the samples' wall time in which a CPU was at work for the run, by the number of the CPU.",
		Table:       table.Table{Name: "busy", Title: "Part of the time that a CPU was at work"},
	}
	rows = first(&f, rows, min(maxRows, cpusCells/len(cpus)))
	f.Table.Add("CPU")
	for _, cpu := range cpus {
		f.Table.AddRow(table.Count(cpu))
	}
	cell := min(mapCell, innerWidth/float64(len(cpus)))
	scale := heatScale{lo: 0, hi: 100}
	drawn := make([]row, len(rows))
	for i, r := range rows {
		f.Table.Add(r.Name)
		sum, percents := 0.0, make([]float64, len(cpus))
		for n, cpu := range cpus {
			share, known := busy[i][cpu]
			var value table.Value
			if percents[n] = math.NaN(); known {
				percents[n], value = 100*share, table.Number{X: share, Unit: column.Share}
			}
			f.Table.Rows[n].Values = append(f.Table.Rows[n].Values, value)
			sum += share
		}
		h := &Heat{Unit: "%", Rows: make([]Side, 1), Columns: make([]Side, len(cpus)), At: [][]float64{percents}}
		h.Label = func(_, n int) string { return "CPU " + strconv.Itoa(cpus[n]) }
		drawn[i] = row{
			r.Name, fmt.Sprintf("%.2f of %d CPUs busy", sum, len(busy[i])),
			mark(`<g transform="translate(0 %d)">`+"\n%s</g>\n", rowNames, svgCells(h, scale, cell, lowRow)),
		}
	}
	numbers := Axis{At: func(n float64) float64 { return (n + 0.5) * cell }}
	letters := len(strconv.Itoa(cpus[len(cpus)-1]))
	for n := 0; n < len(cpus); n += int(math.Ceil(float64(6*letters+6) / cell)) {
		numbers.Ticks = append(numbers.Ticks, float64(n))
	}
	below := numbers.labels(func(n float64) string { return strconv.Itoa(cpus[int(n)]) }) + drawScale(scale, "%", 36, 22)
	f.SVG = drawRows(f, nil, drawn, cpusRow, below, 54)
	return f, true
}
