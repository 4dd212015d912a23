package stats

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sessionKinds are recordings of equal work; each recording is a session.
var sessionKinds = []string{"nat.seqp.*.csv", "nat.sequ.*.csv", "nat.ab2.*.csv"}

// shape describes the part of a recording that stands for a session: length samples from a given place, of which each
// step-th belongs to the cell and the others to other cells. Length 0 is the whole recording.
type shape struct{ length, step int }

// shapes are the shapes in which sessions are replayed.
var shapes = []shape{{0, 1}, {0, 4}, {150, 1}, {150, 3}, {100, 1}, {100, 4}, {60, 1}, {60, 2}, {40, 1}, {25, 1}}

// session returns label A's samples from a given place.
func session(recording []recorded, from, length, step int) Session {
	var s Session
	for i := from; i < from+length; i += step {
		s.Seconds = append(s.Seconds, recording[i].wall)
		s.Others = append(s.Others, recording[i].others)
		s.Canary = append(s.Canary, recording[i].canary)
	}
	return s
}

// sessionPairs returns all pairs of sessions of one kind; for each pair of recordings, all pairs of parts from four
// places.
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
					pairs = append(pairs, [2]Session{session(a, fromA, s.length, s.step), session(b, fromB, s.length, s.step)})
				}
			}
		}
	}
	return pairs
}

// times returns the session of a cell that takes ratio times as long, with the same disturbances.
func (s Session) times(ratio float64) Session {
	seconds := slices.Clone(s.Seconds)
	for i := range seconds {
		seconds[i] *= ratio
	}
	return Session{Seconds: seconds, Others: s.Others, Canary: s.Canary}
}

// one compares one session of each.
func one(a, b Session, d Design) Verdict { return Sessions([]Session{a}, []Session{b}, d) }

func ofSessions() Design {
	return Design{Comparisons: 1, Alpha: 0.05, Margin: 0.02, Precision: 0.02}
}

// replayed calls f with k pairs of sessions of one length, cut in turn from label A of a recording at all places where
// they fit, and without known conditions. A single pair is tried with every gap.
func replayed(recording []recorded, k, length int, f func(a, b []Session)) {
	seconds := session(recording, 0, len(recording), 1).Seconds
	const step = 5
	for at := 0; at+2*k*length <= len(seconds); at += step {
		for gap := 0; at+2*k*length+gap <= len(seconds) && (gap == 0 || k == 1); gap += step {
			var a, b []Session
			for i := range k {
				from := at + 2*i*length
				a = append(a, Session{Seconds: seconds[from:][:length]})
				b = append(b, Session{Seconds: seconds[from+length+gap:][:length]})
			}
			f(a, b)
		}
	}
}

// eachRecording calls f for each recording of equal work, by its file's name.
func eachRecording(t *testing.T, f func(t *testing.T, recording []recorded)) {
	paths, err := filepath.Glob("../../testdata/noise/*.*.*.csv")
	require.NoError(t, err)
	require.Len(t, paths, 28)
	for _, path := range paths {
		recording := slices.DeleteFunc(recordingAt(t, path), func(r recorded) bool { return r.label != "A" })
		t.Run(filepath.Base(path), func(t *testing.T) { f(t, recording) })
	}
}

// lengths are those of sessions in turn.
var lengths = []int{12, 16, 18, 20, 25, 30, 35, 40}

// falseShare returns the share of the replays of a recording in which k pairs of equal sessions are claimed to differ.
func falseShare(recording []recorded, k int, lengths []int, judge func(a, b []Session) Verdict) (share float64, replays int) {
	wrong := 0
	for _, length := range lengths {
		replayed(recording, k, length, func(a, b []Session) {
			replays++
			if claims(judge(a, b)) {
				wrong++
			}
		})
	}
	return float64(wrong) / float64(max(1, replays)), replays
}

func judged(a, b []Session) Verdict { return Sessions(a, b, ofSessions()) }

// For each recording, under all conditions, at most one in twenty pairs of sessions is claimed to differ, also where
// several pairs are taken in turn.
func TestEqualSessions(t *testing.T) {
	eachRecording(t, func(t *testing.T, recording []recorded) {
		single, replays := falseShare(recording, 1, []int{40}, judged)
		assert.Positive(t, replays)
		assert.LessOrEqual(t, single, 0.05, "one session each, of %d", replays)
		for _, pairs := range []int{4, 5, 6, 8} {
			inTurn, replays := falseShare(recording, pairs, lengths, judged)
			assert.LessOrEqual(t, inTurn, 0.05, "%d pairs, of %d", pairs, replays)
		}
	})
}

