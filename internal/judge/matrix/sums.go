package matrix

import (
	"math"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// sums sums up the samples of a cell and of the one that it is compared with, in the same blocks. It does not grow with their number, but for
// layouts.
type sums struct {
	rounds    int
	throttled int // rounds in which the quota stopped a thread
	disturbed [len(disturbances)]disturbed
	figures   []ratios
}

// disturbed is a disturbance in the pairs.
type disturbed struct {
	stats.Disturbance
	cell, base float64 // sums
	unknown    bool    // in some sample
}

// ratios are the logarithms of the ratios of the two samples, by a figure.
type ratios struct {
	both, deciding moments     // of the difference from the deciding figure's, and of the latter, where both are known
	layouts        [][]float64 // of bench, by layout
}

// moments are the number, the mean and the sum of squared deviations of values (Welford, "Note on a method for calculating corrected sums of
// squares and products", Technometrics 4, 1962).
type moments struct{ n, mean, squares float64 }

func (m *moments) add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / m.n
	m.squares += d * (x - m.mean)
}

func (b *Judging) newSums() *sums {
	p := &sums{figures: make([]ratios, len(b.figures))}
	for f := range p.figures {
		if n := b.run.Matrix.Layouts; n > 1 {
			p.figures[f].layouts = make([][]float64, n)
		}
	}
	return p
}

// disturb adds the disturbances of two samples, on this many CPUs each.
func (p *sums) disturb(cell, base result.Signals, cpus, baseCPUs int) {
	p.rounds++
	stopped := func(seconds *float64) bool { return seconds != nil && *seconds > 0 }
	if stopped(cell.ThrottledSeconds) || stopped(base.ThrottledSeconds) {
		p.throttled++
	}
	for i, d := range disturbances {
		of := &p.disturbed[i]
		x, known := d.of(cell, cpus)
		y, alsoKnown := d.of(base, baseCPUs)
		of.unknown = of.unknown || !known || !alsoKnown
		of.cell, of.base = of.cell+x, of.base+y
		of.Add(x - y)
	}
}

// add adds the logarithm of the ratio of two samples in a round, by the figure f, and by the deciding one, which may not be a number.
func (p *sums) add(f, round int, log, deciding float64) {
	of := &p.figures[f]
	if !math.IsNaN(deciding) {
		of.both.add(log - deciding)
		of.deciding.add(deciding)
	}
	if n := len(of.layouts); n > 0 {
		of.layouts[round%n] = append(of.layouts[round%n], log)
	}
}
