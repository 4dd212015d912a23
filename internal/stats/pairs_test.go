package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Critical values of the signed-rank test, from printed tables: the greatest sum that is significant, plus one.
func TestSignedRankDepth(t *testing.T) {
	for _, c := range []struct {
		n     int
		alpha float64
		want  int
	}{
		{1, 0.025, 0},
		{5, 0.025, 0},
		{6, 0.025, 0 + 1},
		{8, 0.025, 3 + 1},
		{10, 0.025, 8 + 1},
		{10, 0.005, 3 + 1},
		{20, 0.025, 52 + 1},
		{20, 0.005, 37 + 1},
		{50, 0.025, 434 + 1},
	} {
		assert.Equal(t, c.want, signedRankDepth(c.n, c.alpha), "%+v", c)
	}
	assert.LessOrEqual(t, signedRankDepth(1, 1), 1)
}

// If no difference is real, at most a share alpha of all possible signs leads to an interval that leaves out 1, for
// differences of any size.
func TestPairsFalseVerdicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.003, 0.01, 0.05, 0.3, 2}), 1, 9).Draw(t, "sizes")
		assert.LessOrEqual(t, falseCalls(sizes, func(logs []float64) bool {
			slices.Sort(logs)
			return signedRankEffect(logs, 0.04, gridFor(0.02)).differs()
		}), 0.04)
	})
}

// The interval contains the estimate, and its ends, rounded outward, are the ratios between which the test does not
// reject.
func TestSignedRankEffect(t *testing.T) {
	g := gridFor(0.02)
	rapid.Check(t, func(t *rapid.T) {
		logs := rapid.SliceOfN(rapid.Float64Range(-0.5, 0.5), 6, 30).Draw(t, "logs")
		slices.Sort(logs)
		e := signedRankEffect(logs, 0.05, g)
		require.LessOrEqual(t, e.Lo, e.Ratio)
		require.GreaterOrEqual(t, e.Hi, e.Ratio)
		depth := signedRankDepth(len(logs), 0.025)
		all := means(logs)
		lo, hi := math.Exp(all[depth-1]), math.Exp(all[len(all)-depth])
		assert.True(t, e.Lo <= lo+rounding && lo < e.Lo+1.001/float64(g), "%v %v", e.Lo, lo)
		assert.True(t, e.Hi >= hi-rounding && hi > e.Hi-1.001/float64(g), "%v %v", e.Hi, hi)
	})
}

func TestPairs(t *testing.T) {
	judge := func(pairs int, ratio float64) Verdict {
		cell, base := blocks(quiet(1), pairs, ratio)
		return PairedSamples(cell, base, ofSessions())
	}
	assert.Regexp(t, `^slower: \+\d\.\d% to \+\d\.\d%, 10 rounds$`, judge(10, 1.05).String())
	assert.Regexp(t, `^faster: −\d\.\d% to −\d\.\d%, 10 rounds$`, judge(10, 0.95).String())
	assert.Equal(t, "no difference larger than 2%", judge(10, 1).String())
	assert.Equal(t, "can't tell: too few samples yet", judge(5, 1.05).String())
	assert.Zero(t, judge(5, 1.05).MoreRounds)
	assert.Equal(t, "can't tell: too few samples yet", judge(0, 1).String())
	v := judge(10, 1.05)
	assert.Equal(t, 10, v.Rounds)
	assert.InDelta(t, 1.05, v.Typical.Ratio, 0.01)
	assert.LessOrEqual(t, v.Typical.Lo, 1.05)
	assert.GreaterOrEqual(t, v.Typical.Hi, 1.05)

	// Neither cell nor baseline is special.
	cell, base := blocks(quiet(1), 20, 1.1)
	there, back := PairedSamples(cell, base, ofSessions()), PairedSamples(base, cell, ofSessions())
	assert.Equal(t, Slower, there.Kind)
	assert.Equal(t, Faster, back.Kind)
	assert.InDelta(t, 1, there.Typical.Ratio*back.Typical.Ratio, 1e-12)
}

// An undecided verdict says how many more pairs are likely to be enough.
func TestPairsMore(t *testing.T) {
	cell, base := blocks(quiet(1), 12, 1)
	source := rand.New(rand.NewPCG(1, 2))
	for i := range cell {
		cell[i] *= 1.03 * math.Exp(0.08*source.NormFloat64())
	}
	v := PairedSamples(cell, base, ofSessions())
	require.Equal(t, CantTell, v.Kind)
	assert.Regexp(t, `^can't tell: −\d+(\.\d)?% to \+\d+(\.\d)?%; about \d+ more rounds would decide$`, v.String())

	half := Effect{Ratio: 1.02, Lo: 1.02 / 1.0404, Hi: 1.02 * 1.0404} // twice as wide as needed
	assert.InDelta(t, 30, pairsNeeded(half, 0.02, 10), 0.01)
	assert.InDelta(t, 30, pairsNeeded(Effect{Ratio: 1, Lo: 1 / 1.0404, Hi: 1.0404}, 0.02, 10), 0.01)
	assert.EqualValues(t, 1, pairsNeeded(Effect{Ratio: 1.1, Lo: 0.9999, Hi: 1.2}, 0.02, 10))
	assert.True(t, math.IsInf(pairsNeeded(Effect{Ratio: 1, Hi: math.MaxFloat64}, 0.02, 3), 1))
}

// Rare stalls move the total and not the typical ratio: the verdict is then not "no difference".
func TestPairsStalls(t *testing.T) {
	cell, base := blocks(quiet(1), 40, 1)
	for i := range 8 {
		cell[5*i] *= 6
	}
	v := PairedSamples(cell, base, ofSessions())
	assert.Equal(t, Slower, v.Kind)
	assert.Regexp(t, `^slower: in total .*, long stalls; typical: can't tell .*, \d+ rounds$`, v.String())

	cell, base = blocks(quiet(1), 60, 1)
	for i := range 4 {
		cell[15*i] *= 5
	}
	v = PairedSamples(cell, base, ofSessions())
	assert.Equal(t, CantTell, v.Kind)
	assert.Contains(t, v.String(), "not certain")
}
