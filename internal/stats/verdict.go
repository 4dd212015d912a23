package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"gorun/internal/units"
)

// Kind is the short form of a verdict.
type Kind string

// The kinds of verdict on a cell, against the baseline.
const (
	Slower     Kind = "slower"
	Faster     Kind = "faster"
	Same       Kind = "same" // no difference larger than the margin
	CantTell   Kind = "can't tell"
	Mixed      Kind = "mixed"      // the typical sample and the total disagree
	Confounded Kind = "confounded" // disturbances of the two cells differed, so that the finding is not reliable
	Invalid    Kind = "invalid"    // the samples are not of the requested placement
)

// Kinds lists all kinds of verdict.
var Kinds = [...]Kind{Slower, Faster, Same, CantTell, Mixed, Confounded, Invalid}

// Effect is a ratio to the baseline and the interval that holds it. Lo is 0 and Hi math.MaxFloat64 where nothing bounds
// it yet; in JSON such an end is null. The zero Effect, where nothing is known, is three nulls.
type Effect struct {
	Ratio float64 `json:"ratio"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// MarshalJSON writes an end that is not bounded, or not known, as null.
func (e Effect) MarshalJSON() ([]byte, error) {
	known := func(x float64, is bool) *float64 {
		if !is {
			return nil
		}
		return &x
	}
	return json.Marshal(struct {
		Ratio *float64 `json:"ratio"`
		Lo    *float64 `json:"lo"`
		Hi    *float64 `json:"hi"`
	}{known(e.Ratio, e.Ratio != 0), known(e.Lo, e.Lo != 0), known(e.Hi, e.Hi != math.MaxFloat64 && e != (Effect{}))})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (e *Effect) UnmarshalJSON(text []byte) error {
	type plain Effect // without this method
	unknown := plain{Hi: math.MaxFloat64}
	read := unknown // a null changes nothing
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if read == unknown {
		read = plain{}
	}
	*e = Effect(read)
	return nil
}

// Verdict is the result of comparing one cell with the baseline. Times are wall seconds of samples, so that a ratio
// above 1 is slower.
type Verdict struct {
	Kind        Kind    `json:"kind"`
	Typical     Effect  `json:"typical"`
	Total       *Effect `json:"total,omitempty"` // of the means; absent before the first look
	Rounds      int     `json:"rounds"`
	Margin      float64 `json:"margin"`                 // a difference up to it is none: 0.02 is 2%
	Step        float64 `json:"step"`                   // of the grid on which the ends lie
	Reason      string  `json:"reason,omitempty"`       // what the kind and the numbers do not show
	MoreRounds  int     `json:"more_rounds,omitempty"`  // rounds that are likely to be enough; 0: not known
	MoreSeconds float64 `json:"more_seconds,omitempty"` // time for these rounds
	// What more rounds are expected to show; absent if the kind is decided or nothing can be forecast.
	Forecast *Forecast `json:"forecast,omitempty"`
	Rate     bool      `json:"rate,omitempty"` // a rate was measured, 1 over these times, and the text gives rates
	Amount   bool      `json:"-"`              // the figure is not a time: a factor of it is "as much", not "as long"
	Second   bool      `json:"-"`              // the figure is of the second family: it is worse or better, not slower or faster
}

// InvalidVerdict returns the verdict on a cell without usable samples, for example because a placement was not
// realised.
func InvalidVerdict(reason string) Verdict { return Verdict{Kind: Invalid, Reason: reason} }

// Confound returns the verdict with a reason to doubt that the cell itself caused it; several reasons are joined. A
// verdict without a claim is returned unchanged.
func (v Verdict) Confound(reason string) Verdict {
	switch v.Kind {
	case Slower, Faster, Same, Mixed:
		v.Kind, v.Reason = Confounded, reason
	case Confounded:
		v.Reason += "; " + reason
	}
	return v
}

// Unjudged returns the verdict for a cell with too many missing samples.
func (v Verdict) Unjudged(reason string) Verdict {
	v.Kind, v.Reason, v.MoreRounds, v.MoreSeconds, v.Forecast = CantTell, reason, 0, 0, nil
	return v
}

// Certain reports whether the verdict's interval, of any width, covers the true ratio.
func (v Verdict) Certain() bool {
	switch v.Kind {
	case Slower, Faster, Same, Mixed:
		return true
	case CantTell: // without a reason, it is the interval that is too wide
		return v.Reason == "" && v.Rounds > 0 && v.Typical.Lo <= v.Typical.Hi
	}
	return false
}

// judged returns the kind that follows from the effects, for a run whose control is sound. A claim by either effect decides,
// unless the other claims the opposite. A total that claims nothing changes nothing.
func (v Verdict) judged() Kind {
	typical := v.Typical.kind(v.Margin)
	if v.Total == nil {
		return typical
	}
	switch total := v.Total.kind(v.Margin); {
	case !total.claims(), typical == Same && v.Total.within(v.Margin):
		return typical
	case typical.claims() && typical != total:
		return Mixed
	default:
		return total
	}
}

// claims reports whether a verdict of this kind claims a difference in one direction.
func (k Kind) claims() bool { return k == Slower || k == Faster }

// byTotal reports whether a verdict claims what only the total shows.
func (v Verdict) byTotal() bool {
	return v.Total != nil && v.Kind.claims() && v.Typical.kind(v.Margin) != v.Kind
}

// Claim returns the effect that a verdict of Slower or Faster claims: the typical one, or the total where only that one
// differs. Of two opposite claims it is the total. For other kinds it is the typical effect.
func (v Verdict) Claim() Effect {
	if v.Kind == Mixed || v.byTotal() {
		return *v.Total
	}
	return v.Typical
}

// Effects returns the typical effect, and the total where it claims a difference.
func (v Verdict) Effects() []Effect {
	if v.Total != nil && v.Total.kind(v.Margin).claims() {
		return []Effect{v.Typical, *v.Total}
	}
	return []Effect{v.Typical}
}

// kind returns the kind of verdict that follows from one effect.
func (e Effect) kind(margin float64) Kind {
	switch {
	case e.Lo > e.Hi:
		return CantTell
	case e.Lo > 1:
		return Slower
	case e.Hi < 1:
		return Faster
	case e.within(margin):
		return Same
	}
	return CantTell
}

// rounding is the error allowed in the arithmetic on ratios of a grid.
const rounding = 1e-12

// Bounded reports whether both ends are bounded.
func (e Effect) Bounded() bool { return e.Lo > 0 && e.Hi < math.MaxFloat64 }

func (e Effect) within(margin float64) bool {
	return e.Lo >= 1-margin-rounding && e.Hi <= 1+margin+rounding
}

// differs reports whether the interval leaves out 1.
func (e Effect) differs() bool { return e.Lo <= e.Hi && (e.Lo > 1 || e.Hi < 1) }

// String returns the verdict in words.
func (v Verdict) String() string {
	switch v.Kind {
	case Slower, Faster:
		return fmt.Sprintf("%s, %d rounds", v.Brief(), v.Rounds)
	case Same:
		return "no difference larger than " + units.Share(v.Margin)
	case Mixed:
		return fmt.Sprintf("typical: %s; %s", v.interval(v.Typical), v.total())
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
	return v.interval(v.Typical)
}

// Brief puts the verdict into words without the number of rounds, and without what more of them are expected to give.
func (v Verdict) Brief() string {
	switch v.Kind {
	case Slower, Faster:
		return fmt.Sprintf("%s: %s", v.Word(), v.Found())
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
		return fmt.Sprintf("%s; %s", v.interval(v.Typical), v.total())
	}
	return v.interval(v.Typical)
}

// Interval is the interval that holds the typical effect, in words.
func (v Verdict) Interval() string { return v.interval(v.Typical) }

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
		return v.interval(v.Typical)
	case Same:
		return "same within " + units.Share(max(v.Typical.Hi-1, 1-v.Typical.Lo))
	}
	return string(CantTell) + " " + v.interval(v.Typical)
}

// total is the total effect in words. Where it differs from the typical one, rare long samples are the cause: they move the mean
// and not the median.
func (v Verdict) total() string {
	stalls := "long stalls"
	if v.Total.Ratio < v.Typical.Ratio {
		stalls += " of the baseline"
	}
	return fmt.Sprintf("in total %s, %s", v.interval(*v.Total), stalls)
}

// uncertainTotal returns the reason why a cell with the same typical time is not judged to be the same: the ratio of
// its total, which may not have been looked at yet.
func (v Verdict) uncertainTotal(ratio float64) string {
	return "typical: " + v.typical() + "; total: " + v.point(ratio) + ", not certain"
}

// control returns the interval by which the control differs from the baseline.
func (v Verdict) control(c comparison) string {
	if !c.typical.ends().differs() && c.total.interval.differs() {
		return "in total " + v.interval(c.total.effect())
	}
	return v.interval(c.effect())
}

func (v Verdict) changes() units.Changes {
	return units.Changes{Step: v.Step, Amount: v.Rate || v.Amount}
}

func (v Verdict) point(ratio float64) string {
	if v.Rate {
		ratio = inverse(ratio)
	}
	return v.changes().Ratio(ratio)
}

func (v Verdict) interval(e Effect) string {
	if e == (Effect{}) {
		return units.Unbounded
	}
	e = v.Shown(e)
	return v.changes().Interval(e.Lo, e.Hi)
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
