package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// quiet is noise of half a per cent.
func quiet(seed uint64) *noise {
	source := rand.New(rand.NewPCG(seed, 0))
	n := &noise{}
	for range 5000 {
		n.seconds = append(n.seconds, 0.05*math.Exp(0.005*source.NormFloat64()))
	}
	return n
}

func TestNewRaceRefuses(t *testing.T) {
	for want, change := range map[string]func(*Design){
		"1 cells cannot be compared: at least 2 are needed": func(d *Design) { d.Cells = d.Cells[:1] },
		"cells 0 and 2 are the same":                        func(d *Design) { d.Cells[2] = d.Cells[0] },
		"contrast 0 names the baseline, with which each cell is compared already": func(d *Design) {
			d.Contrasts = []Contrast{{A: 0, B: 1}}
		},
		"contrast 0 compares cell 1 with itself":       func(d *Design) { d.Contrasts = []Contrast{{A: 1, B: 1}} },
		"contrast 1 (cells 2 and 1) is declared twice": func(d *Design) { d.Contrasts = []Contrast{{A: 1, B: 2}, {A: 2, B: 1}} },
	} {
		d := design(1, 3)
		change(&d)
		_, err := NewJudge(d)
		assert.EqualError(t, err, want)
	}
}

func TestAddRefuses(t *testing.T) {
	r := newRace(t, design(1, 3))
	for _, seconds := range []float64{0, -1, math.Inf(1), math.NaN()} {
		err := r.Add(Round{{0, 1, 3}}, []float64{1, seconds, 1})
		assert.EqualError(t, err, fmt.Sprintf("round 0: sample 1 took %v seconds: a time must be positive and finite", seconds))
	}
	assert.Zero(t, r.Rounds())
	assert.Empty(t, r.comparisons[1].typical.rounds, "what is refused leaves no trace")
}

// A cell whose interval is as narrow as the precision is decided, even for a small margin.
func TestPrecisionIsAtMostTheMargin(t *testing.T) {
	d := design(1, 2)
	d.Margin, d.Precision = 0.005, 0.02
	r := newRace(t, d)
	assert.Equal(t, 0.005, r.design.Precision)
	assert.Equal(t, gridFor(0.005), r.design.grid())
}

// A contrast is B's ratio to A and counts as a comparison; its cells stay until it is decided, unless one of them
// cannot be run.
func TestContrasts(t *testing.T) {
	d := design(1, 3)
	d.Answers = false
	d.Contrasts = []Contrast{{A: 1, B: 2}}
	alone, r := newRace(t, design(1, 3)), newRace(t, d)
	assert.InEpsilon(t, 4.0/3*alone.comparisons[1].typical.lower.limit, r.comparisons[1].typical.lower.limit, 1e-12)
	assert.Equal(t, r.comparisons[1].typical.lower.limit, r.contrasts[0].typical.lower.limit)

	ratios := []float64{1, 1.2, 1.5}
	n := &noise{seconds: []float64{1}}
	for range 20 {
		runRound(t, r, n, ratios)
	}
	v := r.Contrasts(0)[0]
	require.Equal(t, Slower, v.Kind)
	assert.InDelta(t, 1.25, v.Typical.Ratio, 0.01)
	assert.Equal(t, []int{1, 2}, r.Live())
	r.Leave(2)
	assert.Equal(t, []int{1}, r.Live())
	assert.NotContains(t, slices.Concat(r.Next()...), 2)
	for range 20 {
		runRound(t, r, n, ratios)
	}
	assert.Empty(t, r.Live(), "what is left is decided")
}

