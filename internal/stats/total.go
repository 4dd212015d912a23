package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// The rounds after which totals are looked at: firstLook, each time they have doubled, and at the end where that is
// planned. They are declared beforehand since each look spends a share of α.
const firstLook = 25

// evenLooks is how many looks have equal shares of α. All later ones divide another such share.
const evenLooks = 4

// lookShare is the share of the look of that number, from 1.
func lookShare(look int) float64 {
	return math.Ldexp(1.0/(evenLooks+1), -max(0, look-evenLooks))
}

const (
	// flipGroups is the most groups that are flipped as one: beyond some fifty a finer division gains next to nothing.
	flipGroups = 48
	// tailFlips is how many of the random flips lie beyond an end: more make the end depend less on which were drawn.
	tailFlips = 5
)

// totals is the interval of the ratio of two means, of a cell's samples and of the baseline's: unlike the typical ratio
// it feels rare long stalls.
//
// It inverts the sign-flip test, which a random order makes exact: were r the true ratio, then x/r and b of a round
// could be swapped. With the rounds F swapped, the test's sum Σ(x/r − b) is greater just if Σx/Σb over F is below r.
// Hence the ends are order statistics of the ratio of sums over random halves of the rounds (Hartigan, "Using subsample
// values as typical values", JASA 64, 1969). Each look has its own share of α. The interval is that of the
// latest look: stalls that come late are not to be ruled out by a quiet beginning.
type totals struct {
	alpha   float64
	grid    grid
	cell    []float64
	base    []float64
	nextAt  int // rounds of the next look
	looked  int // rounds of the latest
	looks   int
	lo, hi  float64
	sumCell float64
	sumBase float64
}

func newTotals(alpha float64, g grid) *totals {
	return &totals{alpha: alpha, grid: g, nextAt: firstLook, hi: math.MaxFloat64}
}

// add takes a round's two samples.
func (t *totals) add(cell, base float64) {
	t.cell, t.base = append(t.cell, cell), append(t.base, base)
	t.sumCell += cell
	t.sumBase += base
	if len(t.cell) == t.nextAt {
		t.look()
		t.nextAt *= 2
	}
}

// end looks at the totals once more, after the last round of those that were planned.
func (t *totals) end() {
	if len(t.cell) > t.looked {
		t.look()
	}
}

// ratio is that of the means; 1 when there are none.
func (t *totals) ratio() float64 {
	if len(t.cell) == 0 {
		return 1
	}
	return t.sumCell / t.sumBase
}

// ends are the interval's, rounded outward; 0 and math.MaxFloat64 before the first look.
func (t *totals) ends() (lo, hi float64) { return t.lo, t.hi }

func (t *totals) look() {
	t.looks++
	t.looked = len(t.cell)
	lo, hi := flipEnds(t.cell, t.base, t.alpha*lookShare(t.looks))
	t.lo, t.hi = t.grid.below(lo), t.grid.above(hi)
}

// doubt is the level, shared with nobody, at which the total speaks against a verdict of "no difference": not a
// finding, but a reason to go on.
const doubt = 0.1

// differs tells whether the total speaks for a difference larger than the margin, at the level of doubt.
func (t *totals) differs(margin float64) bool {
	return math.Abs(t.ratio()-1) > margin && t.doubted().doubts(margin) // flips are dear: most totals need none
}

// doubted is the effect on the total at the level of doubt.
func (t *totals) doubted() Effect {
	lo, hi := flipEnds(t.cell, t.base, doubt)
	return Effect{Ratio: t.ratio(), Lo: lo, Hi: hi}
}

// doubts tells whether an effect at the level of doubt speaks for a difference larger than the margin.
func (e Effect) doubts(margin float64) bool {
	return math.Abs(e.Ratio-1) > margin && (e.Lo > 1 || e.Hi < 1)
}

// below is the nearest ratio of the grid that is not greater.
func (g grid) below(ratio float64) float64 {
	return g.ratio(int(math.Floor(ratio*float64(g))) - int(g))
}

// above is the nearest ratio of the grid that is not smaller.
func (g grid) above(ratio float64) float64 {
	if ratio > farthest {
		return math.MaxFloat64
	}
	return g.ratio(int(math.Ceil(ratio*float64(g))) - int(g))
}

// flipEnds is the interval of level 1 − alpha at these rounds. Rounds are dealt to groups in turn, and a group's signs
// are flipped together: a subset of the flips, under which the test is as exact.
func flipEnds(cell, base []float64, alpha float64) (lo, hi float64) {
	groups := min(len(cell), flipGroups)
	x, b := make([]float64, groups), make([]float64, groups)
	for i := range cell {
		x[i%groups] += cell[i]
		b[i%groups] += base[i]
	}
	sumX, sumB := newSubsetSums(x), newSubsetSums(b)
	// Flips are drawn in pairs, a subset and the rest of it, which go with the observed sum and its reverse. With
	// tailFlips of the ratios and the observed sum at or beyond an end, that end's error is alpha/2.
	pairs := int(math.Ceil((tailFlips+1)/alpha)) - 1
	source := rand.NewPCG(uint64(len(cell)), uint64(pairs))
	least, most := newTail(tailFlips+1), newTail(tailFlips+1)
	all := uint64(1)<<groups - 1
	allX, allB := sumX.of(all), sumB.of(all)
	for range pairs {
		subset := source.Uint64() & all
		if subset == 0 || subset == all { // nothing is flipped: as extreme as what was observed
			least.offer(0)
			most.offer(math.Inf(-1))
			continue
		}
		subX, subB := sumX.of(subset), sumB.of(subset)
		for _, ratio := range [2]float64{subX / subB, (allX - subX) / (allB - subB)} {
			least.offer(ratio)
			most.offer(-ratio)
		}
	}
	return least.last(), -most.last()
}

// subsetSums gives the sum of any subset by a table look-up for each byte of it.
type subsetSums [][256]float64

func newSubsetSums(values []float64) subsetSums {
	sums := make(subsetSums, (len(values)+7)/8)
	for i := range sums {
		part := values[8*i : min(8*i+8, len(values))]
		for set := 1; set < 1<<len(part); set++ {
			sums[i][set] = sums[i][set&(set-1)] + part[bits.TrailingZeros(uint(set))]
		}
	}
	return sums
}

func (s subsetSums) of(subset uint64) float64 {
	sum := 0.0
	for i := range s {
		sum += s[i][subset>>(8*i)&255]
	}
	return sum
}

// tail keeps the smallest values that it was offered, ascending.
type tail []float64

func newTail(size int) tail {
	t := make(tail, size)
	for i := range t {
		t[i] = math.Inf(1)
	}
	return t
}

func (t tail) offer(v float64) {
	last := len(t) - 1
	if v >= t[last] {
		return
	}
	at, _ := slices.BinarySearch(t, v)
	copy(t[at+1:], t[at:last])
	t[at] = v
}

func (t tail) last() float64 { return t[len(t)-1] }
