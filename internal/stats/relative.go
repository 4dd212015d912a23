package stats

import "math"

// Relative compares a cell's ratio to the baseline in run B with the same ratio in run A. Samples with the same index
// are from the same block: drift affects both, within a run and between runs, so that this verdict, unlike that of
// Sessions, needs no allowance for it. A cause that slows the cell and the baseline equally makes no difference here.
// Each run has its own intervals at half of the error rate, and the interval of the quotient goes from the least to the
// greatest quotient that they allow.
func Relative(aCell, aBase, bCell, bBase []float64, d Design) Verdict {
	a, b := d.pairs(aCell, aBase), d.pairs(bCell, bBase)
	v, g := d.open(min(len(aCell), len(bCell))), d.grid()
	for _, run := range []struct {
		name string
		comparison
	}{{"A", a}, {"B", b}} {
		if e := run.typical.ends(); e.Lo > e.Hi {
			v.Reason = "the ratio to the baseline changed during run " + run.name
			return v
		}
	}
	v.Typical = g.quotient(b.effect(), a.effect())
	if a.total.looks > 0 && b.total.looks > 0 {
		v.Total = new(g.quotient(b.total.effect(), a.total.effect()))
	}
	v.Kind = v.judged()
	if v.Kind == Same && v.Total != nil && g.quotient(b.total.doubted(), a.total.doubted()).doubts(d.Margin) {
		v.Kind, v.Reason = CantTell, v.uncertainTotal(v.Total.Ratio)
	}
	return v
}

// pairs returns one run's comparison, at half of the error rate.
func (d Design) pairs(cell, base []float64) comparison {
	c := d.comparison(0.5)
	c.total.compared = func() *compared { return &compared{} } // what is compared is the quotient
	for i := range cell {
		c.add(cell[i], base[i], math.NaN())
	}
	return c
}

// quotient returns the effect b divided by the effect a, rounded outward.
func (g grid) quotient(b, a Effect) Effect {
	return g.outward(Effect{Ratio: b.Ratio / a.Ratio, Lo: b.Lo / a.Hi, Hi: b.Hi / a.Lo})
}
