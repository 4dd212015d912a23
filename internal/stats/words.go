package stats

import (
	"fmt"
	"math"
	"strings"

	"gorun/internal/base/units"
)

// String returns the verdict in words.
func (v Verdict) String() string {
	switch v.Kind {
	case Slower, Faster, Scales, Stops:
		return fmt.Sprintf("%s, %d rounds", v.Brief(), v.Rounds)
	case Same:
		return "no difference larger than " + units.Share(v.Margin)
	case Mixed:
		return fmt.Sprintf("typical: %s; %s", v.Words(v.Typical), v.total())
	case Confounded:
		return fmt.Sprintf("%s: %s; %s", v.Kind, v.Undisturbed(), v.Reason)
	case Invalid:
		return fmt.Sprintf("%s: %s", v.Kind, v.Reason)
	}
	return fmt.Sprintf("%s: %s", CantTell, v.Why())
}

// Undisturbed is what a confounded verdict would be if the samples had not been disturbed, in words.
func (v Verdict) Undisturbed() string {
	v.Kind, v.Reason = v.judged(), ""
	return v.String()
}

// Word is the kind of a claim in words. A time is slower or faster; another amount is lower or higher, as it is measured; what
// is of the second family is worse or better.
func (v Verdict) Word() string {
	words := [...]string{"slower", "faster"}
	switch {
	case v.Second:
		words = [...]string{"worse", "better"}
	case v.Rate:
		words = [...]string{"lower", "higher"}
	case v.Amount:
		words = [...]string{"higher", "lower"}
	}
	switch v.Kind {
	case Slower:
		return words[0]
	case Faster:
		return words[1]
	}
	return string(v.Kind)
}

// Why returns the explanation of an undecided verdict: the interval so far, or the reason, and what more rounds are
// expected to show.
func (v Verdict) Why() string {
	switch {
	case v.Forecast == nil:
		return v.sofar()
	case v.Reason == "" && v.Forecast.Kind == FirstInterval:
		return v.Forecast.String()
	}
	return v.sofar() + "; " + v.Forecast.String()
}

func (v Verdict) sofar() string {
	switch {
	case v.Reason != "":
		return v.Reason
	case !v.Typical.Bounded():
		return "too few samples yet"
	}
	return v.Words(v.Typical)
}

// Brief puts the verdict into words without the number of rounds, and without what more of them are expected to give.
func (v Verdict) Brief() string {
	switch v.Kind {
	case Slower, Faster:
		return fmt.Sprintf("%s: %s", v.Word(), v.Found())
	case Scales, Stops:
		return fmt.Sprintf("%s: %s", v.Kind, v.Interval())
	case CantTell:
		if v.Reason == "" && !v.Typical.Bounded() {
			return string(CantTell)
		}
		return fmt.Sprintf("%s: %s", CantTell, v.sofar())
	}
	return v.String()
}

// String returns the forecast in words.
func (f Forecast) String() string {
	more := units.Things(f.Rounds, "more round")
	switch {
	case f.Kind == Resolution && f.Seconds > 0:
		more = duration(f.Seconds) + " more"
	case f.Seconds > 0:
		more += " (" + duration(f.Seconds) + ")"
	}
	switch f.Kind {
	case Resolution:
		return fmt.Sprintf("%s would find only differences above %s", more, units.Share(f.Resolution))
	case FirstInterval:
		return "too few samples yet: " + more
	}
	return "about " + more + " would decide"
}

// Found is the difference that a verdict of Slower or Faster claims, in words. The effect on which it does not rest follows where
// it shows something else.
func (v Verdict) Found() string {
	switch {
	case v.byTotal():
		return fmt.Sprintf("%s; typical: %s", v.total(), v.typical())
	case v.Total != nil && (v.Total.Hi < v.Typical.Lo || v.Typical.Hi < v.Total.Lo):
		return fmt.Sprintf("%s; %s", v.Words(v.Typical), v.total())
	}
	return v.Words(v.Typical)
}

// Interval is the interval that holds the typical effect, in words.
func (v Verdict) Interval() string { return v.Words(v.Typical) }

// AtLeast returns the least difference that a verdict claims, "slower by at least 29%", if an effect is certain to differ by
// more than a share. The typical effect comes first.
func (v Verdict) AtLeast(share float64) (words string, claimed bool) {
	for i, e := range v.Effects() {
		in := [...]string{"", " in total"}[i]
		switch {
		case v.Kind == Slower && e.Lo > 1+share:
			return v.Word() + in + v.least(e.Lo), true
		case v.Kind == Faster && e.Hi < 1-share:
			return v.Word() + in + v.least(e.Hi), true
		}
	}
	return "", false
}

