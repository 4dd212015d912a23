package stats

import (
	"fmt"
	"math"
)

// Session is what one run says of one cell: its samples in the order of the rounds.
type Session struct {
	Seconds []float64
	Others  []float64 // the share of its CPUs' time that other programs and the hypervisor took; empty: not known
	Canary  []float64 // seconds of a fixed loop before each sample; empty: not known
}

// SessionsDesign is what is fixed before cells of two runs are compared.
type SessionsDesign struct {
	Comparisons int     // that share Alpha
	Alpha       float64 // the probability of any false verdict: 0.05
	Margin      float64 // a difference up to it is none: 0.02 is 2%
	Precision   float64 // gives the steps of the ends, as in Design
}

// alpha is the error of each comparison.
func (d SessionsDesign) alpha() float64 { return d.Alpha / float64(d.Comparisons) }

// check tells what is wrong with the design, or with the times, as ones that were read from a file.
func (d SessionsDesign) check(times ...[]float64) error {
	if d.Comparisons < 1 {
		return fmt.Errorf("%d comparisons cannot be made", d.Comparisons)
	}
	if err := checkShares(d.Alpha, d.Margin, d.Precision); err != nil {
		return err
	}
	for _, seconds := range times {
		if err := checkSeconds(seconds); err != nil {
			return err
		}
	}
	return nil
}

// open is the verdict after so many rounds while nothing is known.
func (d SessionsDesign) open(rounds int) Verdict {
	return Verdict{
		Kind:    CantTell,
		Typical: Effect{Ratio: 1, Hi: math.MaxFloat64},
		Rounds:  rounds,
		Margin:  d.Margin,
		Step:    1 / float64(gridFor(d.Precision)),
	}
}

const (
	// sessionParts is how many parts a session is cut into. With 6 and 8 more is found, and false verdicts go up to 7%
	// and 11% in some of the replays of testdata/noise that 4 keeps at 5%: long parts hold most of the drift.
	sessionParts = 4
	// partSamples is the fewest samples of a part.
	partSamples = 3
	// betweenSessions is by how much the same work on the same machine is taken to differ from one session to the next
	// where neither session shows why. In testdata/noise the typical times of undisturbed sessions, minutes apart, are
	// up to 2% apart.
	betweenSessions = 0.01
	// explains is the part of an effect, in logarithms, from which on a change of the conditions may be its cause. Less
	// CPU time left by others slows a program that must wait its turn by more than that time: in testdata/noise more than
	// four times as much is seen.
	explains = 1.0 / 6
)

// Sessions judges a cell in run B against the same cell in run A: two runs one after the other, as before and after an
// upgrade of the kernel.
//
// Their samples were not interleaved, so that whatever drifted is a difference between them, and samples taken one
// after the other are alike: a test that takes them for independent calls a quarter of the equal sessions of
// testdata/noise different, under like conditions; this one 1.7%. Each session is cut into four parts in a row. The
// interval is Student's for the ratio of the means of the parts' medians, with the three degrees of freedom of one
// session (Mickey and Brown, "Bounds on the distribution functions of the Behrens-Fisher statistic", Annals of
// Mathematical Statistics 37, 1966); that of the totals is by the parts' means. Drift within a session, and phases of
// up to about a quarter of it, widen the intervals.
//
// What one session each cannot show is how much sessions differ. 1% is allowed for it: the experience with one machine
// and no bound. A state of the machine that holds for all of one session and none of the other looks like what one is
// after. Two such states are seen, and nothing is told then: a canary loop of another speed, and others taking another
// share of the CPUs, unless the effect is far beyond what they do. Who has to know more takes several sessions of
// each, in turn, or looks at Relative.
func Sessions(a, b Session, d SessionsDesign) Verdict {
	if err := d.check(a.Seconds, b.Seconds, a.Canary, b.Canary); err != nil {
		return InvalidVerdict(err.Error())
	}
	v := d.open(min(len(a.Seconds), len(b.Seconds)))
	if v.Rounds < sessionParts*partSamples {
		return v
	}
	g := gridFor(d.Precision)
	v.Typical = partsEffect(a.Seconds, b.Seconds, Median, (1-totalShare)*d.alpha(), g)
	total := partsEffect(a.Seconds, b.Seconds, mean, totalShare*d.alpha(), g)
	v.Total = &total
	v.Kind = v.judged()
	if reason := otherConditions(a, b, v); reason != "" {
		v.Kind, v.Reason = CantTell, reason
	} else if v.Kind == Same && partsEffect(a.Seconds, b.Seconds, mean, doubt, g).doubts(d.Margin) {
		v.Kind, v.Reason = CantTell, v.uncertainTotal(v.Total.Ratio)
	}
	return v
}

// partsEffect is the ratio of the means of b's and a's parts, each part being summed up by one figure.
func partsEffect(a, b []float64, figure func([]float64) float64, alpha float64, g grid) Effect {
	logA, errorA := partsMean(a, figure)
	logB, errorB := partsMean(b, figure)
	width := student(alpha, sessionParts-1)*math.Hypot(errorA, errorB) + math.Log1p(betweenSessions)
	lo, hi := g.below(math.Exp(logB-logA-width)), g.above(math.Exp(logB-logA+width))
	return Effect{Ratio: max(lo, min(hi, math.Exp(logB-logA))), Lo: lo, Hi: hi}
}

// partsMean is the logarithm of the mean figure of a session's parts, and its standard error.
func partsMean(seconds []float64, figure func([]float64) float64) (logMean, standardError float64) {
	figures := make([]float64, sessionParts)
	for i := range figures {
		figures[i] = figure(seconds[i*len(seconds)/sessionParts : (i+1)*len(seconds)/sessionParts])
	}
	centre, squares := mean(figures), 0.0
	for _, f := range figures {
		squares += (f/centre - 1) * (f/centre - 1)
	}
	return math.Log(centre), math.Sqrt(squares / (sessionParts * (sessionParts - 1)))
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// student is the t that a Student variable of an odd number of degrees of freedom exceeds in size with probability
// alpha. Its distribution is a finite sum then (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3), in
// the angle whose tangent is t/√degrees.
func student(alpha float64, degrees int) float64 {
	within := func(angle float64) float64 {
		cos := math.Cos(angle)
		sum, term := 0.0, cos
		for k := 3; k <= degrees; k += 2 {
			sum += term
			term *= cos * cos * float64(k-1) / float64(k)
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

// otherConditions says which condition differs by more than the margin, and by enough to be the cause of the effect. It
// is empty when none does.
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
		inA, inB := mean(a.Others), mean(b.Others)
		if left := (1 - inB) / (1 - inA); !(left > 0) || math.Abs(math.Log(left)) > material {
			return fmt.Sprintf("others took %.1f%% of the CPU time in A, %.1f%% in B", 100*inA, 100*inB)
		}
	}
	return ""
}
