package stats

import (
	"cmp"
	"math"
	"slices"
)

// contest looks for the cell with the least typical time. Each pair of cells that share a block is followed by a sequence, and a cell is
// out when it is claimed slower than another. It has an α of its own, which all K(K − 1)/2 pairs share. K − 1 pairs would do for one cell that is
// better than all others, since it is out by mistake only if a bet against it is wrong; but where cells are equal, there are bets
// against each of them.
//
// Where there are very many cells, each only meets the baseline: two others are seldom in one block.
type contest struct {
	design Design
	alpha  float64                // of a pair, both sides together
	pairs  map[Contrast]*sequence // of B's ratio to A; A < B
	out    map[int]int            // by cell: the one that it is slower than
}

// Best is what a contest found.
type Best struct {
	Left   []int       // cells that may be the best, in ascending order; none: each cell is slower than another, so that none is the best
	Winner int         // the cell than which none is faster by more than the margin; −1: not known
	Out    map[int]int // cells that are claimed to be slower than another, with that one
}

func newContest(d Design) *contest {
	cells := float64(len(d.Cells))
	pairs := cells * (cells - 1) / 2
	if d.Untied {
		pairs = cells - 1
	}
	return &contest{design: d, alpha: d.Alpha / pairs, pairs: map[Contrast]*sequence{}, out: map[int]int{}}
}

// mostMet is the number of cells from which on only pairs with the baseline are followed.
const mostMet = 16 * BlockCells

// add adds the seconds of a block by cell. duplicate is that of the baseline, or NaN. all: all its pairs are followed, and not only those with
// the baseline. apart is the factor by which a ratio may be wrong.
func (c *contest) add(block map[int]float64, duplicate float64, all bool, apart float64) {
	cells := make([]int, 0, len(block))
	for cell := range block {
		if cell < len(c.design.Cells) {
			cells = append(cells, cell)
		}
	}
	slices.Sort(cells)
	for i, a := range cells {
		for _, b := range cells[i+1:] {
			if !all && a != c.design.Baseline && b != c.design.Baseline {
				continue
			}
			s, second := c.pair(a, b), math.NaN()
			switch c.design.Baseline {
			case a:
				second = math.Log(block[b] / duplicate)
			case b:
				second = math.Log(duplicate / block[a])
			}
			s.add(math.Log(block[b]/block[a]), second)
			switch e := s.ends(); {
			case e.Lo > e.Hi: // the ratio changed during the run
			case e.Lo > apart:
				c.leave(b, a)
			case e.Hi < 1/apart:
				c.leave(a, b)
			}
		}
	}
}

// leave leaves out a cell that is slower than another.
func (c *contest) leave(cell, than int) {
	if _, before := c.out[cell]; !before {
		c.out[cell] = than
	}
}

func (c *contest) pair(a, b int) *sequence {
	key := Contrast{min(a, b), max(a, b)}
	if c.pairs[key] == nil {
		c.pairs[key] = c.design.sequence(c.alpha)
	}
	return c.pairs[key]
}

// most returns the greatest ratio of a to b that is not ruled out.
func (c *contest) most(a, b int) float64 {
	e := c.pair(a, b).ends()
	switch {
	case e.Lo > e.Hi:
		return math.MaxFloat64
	case a > b:
		return e.Hi
	case e.Lo > 0:
		return 1 / e.Lo
	}
	return math.MaxFloat64
}

// best returns what was found among the cells that could be run.
func (c *contest) best(gone map[int]bool, apart float64) Best {
	found := Best{Winner: -1, Out: c.out}
	for cell := range len(c.design.Cells) {
		if _, out := c.out[cell]; !out && !gone[cell] {
			found.Left = append(found.Left, cell)
		}
	}
	if len(found.Left)+len(c.out) < 2 || len(found.Left) == 0 {
		return found // nothing was compared, or none is the best
	}
	farthest := func(cell int) (ratio float64) {
		for _, other := range found.Left {
			if other != cell {
				ratio = max(ratio, apart*c.most(cell, other))
			}
		}
		return ratio
	}
	nearest := slices.MinFunc(found.Left, func(a, b int) int { return cmp.Compare(farthest(a), farthest(b)) })
	if farthest(nearest) <= 1+c.design.Margin+rounding {
		found.Winner = nearest
	}
	return found
}
