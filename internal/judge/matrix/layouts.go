package matrix

import (
	"math"

	"gorun/internal/stats"
)

// layoutRatios returns the typical ratio of each layout, for the figure f of a comparison, and reports whether a layout has
// several blocks. A layout that has none is left out.
func (b *Judging) layoutRatios(c comparison, f int) (ratios []float64, again bool) {
	p := b.pairs[c]
	if p == nil {
		return nil, false
	}
	for _, of := range p.figures[f].layouts {
		again = again || len(of) > 1
		if len(of) > 0 {
			ratios = append(ratios, math.Exp(stats.Median(of)))
		}
	}
	return ratios, again
}

// onCode returns the verdict on the code, given that on the layouts of the run. If each block has a layout of its own, blocks
// are independent, and the verdict is on the code already.
func (b *Judging) onCode(c comparison, f int, v stats.Verdict) stats.Verdict {
	if b.run.Matrix.Layouts < 2 {
		return v
	}
	ratios, again := b.layoutRatios(c, f)
	if !again {
		return v
	}
	compared := (len(b.run.Cells) - len(b.groups) + len(b.run.Matrix.Contrasts)) * len(b.figures)
	return v.OnCode(ratios, stats.LeastLayouts(compared, b.run.Matrix.Alpha))
}