// least is the end of an interval that is nearest to no change, in words.
func (v Verdict) least(end float64) string {
	if v.Rate {
		end = inverse(end)
	}
	text := v.changes().Nearest(end)
	if share, found := strings.CutSuffix(text, "%"); found {
		return " by at least " + strings.TrimLeft(share, "+−") + "%"
	}
	if end < 1 {
		return ": at most " + text
	}
	return ": at least " + text
}

// Ratio is the typical ratio of samples of the same round, in words; "" if it is not known.
func (v Verdict) Ratio() string {
	if !v.Typical.Bounded() {
		return ""
	}
	return v.point(v.Typical.Ratio)
}

func (v Verdict) typical() string {
	switch kind := v.Typical.kind(v.Margin); kind {
	case Slower, Faster:
		return v.Words(v.Typical)
	case Same:
		return "same within " + units.Share(max(v.Typical.Hi-1, 1-v.Typical.Lo))
	}
	return string(CantTell) + " " + v.Words(v.Typical)
}

// total is the total effect in words. Where it differs from the typical one, rare long samples are the cause: they move the mean
// and not the median.
func (v Verdict) total() string {
	stalls := "long stalls"
	if v.Total.Ratio < v.Typical.Ratio {
		stalls += " of the baseline"
	}
	return fmt.Sprintf("in total %s, %s", v.Words(*v.Total), stalls)
}

// Doubtful says what the total speaks for, without certainty.
func (v Verdict) Doubtful() string { return v.uncertainTotal(v.Total.Ratio) }

// uncertainTotal returns the reason why a cell with the same typical time is not judged to be the same: the ratio of
// its total, which may not have been looked at yet.
func (v Verdict) uncertainTotal(ratio float64) string {
	return "typical: " + v.typical() + "; total: " + v.point(ratio) + ", not certain"
}

// control returns the interval by which the control differs from the baseline.
func (v Verdict) control(c comparison) string {
	if !c.typical.ends().differs() && c.total.interval.differs() {
		return "in total " + v.Words(c.total.effect())
	}
	return v.Words(c.effect())
}

func (v Verdict) changes() units.Changes {
	return units.Changes{Step: v.Step, Amount: v.Rate || v.Amount || v.Scale > 0, Factor: v.Scale > 0}
}

func (v Verdict) point(ratio float64) string { return v.changes().Ratio(v.figure(ratio)) }

// figure turns a ratio of times into the ratio that people see. An end that is not bounded stays so.
func (v Verdict) figure(ratio float64) float64 {
	switch {
	case !v.Rate && v.Scale == 0:
		return ratio
	case v.Scale > 0 && ratio > 0 && ratio < math.MaxFloat64:
		return v.Scale * (1 + v.Margin) / ratio // the work over the time
	}
	return inverse(ratio)
}

// Words are the interval of an effect of the verdict.
func (v Verdict) Words(e Effect) string {
	if e == (Effect{}) {
		return units.Unbounded
	}
	e = v.Shown(e)
	return v.changes().Interval(e.Lo, e.Hi)
}

// Shown returns an effect of the verdict as people see it, in words and in drawings: the ratio of the figure itself. Where a rate was
// judged, the effect is of the time that it stands for, and this is the inverse. Of a step it is the ratio of the throughputs.
func (v Verdict) Shown(e Effect) Effect {
	if !v.Rate && v.Scale == 0 || e == (Effect{}) {
		return e
	}
	return Effect{Ratio: v.figure(e.Ratio), Lo: v.figure(e.Hi), Hi: v.figure(e.Lo)}
}

// inverse turns a ratio of times into a ratio of rates. An end that is not bounded stays so.
func inverse(ratio float64) float64 {
	switch ratio {
	case 0:
		return math.MaxFloat64
	case math.MaxFloat64:
		return 0
	}
	return 1 / ratio
}

// duration formats a time for a person who decides whether to wait.
func duration(seconds float64) string {
	switch {
	case seconds < 100:
		return fmt.Sprintf("%.0f s", math.Ceil(seconds))
	case seconds < 100*60:
		return fmt.Sprintf("%.0f min", math.Ceil(seconds/60))
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}