// Sessions of different recordings of a kind, minutes apart and of any length.
func TestSessionsOfDifferentRecordings(t *testing.T) {
	for _, s := range shapes {
		pairs := sessionPairs(t, s)
		wrong := count(len(pairs), func(i int) bool { return claims(one(pairs[i][0], pairs[i][1], ofSessions())) })
		assert.LessOrEqual(t, 100*wrong, 5*len(pairs), "%v", s)
	}
}

// The methods that are wrong on purpose fail the same check.
func TestNaiveSessions(t *testing.T) {
	d := ofSessions()
	for name, c := range map[string]struct {
		pairs   int
		lengths []int
		judge   func(a, b []Session) Effect
	}{
		"samples taken for independent": {1, []int{40}, func(a, b []Session) Effect {
			return independent(a[0].Seconds, b[0].Seconds)
		}},
		"no allowance between sessions": {1, []int{40}, func(a, b []Session) Effect {
			logA, errorA := partsMean(a[0].Seconds, Median)
			logB, errorB := partsMean(b[0].Seconds, Median)
			return around(logB-logA, student(d.Alpha, sessionParts-1)*math.Hypot(errorA, errorB), d.grid())
		}},
		"pairs taken for one session": {4, lengths, func(a, b []Session) Effect {
			var joined [2][]float64
			for i := range a {
				joined[0], joined[1] = append(joined[0], a[i].Seconds...), append(joined[1], b[i].Seconds...)
			}
			return independent(joined[0], joined[1])
		}},
	} {
		worst := 0.0
		eachRecording(t, func(_ *testing.T, recording []recorded) {
			share, _ := falseShare(recording, c.pairs, c.lengths, func(a, b []Session) Verdict {
				return Verdict{Kind: c.judge(a, b).kind(d.Margin)}
			})
			worst = max(worst, share)
		})
		assert.Greater(t, worst, 0.05, name)
	}
}

// independent returns Welch's interval on log times, with an allowance of 1%.
func independent(a, b []float64) Effect {
	logA, logB := logarithms(a), logarithms(b)
	standardError := func(logs []float64) float64 { return StandardDeviation(logs) / math.Sqrt(float64(len(logs))) }
	width := 1.96*math.Hypot(standardError(logA), standardError(logB)) + math.Log1p(0.01)
	difference := Mean(logB) - Mean(logA)
	return Effect{Ratio: math.Exp(difference), Lo: math.Exp(difference - width), Hi: math.Exp(difference + width)}
}

// A difference of 20% is found by four pairs in turn on most recordings, and by a single pair on almost none; no sign
// is wrong.
func TestPowerOfSessions(t *testing.T) {
	found := map[int]int{}
	for pairs, lengths := range map[int][]int{1: {40}, 4: lengths} {
		eachRecording(t, func(t *testing.T, recording []recorded) {
			slower, faster, all := 0, 0, 0
			for _, length := range lengths {
				replayed(recording, pairs, length, func(a, b []Session) {
					b = slices.Clone(b)
					for i := range b {
						b[i] = b[i].times(1.2)
					}
					all++
					switch judged(a, b).Kind {
					case Slower:
						slower++
					case Faster:
						faster++
					}
				})
			}
			if 2*slower >= all {
				found[pairs]++
			}
			assert.LessOrEqual(t, 20*faster, all)
			t.Logf("%d pairs: %d of %d", pairs, slower, all)
		})
	}
	t.Log(found, "recordings")
	assert.GreaterOrEqual(t, found[4], 16, "of 28")
	assert.Less(t, found[1], found[4])
}

// steady returns a session with noise of half a per cent.
func steady(seed uint64, rounds int) Session {
	n := quiet(seed)
	s := Session{Seconds: n.seconds[:rounds]}
	for range rounds {
		s.Others, s.Canary = append(s.Others, 0.01), append(s.Canary, 134e-6)
	}
	return s
}

