package stats

import (
	"fmt"
	"math"
)

// Session holds one run's samples of one cell, in the order of the rounds.
type Session struct {
	Seconds []float64
	Others  []float64 // the share of its CPUs' time that other programs and the hypervisor took; empty: not known
	Canary  []float64 // seconds of a fixed loop before each sample; empty: not known
}

const (
	// sessionParts is the number of parts into which a session is divided. With 6 or 8 parts more differences are
	// found, but false verdicts rise to 7% and 11% in some of the replays of testdata/noise that 4 parts keep at 5%:
	// long parts contain most of the drift.
	sessionParts = 4
	// partSamples is the smallest number of samples of a part.
	partSamples = 3
	// FewestPairs is the smallest number of pairs of sessions. Two or three pairs give a false verdict in up to 7% of
	// the replays of a recording of testdata/noise, and find almost nothing.
	FewestPairs = 4
	// drift is the assumed difference of the same work on the same machine between sessions, if no figure shows it.
	// It covers causes that affect all pairs of sessions equally, such as a machine that slows down steadily, or
	// noise with the period of the pairs.
	drift = 0.02
	// spreads is the assumed distance between two sessions where each is the only one, in standard deviations of its
	// samples and in addition to drift. Work that stays in a CPU's core needs 1.5 of them; where a program chases
	// pointers, one session in two stays in a state that the other never enters, and that needs 6.2 in testdata/noise.
	spreads = 7
	// mostDrift is a factor by which no session was ever seen to drift: 2.5 in testdata/noise.
	mostDrift = 3
	// explains is the share of an effect, in logarithms, that a change of the conditions must reach to be its
	// possible cause. A program that waits for its turn loses more time than the CPU time that others take: more than
	// four times as much in testdata/noise.
	explains = 1.0 / 6
)

// Sessions judges a cell in run B against the same cell in run A: runs one after the other, as before and after an
// upgrade of the kernel. The sessions of one index are a pair, taken one after the other.
//
// Their samples were not interleaved, so that any drift is a difference between them, and consecutive samples are
// correlated: a test that assumes independence calls a quarter of the equal sessions of testdata/noise different.
//
// With one session each, that session is cut into four parts in a row. The interval is Student's for the ratio of the
// means of the parts' medians, with the three degrees of freedom of one session (Mickey and Brown, "Bounds on the
// distribution functions of the Behrens-Fisher statistic", Annals of Mathematical Statistics 37, 1966); that of the
// totals is by the parts' means. One session each cannot show how much sessions differ: a state of the machine that
// holds for all of one session and none of the other looks like a real difference. So the interval is widened by the
// worst that recordings have shown. Two such states are detected, and then nothing is claimed unless the effect is far
// greater than they can cause: a canary loop of another speed, and other programs taking another share of the CPUs.
//
// With several sessions each, the logarithms of the pairs' ratios are the samples, and the interval is Student's for
// their mean: how much sessions differ is measured, not assumed. Four pairs of sessions find 20% in at least half of
// the replays of 17 of the 28 recordings; one pair, of 5.
func Sessions(a, b []Session, d Design) Verdict {
	v := d.open(0)
	enough := len(a) == 1 || len(a) >= FewestPairs
	for i := range a {
		rounds := min(len(a[i].Seconds), len(b[i].Seconds))
		v.Rounds += rounds
		enough = enough && rounds >= sessionParts*partSamples
	}
	if !enough {
		return v
	}
	judge := pairsEffect
	if len(a) == 1 {
		judge = partsEffect
	}
	g := d.grid()
	v.Typical = judge(a, b, Median, (1-totalShare)*d.alpha(), g)
	v.Total = new(judge(a, b, Mean, totalShare*d.alpha(), g))
	v.Kind = v.judged()
	if reason := otherConditions(a[0], b[0], v); len(a) == 1 && reason != "" {
		v.Kind, v.Reason = CantTell, reason
	} else if v.Kind == Same && judge(a, b, Mean, doubt, g).doubts(d.Margin) {
		v.Kind, v.Reason = CantTell, v.uncertainTotal(v.Total.Ratio)
	}
	return v
}

// pairsEffect returns the mean ratio of the pairs' sessions; figure summarises each session.
func pairsEffect(a, b []Session, figure func([]float64) float64, alpha float64, g grid) Effect {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = math.Log(figure(b[i].Seconds) / figure(a[i].Seconds))
	}
	standardError := StandardDeviation(ratios) / math.Sqrt(float64(len(ratios)))
	return around(Mean(ratios), student(alpha, len(ratios)-1)*standardError+math.Log1p(drift), g)
}

