package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Totals are looked at after FirstLook rounds, each time the number has doubled, and at the end of planned rounds.
// These times are fixed in advance since each look spends a share of α.
const FirstLook = 25

// evenLooks is the number of looks with equal shares of α. All later looks divide one more such share.
const evenLooks = 4

// lookShare returns the share of α of a look; looks are numbered from 1.
func lookShare(look int) float64 {
	return math.Ldexp(1.0/(evenLooks+1), -max(0, look-evenLooks))
}

const (
	// flipGroups is the maximum number of groups that are flipped together: beyond about fifty, a finer division gains
	// almost nothing.
	flipGroups = 48
	// tailFlips is the number of random flips beyond an end: with more, the end depends less on which were drawn.
	tailFlips = 5
)

// totals computes the interval of the ratio of two means, of a cell's samples and of the baseline's: unlike the typical
// ratio, it is sensitive to rare long stalls.
//
// It inverts the sign-flip test, which a random order makes exact: if r is the true ratio, x/r and b of a round can be
// swapped. With the rounds F swapped, the test's sum Σ(x/r − b) is greater exactly when Σx/Σb over F is below r. So the
// ends are order statistics of the ratio of sums over random halves of the rounds (Hartigan, "Using subsample values as
// typical values", JASA 64, 1969). Each look has its own share of α. The interval is that of the latest look: a quiet
// beginning must not rule out stalls that come late.
type totals struct {
	alpha    float64
	grid     grid
	cell     []float64
	base     []float64
	nextAt   int // rounds of the next look
	looked   int // rounds of the latest
	looks    int
	interval Effect // without an estimate
	sumCell  float64
	sumBase  float64
}

func newTotals(alpha float64, g grid) *totals {
	return &totals{alpha: alpha, grid: g, nextAt: FirstLook, interval: Effect{Hi: math.MaxFloat64}}
}

// add adds a round's two samples.
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

// ratio returns the ratio of the means, or 1 without samples.
func (t *totals) ratio() float64 {
	if len(t.cell) == 0 {
		return 1
	}
	return t.sumCell / t.sumBase
}

func (t *totals) effect() Effect {
	return Effect{Ratio: t.ratio(), Lo: t.interval.Lo, Hi: t.interval.Hi}
}

func (t *totals) look() {
	t.looks++
	t.looked = len(t.cell)
	t.interval = t.grid.outward(flipEnds(t.cell, t.base, t.alpha*lookShare(t.looks)))
}

// doubt is the level at which the total speaks against a verdict of "no difference". It takes no share of α: it is no
// finding, only a reason to go on.
const doubt = 0.1

// differs reports whether the total speaks for a difference larger than the margin, at the level of doubt.
func (t *totals) differs(margin float64) bool {
	return math.Abs(t.ratio()-1) > margin && t.doubted().doubts(margin) // flips are expensive, and most totals need none
}

// doubted returns the effect on the total at the level of doubt.
func (t *totals) doubted() Effect {
	e := flipEnds(t.cell, t.base, doubt)
	e.Ratio = t.ratio()
	return e
}

// doubts reports whether an effect at the level of doubt speaks for a difference larger than the margin.
func (e Effect) doubts(margin float64) bool {
	return math.Abs(e.Ratio-1) > margin && e.differs()
}

// outward returns the effect with its ends rounded outward. Those that are not bounded stay so.
func (g grid) outward(e Effect) Effect {
	return Effect{Ratio: e.Ratio, Lo: g.below(e.Lo), Hi: g.above(e.Hi)}
}

// below returns the nearest ratio of the grid that is not greater.
func (g grid) below(ratio float64) float64 {
	return g.ratio(int(math.Floor(ratio*float64(g))) - int(g))
}

// above returns the nearest ratio of the grid that is not smaller.
func (g grid) above(ratio float64) float64 {
	if ratio > farthest {
		return math.MaxFloat64
	}
	return g.ratio(int(math.Ceil(ratio*float64(g))) - int(g))
}

// flipEnds returns the interval of level 1 − alpha for these rounds, without an estimate. Rounds are dealt to groups in turn,
// and a group's signs are flipped together: the test is exact for this subset of the flips too.
func flipEnds(cell, base []float64, alpha float64) Effect {
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
		if subset == 0 || subset == all { // nothing is flipped: as extreme as the observed sum
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
	return Effect{Lo: least.last(), Hi: -most.last()}
}

// subsetSums holds tables that give the sum of any subset with one look-up for each byte of it.
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

// tail keeps the smallest values offered to it, ascending.
type tail []float64

func newTail(size int) tail { return slices.Repeat(tail{math.Inf(1)}, size) }

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
