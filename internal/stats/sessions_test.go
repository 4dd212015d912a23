package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// sessionKinds are recordings of equal work; each recording is a session.
var sessionKinds = []string{"nat.seqp.*.csv", "nat.sequ.*.csv", "nat.ab2.*.csv"}

// shape is a part of a recording that stands for a session: so many samples from some place on, of which each step-th
// is the cell's and the others are other cells'. Length 0 is the whole recording.
type shape struct{ length, step int }

// shapes are what sessions are replayed as.
var shapes = []shape{{0, 1}, {0, 4}, {150, 1}, {150, 3}, {100, 1}, {100, 4}, {60, 1}, {60, 2}, {40, 1}, {25, 1}}

// session is label A's samples from some place on.
func session(recording []recorded, from, length, step int) Session {
	var s Session
	for i := from; i < from+length; i += step {
		s.Seconds = append(s.Seconds, recording[i].wall)
		s.Others = append(s.Others, recording[i].others)
		s.Canary = append(s.Canary, recording[i].canary)
	}
	return s
}

// sessionPairs are all pairs of sessions of one kind; of each pair of recordings, parts from four places with one
// another.
func sessionPairs(t testing.TB, s shape) (pairs [][2]Session) {
	const places = 4
	for _, kind := range sessionKinds {
		all := recordings(t, kind)
		for i := range all {
			all[i] = slices.DeleteFunc(all[i], func(r recorded) bool { return r.label != "A" })
		}
		for j, b := range all {
			for _, a := range all[:j] {
				if s.length == 0 {
					pairs = append(pairs, [2]Session{session(a, 0, len(a), s.step), session(b, 0, len(b), s.step)})
					continue
				}
				for place := range places * places {
					fromA := place % places * (len(a) - s.length) / (places - 1)
					fromB := place / places * (len(b) - s.length) / (places - 1)
					pairs = append(pairs, [2]Session{
						session(a, fromA, s.length, s.step), session(b, fromB, s.length, s.step),
					})
				}
			}
		}
	}
	return pairs
}

// times is the session of a cell that takes so many times as long, beside the same disturbances.
func (s Session) times(ratio float64) Session {
	seconds := slices.Clone(s.Seconds)
	for i := range seconds {
		seconds[i] *= ratio
	}
	return Session{Seconds: seconds, Others: s.Others, Canary: s.Canary}
}

func ofSessions() SessionsDesign {
	return SessionsDesign{Comparisons: 1, Alpha: 0.05, Margin: 0.02, Precision: 0.02}
}

// alike is a verdict that no change of the conditions is too small to explain.
var alike = Verdict{Typical: Effect{Ratio: 1}, Margin: 0.02}

// falseVerdicts is how many sessions of equal work are told to differ, of those whose conditions do not.
func falseVerdicts(t *testing.T, judge func(a, b Session) Verdict) (wrong, comparable, pairs int) {
	for _, s := range shapes {
		wrongBefore, comparableBefore := wrong, comparable
		for _, pair := range sessionPairs(t, s) {
			pairs++
			if otherConditions(pair[0], pair[1], alike) == "" {
				comparable++
			}
			if claims(judge(pair[0], pair[1])) {
				wrong++
			}
		}
		t.Logf("%v: %d wrong, of %d pairs under like conditions", s, wrong-wrongBefore, comparable-comparableBefore)
	}
	return wrong, comparable, pairs
}

// Sessions of equal work, minutes apart: few are told to differ, even if those are left out that can't be compared.
// The recordings are of one machine, and the allowance was chosen on them.
func TestEqualSessions(t *testing.T) {
	wrong, comparable, pairs := falseVerdicts(t, func(a, b Session) Verdict { return Sessions(a, b, ofSessions()) })
	t.Logf("%d wrong, of %d under like conditions, of %d", wrong, comparable, pairs)
	assert.LessOrEqual(t, 100*wrong, 5*comparable)
	for _, pair := range sessionPairs(t, shape{0, 1}) {
		v := Sessions(pair[0], pair[1], ofSessions())
		assert.False(t, claims(v), "%s", v)
	}
}

// The methods that are wrong on purpose fail the same check.
func TestNaiveSessions(t *testing.T) {
	for name, judge := range map[string]func(a, b Session) Verdict{
		"samples taken for independent": func(a, b Session) Verdict {
			v := Sessions(a, b, ofSessions())
			if v.Reason == "" {
				v.Typical, v.Total = independent(a.Seconds, b.Seconds), nil
				v.Kind = v.judged()
			}
			return v
		},
		"no allowance between sessions": func(a, b Session) Verdict {
			v := Sessions(a, b, ofSessions())
			if v.Reason == "" {
				v.Typical.Lo, v.Typical.Hi = v.Typical.Lo*(1+betweenSessions), v.Typical.Hi/(1+betweenSessions)
				v.Kind = v.judged()
			}
			return v
		},
		"conditions not looked at": func(a, b Session) Verdict {
			return Sessions(Session{Seconds: a.Seconds}, Session{Seconds: b.Seconds}, ofSessions())
		},
	} {
		t.Run(name, func(t *testing.T) {
			wrong, comparable, pairs := falseVerdicts(t, judge)
			t.Logf("%d wrong, of %d under like conditions, of %d", wrong, comparable, pairs)
			assert.Greater(t, 100*wrong, 5*comparable)
		})
	}
}