func TestSessionsWords(t *testing.T) {
	words := func(changes ...func(b *Session)) string {
		a, b := steady(1, 60), steady(2, 60)
		for _, change := range changes {
			change(&b)
		}
		return one(a, b, ofSessions()).String()
	}
	times := func(ratio float64) func(*Session) { return func(b *Session) { *b = b.times(ratio) } }
	canary := func(seconds float64) func(*Session) {
		return func(b *Session) { b.Canary = slices.Repeat([]float64{seconds}, 60) }
	}
	others := func(shares ...float64) func(*Session) {
		return func(b *Session) { b.Others = slices.Repeat(shares, 60/len(shares)) }
	}
	assert.Regexp(t, `^slower: \+1\d% to \+2\d%, 60 rounds$`, words(times(1.2)))
	assert.Regexp(t, `^faster: −2\d% to −1\d%, 60 rounds$`, words(times(0.8)))
	assert.Regexp(t, `^can't tell: −\d\.\d% to \+\d\.\d%$`, words())
	assert.Equal(t, "can't tell: too few samples yet", words(func(b *Session) { *b = steady(2, 11) }))
	assert.Equal(t, "can't tell: the machine itself was 3.0% slower: canary 134.0 µs in A, 138.0 µs in B", words(canary(138e-6)))
	assert.Equal(t, "can't tell: the machine itself was 3.0% faster: canary 134.0 µs in A, 130.0 µs in B", words(canary(130e-6)))
	assert.Equal(t, "can't tell: others took 1.0% of the CPU time in A, 43.5% in B", words(others(0.02, 0.85)))
	assert.Regexp(t, `^slower: `, words(times(1.3), func(b *Session) { b.Canary, b.Others = nil, nil }))
	assert.Regexp(t, `^can't tell: others took 1.0% `, words(times(1.3), others(0.06)))
	assert.Regexp(t, `^slower: \+3\d% to \+4\d%`, words(times(1.4), others(0.06), canary(138e-6)), "five points of CPU time do not cause this")
	assert.Regexp(t, `^can't tell: others took 1.0% `, words(others(1)))

	// With a wide margin, a single session each can be judged the same.
	wide := ofSessions()
	wide.Margin = 0.2
	busy, idle := steady(2, 60), Session{Seconds: steady(1, 60).Seconds}
	busy.Others = slices.Repeat([]float64{0.5}, 60)
	assert.Equal(t, Same, one(idle, busy, wide).Kind, "not known of A")
	assert.Equal(t, Same, one(busy, idle, wide).Kind, "not known of B")
}

// inTurn returns pairs of sessions under conditions that would prevent a verdict on a single pair.
func inTurn(pairs int, ratio float64) (a, b []Session) {
	for i := range uint64(pairs) {
		x, y := steady(2*i, 40), steady(2*i+1, 40).times(ratio)
		y.Others = slices.Repeat([]float64{0.5}, 40)
		a, b = append(a, x), append(b, y)
	}
	return a, b
}

func TestSessionsInTurn(t *testing.T) {
	words := func(pairs int, ratio float64, change func(a, b []Session)) string {
		a, b := inTurn(pairs, ratio)
		change(a, b)
		return judged(a, b).String()
	}
	none := func(_, _ []Session) {}
	assert.Regexp(t, `^slower: \+[23]\.\d% to \+[78]\.\d%, 160 rounds$`, words(4, 1.05, none))
	assert.Regexp(t, `^faster: −[67]\.\d% to −[12]\.\d%, 160 rounds$`, words(4, 1/1.05, none))
	assert.Equal(t, "can't tell: too few samples yet", words(FewestPairs-1, 2, none))
	assert.Equal(t, "can't tell: too few samples yet", words(4, 2, func(a, _ []Session) { a[2] = steady(1, 11) }))
	// The machine is twice as slow from the third pair on, which affects both sessions of a pair.
	slow := func(a, b []Session) {
		for i := 2; i < len(a); i++ {
			a[i], b[i] = a[i].times(2), b[i].times(2)
		}
	}
	assert.Regexp(t, `^slower: \+[23]\.\d% to \+[78]\.\d%`, words(4, 1.05, slow))
	// One session of four is slow, for an unknown reason.
	assert.Regexp(t, `^can't tell: −\d+% to \+\d+%$`, words(4, 1.05, func(_, b []Session) { b[1] = b[1].times(1.5) }))
	wide := ofSessions()
	wide.Margin = 0.05
	a, b := inTurn(6, 1)
	assert.Equal(t, "no difference larger than 5%", Sessions(a, b, wide).String())
	for i := range b { // a stall in each session
		b[i].Seconds[7] *= 5
	}
	assert.Regexp(t, `^slower: in total \+[\d.]+% to \+\d+%, long stalls; typical: same within [\d.]+%, \d+ rounds$`, Sessions(a, b, wide).String())
	for i := range b { // of different lengths: a longer total is likely but not certain, so equality is not certain
		b[i].Seconds[7] *= []float64{1.5, 0.5}[i%2]
	}
	assert.Regexp(t, `^can't tell: typical: same within [\d.]+%; total: \+\d(\.\d)?%, not certain$`, Sessions(a, b, wide).String())
}

