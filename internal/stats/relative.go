package stats

import (
	"fmt"
	"math"
)

// Relative compares a cell's ratio to the baseline in run B with the same ratio in run A. Samples with the same index
// are from the same block: drift affects both, within a run and between runs, so that this verdict, unlike that of
// Sessions, needs no allowance for it. A cause that slows the cell and the baseline equally makes no difference here.
// Each run has its own intervals at half of the error rate, and the interval of the quotient goes from the least to the
// greatest quotient that they allow.
func Relative(aCell, aBase, bCell, bBase []float64, d SessionsDesign) Verdict {
	if err := d.check(aCell, aBase, bCell, bBase); err != nil {
		return InvalidVerdict(err.Error())
	}
	a, err := d.pairs(aCell, aBase)
	if err != nil {
		return InvalidVerdict("run A: " + err.Error())
	}
	b, err := d.pairs(bCell, bBase)
	if err != nil {
		return InvalidVerdict("run B: " + err.Error())
	}
	v := d.open(min(len(aCell), len(bCell)))
	g := gridFor(d.Precision)
	for _, run := range []struct {
		name string
		comparison
	}{{"A", a}, {"B", b}} {
		if lo, hi := run.typical.ends(); lo > hi {
			v.Reason = "the ratio to the baseline changed during run " + run.name
			return v
		}
	}
	v.Typical = quotient(b.effect(), a.effect(), g)
	if a.total.looks > 0 && b.total.looks > 0 {
		total := quotient(b.totalEffect(), a.totalEffect(), g)
		v.Total = &total
	}
	v.Kind = v.judged()
	if v.Kind == Same && v.Total != nil && quotient(b.total.doubted(), a.total.doubted(), g).doubts(d.Margin) {
		v.Kind, v.Reason = CantTell, v.uncertainTotal(v.Total.Ratio)
	}
	return v
}

// pairs returns one run's comparison, at half of the error rate.
func (d SessionsDesign) pairs(cell, base []float64) (comparison, error) {
	if len(cell) != len(base) {
		return comparison{}, fmt.Errorf("%d samples of the cell have %d of the baseline", len(cell), len(base))
	}
	g := gridFor(d.Precision)
	c := newComparison(d.alpha()/2, g)
	for i := range cell {
		c.add(cell[i], base[i], math.NaN())
	}
	return c, nil
}

// quotient returns the effect b divided by the effect a, rounded outward. An end that is not bounded stays so.
func quotient(b, a Effect, g grid) Effect {
	return Effect{Ratio: b.Ratio / a.Ratio, Lo: g.below(b.Lo / a.Hi), Hi: g.above(b.Hi / a.Lo)}
}