// partsEffect returns the ratio of the means over the parts of b's and a's only session; figure summarises each part.
func partsEffect(a, b []Session, figure func([]float64) float64, alpha float64, g grid) Effect {
	logA, errorA := partsMean(a[0].Seconds, figure)
	logB, errorB := partsMean(b[0].Seconds, figure)
	spread := max(StandardDeviation(logarithms(a[0].Seconds)), StandardDeviation(logarithms(b[0].Seconds)))
	allowance := min(math.Log(mostDrift), math.Log1p(drift)+spreads*spread)
	return around(logB-logA, student(alpha, sessionParts-1)*math.Hypot(errorA, errorB)+allowance, g)
}

// around returns the effect for a logarithm and the half width of its interval, rounded outward.
func around(log, width float64, g grid) Effect {
	e := g.outward(Effect{Lo: math.Exp(log - width), Hi: math.Exp(log + width)})
	e.Ratio = max(e.Lo, min(e.Hi, math.Exp(log)))
	return e
}

// partsMean returns the logarithm of the mean figure of a session's parts, and its standard error.
func partsMean(seconds []float64, figure func([]float64) float64) (logMean, standardError float64) {
	figures := make([]float64, sessionParts)
	for i := range figures {
		figures[i] = figure(seconds[i*len(seconds)/sessionParts : (i+1)*len(seconds)/sessionParts])
	}
	centre, squares := Mean(figures), 0.0
	for _, f := range figures {
		squares += (f/centre - 1) * (f/centre - 1)
	}
	return math.Log(centre), math.Sqrt(squares / (sessionParts * (sessionParts - 1)))
}

func logarithms(values []float64) []float64 {
	logs := make([]float64, len(values))
	for i, v := range values {
		logs[i] = math.Log(v)
	}
	return logs
}

// StandardDeviation returns the standard deviation of a sample, divided by n - 1; 0 for fewer than two values.
func StandardDeviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	centre, squares := Mean(values), 0.0
	for _, v := range values {
		squares += (v - centre) * (v - centre)
	}
	return math.Sqrt(squares / float64(len(values)-1))
}

// student returns the t whose absolute value a Student variable exceeds with probability alpha. Its distribution is a
// finite sum (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4), in the angle whose tangent
// is t/√degrees.
func student(alpha float64, degrees int) float64 {
	odd := degrees % 2
	within := func(angle float64) float64 {
		cos := math.Cos(angle)
		sum, term := 0.0, math.Pow(cos, float64(odd))
		for k := 2 + odd; k <= degrees; k += 2 {
			sum += term
			term *= cos * cos * float64(k-1) / float64(k)
		}
		if odd == 0 {
			return math.Sin(angle) * sum
		}
		return 2 / math.Pi * (angle + math.Sin(angle)*sum)
	}
	lo, hi := 0.0, math.Pi/2
	for range 60 {
		if mid := (lo + hi) / 2; within(mid) < 1-alpha {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Tan(hi) * math.Sqrt(float64(degrees))
}

// otherConditions names the condition that differs by more than the margin, and by enough to be the cause of the
// effect; "" if none does.
func otherConditions(a, b Session, v Verdict) string {
	material := max(math.Log1p(v.Margin), explains*math.Abs(math.Log(v.Typical.Ratio)))
	if len(a.Canary) > 0 && len(b.Canary) > 0 {
		inA, inB := Median(a.Canary), Median(b.Canary)
		if change := inB/inA - 1; math.Abs(math.Log1p(change)) > material {
			how := "slower"
			if change < 0 {
				how = "faster"
			}
			return fmt.Sprintf("the machine itself was %.1f%% %s: canary %.1f µs in A, %.1f µs in B",
				100*math.Abs(change), how, 1e6*inA, 1e6*inB)
		}
	}
	if len(a.Others) > 0 && len(b.Others) > 0 {
		inA, inB := Mean(a.Others), Mean(b.Others)
		if left := (1 - inB) / (1 - inA); !(left > 0) || math.Abs(math.Log(left)) > material {
			return fmt.Sprintf("others took %.1f%% of the CPU time in A, %.1f%% in B", 100*inA, 100*inB)
		}
	}
	return ""
}