// independent is Welch's interval on log times, with the allowance.
func independent(a, b []float64) Effect {
	moments := func(seconds []float64) (m, squaredError float64) {
		for _, s := range seconds {
			m += math.Log(s) / float64(len(seconds))
		}
		for _, s := range seconds {
			squaredError += (math.Log(s) - m) * (math.Log(s) - m)
		}
		return m, squaredError / float64(len(seconds)*(len(seconds)-1))
	}
	meanA, errorA := moments(a)
	meanB, errorB := moments(b)
	width := 1.96*math.Sqrt(errorA+errorB) + math.Log1p(betweenSessions)
	difference := meanB - meanA
	return Effect{Ratio: math.Exp(difference), Lo: math.Exp(difference - width), Hi: math.Exp(difference + width)}
}

// What differs is found where the conditions are alike; 2% is little more than sessions differ by themselves.
func TestPowerOfSessions(t *testing.T) {
	for _, c := range []struct {
		ratio       float64
		comparisons int
		found       int // per cent, at least
	}{{1.02, 1, 15}, {1.05, 1, 65}, {1.1, 1, 80}, {1.2, 1, 90}, {1.1, 8, 60}} {
		d := ofSessions()
		d.Comparisons = c.comparisons
		found, all := 0, 0
		for _, s := range []shape{{0, 1}, {100, 1}, {100, 4}} {
			for _, pair := range sessionPairs(t, s) {
				a, b := pair[0], pair[1]
				if otherConditions(a, b, alike) != "" {
					continue
				}
				all += 2
				if Sessions(a, b.times(c.ratio), d).Kind == Slower {
					found++
				}
				if Sessions(a, b.times(1/c.ratio), d).Kind == Faster {
					found++
				}
			}
		}
		t.Logf("%+v: found in %d of %d", c, found, all)
		assert.GreaterOrEqual(t, 100*found, c.found*all, "%+v", c)
	}
}

// steady is a session with noise of half a per cent.
func steady(seed uint64, rounds int) Session {
	n := quiet(seed)
	s := Session{Seconds: n.seconds[:rounds]}
	for range rounds {
		s.Others, s.Canary = append(s.Others, 0.01), append(s.Canary, 134e-6)
	}
	return s
}

func TestSessionsWords(t *testing.T) {
	words := func(change func(b *Session)) string {
		a, b := steady(1, 60), steady(2, 60)
		change(&b)
		return Sessions(a, b, ofSessions()).String()
	}
	assert.Regexp(t, `^slower: \+[45]\.\d% \[\d\.\d, \d\.\d\], 60 rounds$`,
		words(func(b *Session) { *b = b.times(1.05) }))
	assert.Regexp(t, `^faster: −4\.\d% \[−\d\.\d, −\d\.\d\], 60 rounds$`,
		words(func(b *Session) { *b = b.times(0.955) }))
	assert.Equal(t, "no difference larger than 2%", words(func(*Session) {}))
	assert.Regexp(t, `^can't tell: \[(−0\.)?\d, \+\d\.\d\]$`, words(func(b *Session) { *b = b.times(1.011) }))
	assert.Equal(t, "can't tell: too few rounds", words(func(b *Session) { *b = steady(2, 11) }))
	assert.Equal(t, "can't tell: the machine itself was 3.0% slower: canary 134.0 µs in A, 138.0 µs in B",
		words(func(b *Session) {
			for i := range b.Canary {
				b.Canary[i] = 138e-6
			}
		}))
	assert.Equal(t, "can't tell: the machine itself was 3.0% faster: canary 134.0 µs in A, 130.0 µs in B",
		words(func(b *Session) {
			for i := range b.Canary {
				b.Canary[i] = 130e-6
			}
		}))
	assert.Equal(t, "can't tell: others took 1.0% of the CPU time in A, 43.5% in B", words(func(b *Session) {
		for i := range b.Others {
			b.Others[i] = 0.02 + 0.83*float64(i%2)
		}
	}))
	assert.Equal(t, "no difference larger than 2%", words(func(b *Session) { b.Canary, b.Others = nil, nil }))
	assert.Regexp(t, `^can't tell: others took 1.0% `, words(func(b *Session) {
		*b = b.times(1.3)
		b.Others = slices.Repeat([]float64{0.06}, 60)
	}))
	assert.Regexp(t, `^slower: \+40%`, words(func(b *Session) { // five points of CPU time do not do this
		*b = b.times(1.4)
		b.Others = slices.Repeat([]float64{0.06}, 60)
		b.Canary = slices.Repeat([]float64{138e-6}, 60)
	}))
	assert.Regexp(t, `^can't tell: others took 1.0% `, words(func(b *Session) {
		b.Others = slices.Repeat([]float64{1}, 60)
	}))
	busy := steady(2, 60)
	busy.Others = slices.Repeat([]float64{0.5}, 60)
	idle := Session{Seconds: steady(1, 60).Seconds}
	assert.Equal(t, Same, Sessions(idle, busy, ofSessions()).Kind, "not known of A")
	assert.Equal(t, Same, Sessions(busy, idle, ofSessions()).Kind, "not known of B")
	// A stall in each part: the typical time is the same, the total is not.
	assert.Regexp(t, `^typical: same within [\d.]+%; total: \+8\d%, long stalls$`, words(func(b *Session) {
		for i := range b.Seconds {
			if i%12 == 5 {
				b.Seconds[i] *= 11
			}
		}
	}))
	// In some parts only: nothing is certain of the total, and so of equality neither.
	assert.Regexp(t, `^can't tell: `, words(func(b *Session) {
		source := rand.New(rand.NewPCG(1, 0))
		for i := range b.Seconds {
			if i%12 == 5 {
				b.Seconds[i] *= 1 + 8*source.Float64()
			}
		}
	}))
}