// By hand: parts of 1 and parts of 1.9, 2, 2.1 and 2, whose mean has a standard error of 0.0408, three degrees of
// freedom, and an allowance between sessions of seven deviations of b's samples.
func TestPartsEffect(t *testing.T) {
	const rounds = 40
	a, b := slices.Repeat([]float64{1}, rounds), make([]float64, rounds)
	for i := range b {
		b[i] = []float64{1.9, 2, 2.1, 2}[i/10]
	}
	sessions := func(seconds []float64) []Session { return []Session{{Seconds: seconds}} }
	g := gridFor(0.02)
	effect := func(a, b []float64) Effect { return partsEffect(sessions(a), sessions(b), Median, 0.05, g) }
	spread := math.Sqrt(10 * (math.Pow(math.Log(0.95), 2) + math.Pow(math.Log(1.05), 2)) / 39)
	width := 3.182*math.Sqrt(0.02/12)/2 + math.Log(1.02) + 7*spread
	up, down := effect(a, b), effect(b, a)
	assert.InDelta(t, 2, up.Ratio, 1e-12)
	assert.InDelta(t, 0.5, down.Ratio, 1e-12)
	for _, e := range []Effect{up, down} {
		assert.InDelta(t, e.Ratio*math.Exp(-width), e.Lo, 0.003)
		assert.InDelta(t, e.Ratio*math.Exp(width), e.Hi, 0.003)
	}
	shuffled := slices.Clone(b)
	shuffled[3], shuffled[13] = shuffled[13], shuffled[3]
	assert.Equal(t, up, effect(a, shuffled), "a single sample does not move medians")
	b[3], b[17], b[35] = 50, 70, 1
	wild := effect(a, b)
	assert.InDelta(t, 2*math.Exp(3.182*math.Sqrt(0.02/12)/2+math.Log(3)), wild.Hi, 0.003, "three is the maximum")

	d := ofSessions()
	d.Comparisons = 8
	v := Sessions(sessions(a), sessions(b), d)
	assert.Equal(t, partsEffect(sessions(a), sessions(b), Median, 0.8*0.05/8, g), v.Typical)
	assert.Equal(t, partsEffect(sessions(a), sessions(b), Mean, 0.2*0.05/8, g), *v.Total)
	assert.Equal(t, 39, Sessions(sessions(a[1:]), sessions(b), d).Rounds)
	assert.Equal(t, 39, Sessions(sessions(a), sessions(b[1:]), d).Rounds)
}

// By hand: ratios of e^0.1, e^0.2, e^0.3 and e^0.2, whose mean logarithm has a standard error of 0.0408.
func TestPairsEffect(t *testing.T) {
	var a, b []Session
	for _, log := range []float64{0.1, 0.2, 0.3, 0.2} {
		a = append(a, Session{Seconds: slices.Repeat([]float64{1}, 12)})
		b = append(b, a[0].times(math.Exp(log)))
	}
	g := gridFor(0.02)
	width := 3.182*math.Sqrt(0.02/12) + math.Log(1.02)
	e := pairsEffect(a, b, Median, 0.05, g)
	assert.InDelta(t, math.Exp(0.2), e.Ratio, 1e-12)
	assert.InDelta(t, math.Exp(0.2-width), e.Lo, 0.0011)
	assert.InDelta(t, math.Exp(0.2+width), e.Hi, 0.0011)
	assert.Less(t, e.Lo, math.Exp(0.2-width), "rounded outward")
}

// The quantiles of printed tables.
func TestStudent(t *testing.T) {
	for _, c := range []struct {
		alpha   float64
		degrees int
		want    float64
	}{{0.05, 1, 12.706}, {0.05, 2, 4.303}, {0.001, 3, 12.924}, {0.01, 4, 4.604}, {0.05, 5, 2.571}, {0.05, 6, 2.447}} {
		assert.InDelta(t, c.want, student(c.alpha, c.degrees), 6e-4, "%+v", c)
	}
}

func TestStandardDeviation(t *testing.T) {
	assert.InDelta(t, math.Sqrt(32.0/7), StandardDeviation([]float64{2, 4, 4, 4, 5, 5, 7, 9}), 1e-12)
	assert.Zero(t, StandardDeviation([]float64{3}))
}
