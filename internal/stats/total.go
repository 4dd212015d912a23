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
	compared func() *compared // nil: the ends are exact
	sums     flips
	nextAt   int // rounds of the next look
	looked   int // rounds of the latest
	looks    int
	interval Effect // without an estimate
}

// compared holds the ratios with which verdicts compare the low end of an interval, and the high end.
type compared struct{ low, high []float64 }

func newTotals(alpha float64, g grid) *totals {
	return &totals{alpha: alpha, grid: g, nextAt: FirstLook, interval: Effect{Hi: math.MaxFloat64}}
}

// add adds a round's two samples.
func (t *totals) add(cell, base float64) {
	t.sums.add(cell, base)
	if t.sums.rounds == t.nextAt {
		t.look()
		t.nextAt *= 2
	}
}

// end looks at the totals once more, after the last round of those that were planned.
func (t *totals) end() {
	if t.sums.rounds > t.looked {
		t.look()
	}
}

// ratio returns the ratio of the means, or 1 without samples.
func (t *totals) ratio() float64 { return t.sums.ratio() }

func (t *totals) effect() Effect {
	return Effect{Ratio: t.ratio(), Lo: t.interval.Lo, Hi: t.interval.Hi}
}

func (t *totals) look() {
	t.looks++
	t.looked = t.sums.rounds
	var with *compared
	if t.compared != nil {
		with = t.compared()
	}
	t.interval = t.grid.outward(t.sums.ends(t.alpha*lookShare(t.looks), with))
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
	e := t.sums.ends(doubt, nil)
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

// wider returns the effect with both ends farther away by a factor. An interval without a ratio stays so.
func (g grid) wider(e Effect, factor float64) Effect {
	if factor == 1 || e.Lo > e.Hi {
		return e
	}
	return g.outward(Effect{Ratio: e.Ratio, Lo: e.Lo / factor, Hi: e.Hi * factor})
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

// flips holds what the sign-flip test needs of the rounds. They are dealt to groups in turn, and a group's signs are flipped together: the
// test is exact for this subset of the flips too. So the memory does not grow with the rounds. The zero value has none.
type flips struct {
	rounds     int
	x, b       [flipGroups]float64 // the sums of each group
	sumX, sumB float64
}

func flipsOf(cell, base []float64) (f flips) {
	for i := range cell {
		f.add(cell[i], base[i])
	}
	return f
}

func (f *flips) add(cell, base float64) {
	f.x[f.rounds%flipGroups] += cell
	f.b[f.rounds%flipGroups] += base
	f.sumX += cell
	f.sumB += base
	f.rounds++
}

func (f *flips) groups() (x, b []float64) {
	n := min(f.rounds, flipGroups)
	return f.x[:n], f.b[:n]
}

// ratio returns the ratio of the means, or 1 without rounds.
func (f *flips) ratio() float64 {
	if f.rounds == 0 {
		return 1
	}
	return f.sumX / f.sumB
}

// exactPairs is the number of pairs of flips up to which an interval is always exact. They take 2 ms. It is enough for the first looks at 20
// cells.
const exactPairs = 1 << 16

// ends returns the interval of level 1 − alpha for these rounds, without an estimate.
//
// The number of flips grows with 1/alpha, and so with the number of cells for each of them. Where there are many, flips are drawn only until
// it is known on which side of each compared ratio both ends lie: a ratio that bound rules out lies outside, and one beyond which
// enough flips lie inside. The result is then the interval of bound.
func (f *flips) ends(alpha float64, with *compared) Effect {
	// Flips are drawn in pairs, a subset and the rest of it, which go with the observed sum and its reverse. With
	// tailFlips of the ratios and the observed sum at or beyond an end, that end's error is alpha/2.
	pairs := int(math.Ceil((tailFlips+1)/alpha)) - 1
	return f.draw(rand.NewPCG(uint64(f.rounds), uint64(pairs)), pairs, alpha, with)
}

// draw draws at most this many pairs of flips.
func (f *flips) draw(source rand.Source, pairs int, alpha float64, with *compared) Effect {
	x, b := f.groups()
	mayEnd := with != nil && pairs > exactPairs
	var beyond Effect // enough flips must lie beyond these
	if mayEnd {
		beyond = f.undecided(*with, alpha)
	}
	sumX, sumB := newSubsetSums(x), newSubsetSums(b)
	least, most := newTail(tailFlips+1), newTail(tailFlips+1)
	all := uint64(1)<<len(x) - 1
	allX, allB := sumX.of(all), sumB.of(all)
	for range pairs {
		if mayEnd && least.last() < beyond.Lo && -most.last() > beyond.Hi {
			return f.bound(alpha)
		}
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

// undecided returns the least ratio that is compared with the low end and that bound does not rule out, and the greatest one for the high end.
func (f *flips) undecided(with compared, alpha float64) Effect {
	e := Effect{Lo: math.MaxFloat64}
	for _, r := range with.low {
		if r > 0 && !f.below(r, alpha) {
			e.Lo = min(e.Lo, r)
		}
	}
	for _, r := range with.high {
		if r < math.MaxFloat64 && !f.above(r, alpha) {
			e.Hi = max(e.Hi, r)
		}
	}
	return e
}

// bound returns an interval that contains the exact one, by a bound on the chance of the flips that needs none.
func (f *flips) bound(alpha float64) Effect {
	const halvings = 30
	e := Effect{Hi: math.MaxFloat64}
	for lo, hi, i := 0.0, f.ratio(), 0; i < halvings; i++ {
		if mid := (lo + hi) / 2; f.below(mid, alpha) {
			lo, e.Lo = mid, mid
		} else {
			hi = mid
		}
	}
	for lo, hi, i := 0.0, 1/f.ratio(), 0; i < halvings; i++ {
		if mid := (lo + hi) / 2; f.above(1/mid, alpha) {
			lo, e.Hi = mid, 1/mid
		} else {
			hi = mid
		}
	}
	return e
}

// below reports whether it is certain, at the level alpha/2, that a ratio is below the true one; above, that it is above it.
func (f *flips) below(ratio, alpha float64) bool { return f.tail(1, ratio) <= math.Log(alpha/2) }
func (f *flips) above(ratio, alpha float64) bool { return f.tail(-1, ratio) <= math.Log(alpha/2) }

// tail returns the logarithm of a bound on the chance that flips of the signs of d = toward·(x − ratio·b) make their sum at least what it is, t.
// It is at most Π cosh(λd)·exp(−λt), for each λ ≥ 0 (Chernoff). Newton's method finds the best λ: the derivative is concave, so it
// comes nearer at each step.
func (f *flips) tail(toward, ratio float64) float64 {
	x, b := f.groups()
	d, t, squares := make([]float64, len(x)), 0.0, 0.0
	for i := range x {
		d[i] = toward * (x[i] - ratio*b[i])
		t, squares = t+d[i], squares+d[i]*d[i]
	}
	if t <= 0 || squares == 0 {
		return 0
	}
	scale := math.Sqrt(squares)
	t /= scale
	lambda := t
	for range 20 {
		slope, curve := -t, 0.0
		for _, v := range d {
			tanh := math.Tanh(lambda * v / scale)
			slope += v / scale * tanh
			curve += v / scale * v / scale * (1 - tanh*tanh)
		}
		step := -slope / curve
		if !(step > 1e-6*lambda) || lambda > 1e6 { // near enough; all d of one sign have no best λ
			break
		}
		lambda += step
	}
	log := -lambda * t
	for _, v := range d {
		size := math.Abs(lambda * v / scale)
		log += size + math.Log1p(math.Exp(-2*size)) - math.Ln2
	}
	return log
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