// The names and the order of the cells change neither the schedule nor the verdicts.
func TestOrderOfCellsChangesNothing(t *testing.T) {
	const cells = 12
	ratios := append(drawn(5, cells), 1)
	judge := func(places []int) (orders [][]string, verdicts map[string]Verdict) {
		named := design(9, cells)
		d := named
		d.Cells = make([]string, cells)
		byPlace := slices.Clone(ratios)
		for from, to := range places {
			d.Cells[to] = named.Cells[from]
			byPlace[to] = ratios[from]
		}
		d.Baseline = places[0]
		r := newRace(t, d)
		n := quiet(1)
		for range 60 {
			var order []string
			for _, cell := range slices.Concat(r.Next()...) {
				order = append(order, append(d.Cells, "control")[cell])
			}
			orders = append(orders, order)
			runRound(t, r, n, byPlace)
		}
		verdicts = map[string]Verdict{}
		for cell, v := range r.Verdicts(1) {
			verdicts[d.Cells[cell]] = v
		}
		return orders, verdicts
	}
	orders, verdicts := judge([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	source := rand.New(rand.NewPCG(1, 0))
	for range 5 {
		places := source.Perm(cells)
		otherOrders, otherVerdicts := judge(places)
		require.Equal(t, orders, otherOrders)
		require.Equal(t, verdicts, otherVerdicts)
	}
}

// Cells leave when they are decided, after the first look at the totals; the control stays. A cell that differs leaves before, unless
// the precision was asked for.
func TestDecidedCellsLeave(t *testing.T) {
	d := design(3, 4)
	d.Answers = false
	precise := newRace(t, d)
	r := newRace(t, design(3, 4))
	n, ratios := quiet(2), []float64{1, 1, 1.05, 0.9}
	for range FirstLook - 1 {
		runRound(t, precise, n, ratios)
		runRound(t, r, n, ratios)
		require.Equal(t, []int{1, 2, 3}, precise.Live())
		require.Contains(t, r.Live(), 1)
		require.False(t, r.Done())
	}
	require.Equal(t, []int{1}, r.Live())
	run(t, r, n, ratios, 60)
	assert.True(t, r.Done())
	assert.Empty(t, r.Live())
	assert.Less(t, r.Rounds(), 60)
	assert.Contains(t, slices.Concat(r.Next()...), r.Control())
	verdicts := r.Verdicts(0)
	assert.Zero(t, verdicts[0])
	assert.Equal(t, []Kind{Same, Slower, Faster}, []Kind{verdicts[1].Kind, verdicts[2].Kind, verdicts[3].Kind})
	for _, v := range verdicts[1:] {
		assert.Zero(t, v.MoreRounds)
	}
}

// An answer is an interval that is a quarter as wide as its nearer end is far from 1, in logarithms.
func TestAnswers(t *testing.T) {
	for _, e := range []Effect{{Lo: 5.2, Hi: 6.5}, {Lo: 1.2, Hi: 1.25}, {Lo: 1 / 6.5, Hi: 1 / 5.2}, {Lo: 1.1, Hi: 1.12}} {
		assert.True(t, e.answers(), "%v", e)
	}
	for _, e := range []Effect{{Lo: 5.2, Hi: 8}, {Lo: 1.2, Hi: 1.26}, {Lo: 0.99, Hi: 1.01}, {Hi: math.MaxFloat64}, {Lo: 3, Hi: math.MaxFloat64}, {Hi: 0.1}} {
		assert.False(t, e.answers(), "%v", e)
	}
}

// A cell that waits for the answer of a gate leaves only when it is released; a number of rounds ends the run before that.
func TestHeld(t *testing.T) {
	d := design(4, 3)
	d.Held = true
	r := newRace(t, d)
	n := quiet(2)
	for range 3 * FirstLook {
		runRound(t, r, n, []float64{1, 1, 7})
	}
	require.Equal(t, []int{1, 2}, r.Live())
	require.True(t, r.Settled(2))
	r.Release(2)
	require.Equal(t, []int{1}, r.Live())
	require.False(t, r.Done())
	r.Release(1)
	require.True(t, r.Done())
	r.GoOn(Until{Rounds: 3*FirstLook + 1, Answers: true, Held: true})
	require.Equal(t, []int{1, 2}, r.Live(), "another end asks again")
	runRound(t, r, n, []float64{1, 1, 7})
	require.True(t, r.Done())
}

func TestFixedRounds(t *testing.T) {
	d := design(3, 3)
	d.Rounds = 70
	r := newRace(t, d)
	run(t, r, quiet(2), nil, math.Inf(1))
	assert.Equal(t, 70, r.Rounds())
	assert.Equal(t, 70, r.Verdicts(0)[2].Rounds, "no cell leaves before")
	assert.Equal(t, 3, r.comparisons[1].total.looks, "after 25, 50 and 70")
}

// Stalls are detected even before the first look at the total.
func TestEarlyStalls(t *testing.T) {
	d := design(3, 2)
	r := newRace(t, d)
	n := quiet(4)
	for k := range FirstLook - 1 {
		stall := 1.002
		if k%8 == 0 {
			stall = 1.3
		}
		require.NoError(t, r.Add(Round{{0, 1, 2}}, []float64{n.next(), stall * n.next(), n.next()}))
	}
	v := r.Verdicts(0)[1]
	assert.Nil(t, v.Total)
	assert.Regexp(t, `^can't tell: typical: same within \d(\.\d)?%; total: \+\d\.\d%, not certain; about 1 more round would decide$`, v.String())
}

// If the ratio changes, no ratio fits all rounds.
func TestChangedRatio(t *testing.T) {
	d := design(3, 2)
	d.Rounds = 200
	r := newRace(t, d)
	n := quiet(4)
	for k := range d.Rounds {
		runRound(t, r, n, []float64{1, 1 + 0.1*float64(k/100)})
	}
	v := r.Verdicts(0)[1]
	assert.Equal(t, "can't tell: the ratio to the baseline changed during the run", v.String())
}

// The estimate lies within the interval; if later rounds move it outside, it is shown at the end of the interval.
func TestEffectsHoldTheirEstimates(t *testing.T) {
	all := traces(t, "hog.seqp.*.csv")
	r := newRace(t, design(1, 4))
	n := start(all, 0, 1)
	for range 100 {
		runRound(t, r, n, nil)
		for _, v := range r.Verdicts(0)[1:] {
			require.GreaterOrEqual(t, v.Typical.Ratio, v.Typical.Lo)
			require.LessOrEqual(t, v.Typical.Ratio, v.Typical.Hi)
		}
	}
	c := comparison{typical: newSequence(0.05, gridFor(0.02))}
	for k := range 230 {
		c.typical.add(0.004*float64(min(1, k/100)), math.NaN())
	}
	require.Greater(t, c.typical.ratio(), 1.0015)
	require.Equal(t, Effect{Ratio: 1.001, Lo: 1, Hi: 1.001}, c.effect())
}

// A run that goes on after its planned end looks at the totals at that end, and not at the new one. All its cells are sampled again.
func TestGoOn(t *testing.T) {
	d := design(1, 3)
	d.Rounds = 30
	r, err := NewJudge(d)
	require.NoError(t, err)
	source := quiet(3)
	looks := map[int]int{}
	to := func(rounds int) {
		for !r.Done() {
			round := r.Next()
			var seconds []float64
			for _, block := range round {
				for range block {
					seconds = append(seconds, source.seconds[len(seconds)+50*r.rounds])
				}
			}
			require.NoError(t, r.Add(round, seconds))
			looks[r.rounds] = r.control().total.looks
		}
		require.Equal(t, rounds, r.rounds)
	}
	to(30)
	r.GoOn(Until{Rounds: 40})
	require.False(t, r.Done())
	to(40)
	require.Equal(t, [...]int{0, 1, 1, 2, 2}, [...]int{looks[24], looks[25], looks[29], looks[30], looks[40]})
	r.GoOn(Until{Rounds: 35})
	require.True(t, r.Done(), "fewer than there are")
	r.GoOn(Until{Rounds: 0})
	for !r.Done() {
		to0 := r.Next()
		require.NoError(t, r.Add(to0, slices.Repeat([]float64{1}, len(slices.Concat(to0...)))))
	}
	require.Empty(t, r.Live(), "until all are sampled enough")
	r.GoOn(Until{Rounds: r.rounds + 1})
	require.Len(t, r.Live(), 2)
}
