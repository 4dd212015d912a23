package stats

import (
	"fmt"
	"math"
	"slices"
)

// LeastLayouts returns the number of layouts with which OnCode can be certain enough, if all comparisons share alpha.
func LeastLayouts(comparisons int, alpha float64) int {
	return int(math.Ceil(math.Log2(2 * float64(comparisons) / alpha)))
}

// OnCode returns the verdict on two programs whose blocks used several layouts in turn: orders of the programs' functions, each
// the same for both sides of a block. ratios has the typical ratio of each layout, and v is the verdict on these layouts.
//
// A verdict on the code must hold for other layouts too, and then the layouts are the independent units: the wealth of a bet
// grows with each block that uses a layout again, also if only that layout makes the difference. So all layouts have to show what v
// claims. If the code does not differ, each one is on the claimed side with a probability of at most one half, and N of them
// are on the same side with 2·2^-N: a sign test. Nothing is assumed about how large the effects of layouts are, and few layouts
// are enough; a bet on each of them would need more than twice as many.
func (v Verdict) OnCode(ratios []float64, least int) Verdict {
	switch v.Kind {
	case Slower, Faster, Same, Mixed:
	default:
		return v
	}
	by := v
	by.Typical = Effect{Lo: slices.Min(ratios), Hi: slices.Max(ratios)}
	if len(ratios) >= least && v.Kind == by.Typical.kind(v.Margin) {
		return v
	}
	reason := fmt.Sprintf("for these %d layouts %s; by layout %s", len(ratios), v.Brief(), by.Interval())
	if len(ratios) < least {
		reason += fmt.Sprintf("; a verdict on the code needs at least %d layouts", least)
	}
	return v.Unjudged(reason)
}