func TestSessionsRefuses(t *testing.T) {
	good := []float64{1, 1, 1}

	for want, change := range map[string]func(*SessionsDesign, *Session){
		"invalid: 0 comparisons cannot be made":              func(d *SessionsDesign, _ *Session) { d.Comparisons = 0 },
		"invalid: the error rate, 1, is not between 0 and 1": func(d *SessionsDesign, _ *Session) { d.Alpha = 1 },
		"invalid: the margin, 0, is not between 0 and 1":     func(d *SessionsDesign, _ *Session) { d.Margin = 0 },
		"invalid: the precision, -1, is not between 0 and 1": func(d *SessionsDesign, _ *Session) { d.Precision = -1 },
		"invalid: sample 1 took NaN seconds, which is no time": func(_ *SessionsDesign, s *Session) {
			s.Seconds[1] = math.NaN()
		},
		"invalid: sample 1 took 0 seconds, which is no time": func(_ *SessionsDesign, s *Session) { s.Canary[1] = 0 },
	} {
		d, s := ofSessions(), Session{Seconds: slices.Clone(good), Canary: slices.Clone(good)}
		change(&d, &s)
		assert.Equal(t, want, Sessions(s, Session{Seconds: good}, d).String())
		assert.Equal(t, want, Sessions(Session{Seconds: good}, s, d).String())
	}
}

// By hand: parts of 1 and parts of 1.9, 2, 2.1 and 2, whose mean has a standard error of 0.0408, three degrees of
// freedom and the allowance.
func TestPartsEffect(t *testing.T) {
	const rounds = 40
	a, b := slices.Repeat([]float64{1}, rounds), make([]float64, rounds)
	for i := range b {
		b[i] = []float64{1.9, 2, 2.1, 2}[i/10]
	}
	g := gridFor(0.02)
	width := 3.182*math.Sqrt(0.02/12)/2 + math.Log(1.01)
	up, down := partsEffect(a, b, Median, 0.05, g), partsEffect(b, a, Median, 0.05, g)
	assert.InDelta(t, 2, up.Ratio, 1e-12)
	assert.InDelta(t, 0.5, down.Ratio, 1e-12)
	for _, end := range [][2]float64{
		{up.Lo, 2*math.Exp(-width) - 0.0005},
		{up.Hi, 2*math.Exp(width) + 0.0005},
		{down.Lo, 0.5*math.Exp(-width) - 0.0005},
		{down.Hi, 0.5*math.Exp(width) + 0.0005},
	} {
		assert.InDelta(t, end[1], end[0], 0.00055, "rounded outward")
	}
	b[3], b[17], b[35] = 50, 70, 1 // medians mind none of them
	assert.Equal(t, up, partsEffect(a, b, Median, 0.05, g))
	b[0], b[39] = b[39], b[0]
	assert.Equal(t, up, partsEffect(a, b, Median, 0.05, g), "whatever the order within a part")

	d := ofSessions()
	d.Comparisons = 8
	v := Sessions(Session{Seconds: a}, Session{Seconds: b}, d)
	assert.Equal(t, partsEffect(a, b, Median, 0.8*0.05/8, g), v.Typical)
	assert.Equal(t, partsEffect(a, b, mean, 0.2*0.05/8, g), *v.Total)
	assert.Equal(t, 39, Sessions(Session{Seconds: a[1:]}, Session{Seconds: b}, d).Rounds)
	assert.Equal(t, 39, Sessions(Session{Seconds: a}, Session{Seconds: b[1:]}, d).Rounds)
}

// The quantiles of printed tables.
func TestStudent(t *testing.T) {
	for _, c := range []struct {
		alpha   float64
		degrees int
		want    float64
	}{{0.05, 1, 12.706}, {0.05, 3, 3.182}, {0.01, 3, 5.841}, {0.001, 3, 12.924}, {0.05, 5, 2.571}, {0.05, 7, 2.365}} {
		assert.InDelta(t, c.want, student(c.alpha, c.degrees), 6e-4, "%+v", c)
	}
}
