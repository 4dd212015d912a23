package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withControl returns a judge whose control takes control(round) times as long as the baseline.
func withControl(t *testing.T, rounds int, control func(round int) float64) *Judge {
	t.Helper()
	d := design(3, 2)
	d.Rounds = rounds
	return withControlOf(t, d, 1.1, control)
}

func withControlOf(t *testing.T, d Design, cell float64, control func(round int) float64) *Judge {
	t.Helper()
	r := newRace(t, d)
	n := quiet(4)
	for k := range d.Rounds {
		require.NoError(t, r.Add(Round{{0, 1, 2}}, []float64{n.next(), cell * n.next(), control(k) * n.next()}))
	}
	return r
}

func TestControl(t *testing.T) {
	v := withControl(t, 30, func(int) float64 { return 1 }).Verdicts(0)[1]
	assert.Equal(t, Slower, v.Kind)

	wide := rand.New(rand.NewPCG(1, 0))
	r := withControl(t, 30, func(int) float64 { return math.Exp(0.2 * wide.NormFloat64()) })
	assert.False(t, r.controlled())
	assert.Equal(t, Slower, r.Verdicts(0)[1].Kind, "a wide control is no reason to doubt a claim")
	r, n := newRace(t, design(3, 2)), quiet(5)
	for range 60 {
		duplicate := n.next() * math.Exp(0.1*wide.NormFloat64())
		require.NoError(t, r.Add(Round{{0, 1, 2}}, []float64{n.next(), n.next(), duplicate}))
	}
	assert.Regexp(t, `^can't tell: the control is not settled yet: −.*% to \+.*%; (about|another|\d+ s more)`, r.Verdicts(0.5)[1].String())

	r = withControl(t, 200, func(k int) float64 { return 0.95 + 0.1*float64(k/100) })
	assert.Greater(t, r.control().typical.ends().Lo, r.control().typical.ends().Hi, "it changed")
	assert.Regexp(t, `^can't tell: the baseline differs from its own duplicate: `, r.Verdicts(0)[1].String())
	r.design.Rounds = 0
	assert.True(t, r.Done(), "no verdict is possible")

	r = withControl(t, 100, func(k int) float64 { // one sample in four stalls
		if k%4 == 0 {
			return 20
		}
		return 1
	})
	assert.False(t, r.control().typical.ends().differs())
	assert.Regexp(t, `^can't tell: the baseline differs from its own duplicate: in total \d`, r.Verdicts(0)[1].String())
}

// A baseline that differs from its own duplicate makes each interval wider by as much, and takes back what is not certain then.
func TestControlDiffers(t *testing.T) {
	d := design(3, 2)
	d.Rounds = 100
	of := func(cell, control float64) *Judge {
		return withControlOf(t, d, cell, func(int) float64 { return control })
	}
	for _, c := range []struct {
		cell, control float64
		kind          Kind
	}{
		{1.1, 1.03, Slower},
		{1.1, 1 / 1.03, Slower},
		{0.9, 1.03, Faster},
		{0.9, 1 / 1.03, Faster},
		{1, 1.006, Same},
		{1, 1.03, CantTell},
		{1.02, 1.03, CantTell},
		{1 / 1.02, 1 / 1.03, CantTell},
	} {
		r := of(c.cell, c.control)
		control, measured, v := r.ControlVerdict(), r.comparisons[1].effect(), r.Verdicts(0)[1]
		far := max(control.Typical.Hi, 1/control.Typical.Lo)
		if control.Total.differs() {
			far = max(far, control.Total.Hi, 1/control.Total.Lo)
		}
		require.True(t, control.Typical.differs(), c)
		assert.Equal(t, c.kind, v.Kind, c)
		assert.InDelta(t, measured.Lo/far, v.Typical.Lo, v.Step, c)
		assert.InDelta(t, measured.Hi*far, v.Typical.Hi, v.Step, c)
		if v.Kind == CantTell {
			assert.Regexp(t, `^can't tell: the baseline differs from its own duplicate: (\+2\.\d% to \+3\.\d%|−3\.\d% to −2\.\d%)$`, v.String())
		}
	}
	assert.Nil(t, of(1.02, 1.03).Verdicts(1)[1].Forecast)

	d.Strict = true
	r := of(1.1, 1.03)
	assert.Equal(t, CantTell, r.Verdicts(0)[1].Kind, "as before")
	r.design.Rounds = 0
	assert.True(t, r.Done())

	const most = 200
	until := func(d Design, cell, control float64) *Judge {
		r := newRace(t, d)
		for !r.Done() && r.Rounds() < most {
			require.NoError(t, r.Add(Round{{0, 1, 2}}, []float64{1, cell, control}))
		}
		return r
	}
	r = until(design(3, 2), 9, 1.5)
	assert.Equal(t, Slower, r.Verdicts(0)[1].Kind)
	assert.Less(t, r.Rounds(), FirstLook, "it is known as soon as it is larger")
	assert.GreaterOrEqual(t, until(design(3, 2), 1.028, 1.015).Rounds(), FirstLook, "it is not certain that it is larger")

	d = design(3, 2)
	d.Best = true
	assert.Zero(t, until(d, 9, 1.5).Best().Winner)
	r = until(d, 1.3, 1.5)
	assert.Equal(t, []int{0, 1}, r.Best().Left)
	assert.Equal(t, most, r.Rounds())

	d = design(3, 2)
	d.Step = &Step{Work: 2, Count: 1}
	strict := d
	strict.Strict = true
	assert.False(t, until(strict, 1, 1.5).Scales())
	assert.True(t, until(d, 1, 1.5).Scales())
	assert.Equal(t, Stops, until(d, 9, 1.5).Verdicts(0)[1].Kind)
	assert.Equal(t, most, until(d, 2/1.02, 1).Rounds(), "a narrow interval is no answer")
	assert.Less(t, until(d, 2/1.02, 1.003).Rounds(), most, "more rounds would hardly show more")
	for _, cell := range []float64{1.7, 3.2} {
		r = until(d, cell, 1.5)
		assert.False(t, r.Scales())
		assert.Equal(t, CantTell, r.Verdicts(0)[1].Kind)
		assert.Equal(t, most, r.Rounds())
	}
}
