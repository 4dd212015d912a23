package result

import (
	"cmp"
	"math"
	"slices"

	"gorun/internal/stats"
)

// Grouped returns the largest groups of cells that are not told apart, the best first. Two cells are told apart if a verdict claims a
// difference between them, or if the intervals of their ratios to the baseline, which itself has 1, do not overlap: all intervals and
// verdicts hold together with the run's certainty. A cell can be in several groups: two cells may be
// told apart from each other and not from a third. A cell is in no group if it could not be judged, or if nothing is known of it yet. There are no groups if all cells
// would be in one, if there are only two cells, or if there would be more groups than cells.
func (r *Run) Grouped() [][]int {
	var known []interval
	var apart [][2]int // cells that a verdict tells apart
	claims := func(v *stats.Verdict) bool {
		return v != nil && (v.Kind == stats.Slower || v.Kind == stats.Faster || v.Kind == stats.Mixed)
	}
	for i, cell := range r.Cells {
		switch v := cell.Verdict; {
		case r.IsBaseline(i):
			known = append(known, interval{i, 1, 1})
		case v != nil && v.Certain() && (v.Typical.Lo > 0 || v.Typical.Hi < math.MaxFloat64):
			known = append(known, interval{i, v.Typical.Lo, v.Typical.Hi})
			if claims(v) {
				apart = append(apart, [2]int{i, r.Matrix.Baseline})
			}
		}
	}
	for _, c := range r.Matrix.Contrasts {
		if claims(c.Verdict) {
			apart = append(apart, [2]int{c.A, c.B})
		}
	}
	groups := overlapping(known)
	for _, pair := range apart {
		if groups = separate(groups, pair); len(groups) > len(r.Cells) {
			return nil
		}
	}
	if len(r.Cells) < 3 || len(groups) < 2 {
		return nil
	}
	ratio := func(cell int) float64 {
		if v := r.Cells[cell].Verdict; v != nil && !r.IsBaseline(cell) {
			return v.Typical.Ratio
		}
		return 1
	}
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b int) int { return cmp.Compare(ratio(a), ratio(b)) })
	}
	return groups
}

// interval is that of a cell's ratio to the baseline.
type interval struct {
	cell   int
	lo, hi float64
}

// overlapping returns the largest groups of cells whose intervals all overlap, the lowest first: one for each interval that ends
// before the next one begins.
func overlapping(intervals []interval) (groups [][]int) {
	byStart := slices.SortedStableFunc(slices.Values(intervals), func(a, b interval) int { return cmp.Compare(a.lo, b.lo) })
	var open []interval // the intervals that overlap, by their start
	grown := false      // since the last group
	add := func() {
		if grown {
			group := make([]int, len(open))
			for i, x := range open {
				group[i] = x.cell
			}
			groups, grown = append(groups, group), false
		}
	}
	for _, x := range byStart {
		ended := func(other interval) bool { return other.hi < x.lo }
		if slices.ContainsFunc(open, ended) {
			add()
			open = slices.DeleteFunc(open, ended)
		}
		open, grown = append(open, x), true
	}
	add()
	return groups
}

// separate returns the largest groups without two cells in one: each group that has both becomes two, without the one and without
// the other, unless another group contains it.
func separate(groups [][]int, apart [2]int) (separated [][]int) {
	without := func(group []int, cell int) []int {
		return slices.DeleteFunc(slices.Clone(group), func(other int) bool { return other == cell })
	}
	within := func(group, other []int) bool {
		return !slices.ContainsFunc(group, func(cell int) bool { return !slices.Contains(other, cell) })
	}
	var whole [][]int // groups that stay
	for _, group := range groups {
		if !slices.Contains(group, apart[0]) || !slices.Contains(group, apart[1]) {
			whole = append(whole, group)
		}
	}
	for _, group := range groups {
		a, b := slices.Index(group, apart[0]), slices.Index(group, apart[1])
		if a < 0 || b < 0 {
			separated = append(separated, group)
			continue
		}
		for _, cell := range [2]int{group[max(a, b)], group[min(a, b)]} { // the better of the two comes first
			part := without(group, cell)
			if !slices.ContainsFunc(slices.Concat(whole, separated), func(other []int) bool { return within(part, other) }) {
				separated = append(separated, part)
			}
		}
	}
	return separated
}
