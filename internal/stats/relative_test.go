package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// blocks returns a run's samples of a cell and its baseline, with independent noise and this true ratio.
func blocks(n *noise, rounds int, ratio float64) (cell, base []float64) {
	for range rounds {
		b, c := n.next(), n.next()
		if n.at%4 == 0 { // either may come first
			b, c = c, b
		}
		cell, base = append(cell, ratio*c), append(base, b)
	}
	return cell, base
}

// Each run has half of a comparison's share of the error rate.
func TestRelativeSharesAlpha(t *testing.T) {
	aCell, aBase := blocks(quiet(1), 60, 1)
	bCell, bBase := blocks(quiet(2), 60, 1.1)
	d := ofSessions()
	d.Comparisons = 5
	v := Relative(aCell, aBase, bCell, bBase, d)
	g := gridFor(d.Precision)
	of := func(cell, base []float64) comparison {
		c := comparison{newSequence(0.8*0.05/5/2, g), newTotals(0.2*0.05/5/2, g)}
		for i := range cell {
			c.add(cell[i], base[i], math.NaN())
		}
		return c
	}
	a, b := of(aCell, aBase), of(bCell, bBase)
	assert.Equal(t, g.quotient(b.effect(), a.effect()), v.Typical)
	assert.Equal(t, g.quotient(b.total.effect(), a.total.effect()), *v.Total)
	assert.Nil(t, Relative(aCell[:20], aBase[:20], bCell, bBase, d).Total, "A's has not been looked at")
	assert.Nil(t, Relative(aCell, aBase, bCell[:20], bBase[:20], d).Total, "B's has not been looked at")
}

func TestRelativeWords(t *testing.T) {
	aCell, aBase := blocks(quiet(1), 200, 1)
	bCell, bBase := blocks(quiet(2), 200, 1)
	d := ofSessions()
	assert.Equal(t, "can't tell: too few samples yet", Relative(aCell, aBase, bCell[:3], bBase[:3], d).String())
	assert.Equal(t, 3, Relative(aCell, aBase, bCell[:3], bBase[:3], d).Rounds)
	stalled := slices.Clone(bCell)
	for i := range stalled {
		if i%5 == 2 {
			stalled[i] *= 8
		}
	}
	assert.Regexp(t, `^slower: in total [\d.]+–[\d.]+ × as long, long stalls; typical: same within [\d.]+%, \d+ rounds$`,
		Relative(aCell, aBase, stalled, bBase, d).String())
	stalled = slices.Clone(bCell)
	for i := 20; i < 100; i += 10 { // too rare for certainty, enough for doubt
		stalled[i] *= 5
	}
	assert.Regexp(t, `^can't tell: typical: same within [\d.]+%; total: \+1\d%, not certain$`,
		Relative(aCell, aBase, stalled, bBase, d).String())
	changed := slices.Concat(bCell, bCell, bCell)
	for i := range changed[:300] {
		changed[i] *= 1.2
	}
	base := slices.Concat(bBase, bBase, bBase)
	assert.Equal(t, "can't tell: the ratio to the baseline changed during run B",
		Relative(aCell, aBase, changed, base, d).String())
	assert.Equal(t, "can't tell: the ratio to the baseline changed during run A",
		Relative(changed, base, aCell, aBase, d).String())
}

// relativeRuns judges all pairs of recorded sessions as two runs whose cell takes ratio times as long in B.
func relativeRuns(t *testing.T, ratio float64, judge func(aCell, aBase, bCell, bBase []float64) Verdict) map[Kind]int {
	kinds := map[Kind]int{}
	for _, kind := range sessionKinds {
		all := traces(t, kind)
		for j := range all {
			for i := range j {
				aCell, aBase := blocks(&noise{seconds: all[i]}, 150, 1)
				bCell, bBase := blocks(&noise{seconds: all[j]}, 150, ratio)
				kinds[judge(aCell, aBase, bCell, bBase).Kind]++
			}
		}
	}
	return kinds
}

// All recorded sessions, including those of a loaded machine: none is judged to differ from a quiet one, and 10% is
// found.
func TestRelativeOfRecordings(t *testing.T) {
	judge := func(aCell, aBase, bCell, bBase []float64) Verdict {
		return Relative(aCell, aBase, bCell, bBase, ofSessions())
	}
	equal := relativeRuns(t, 1, judge)
	assert.LessOrEqual(t, equal[Slower]+equal[Faster]+equal[Mixed], 2, "of 45")
	assert.GreaterOrEqual(t, relativeRuns(t, 1.1, judge)[Slower], 30, "of 45")

	// Without the baselines the check fails.
	naive := relativeRuns(t, 1, func(aCell, _, bCell, _ []float64) Verdict {
		e := independent(aCell, bCell)
		return Verdict{Kind: e.kind(0.02)}
	})
	assert.Greater(t, naive[Slower]+naive[Faster], 2)
}
