package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Kind is the short form of a verdict.
type Kind string

// The kinds of verdict on a cell, against the baseline.
const (
	Slower     Kind = "slower"
	Faster     Kind = "faster"
	Same       Kind = "same" // no difference larger than the margin
	CantTell   Kind = "can't tell"
	Mixed      Kind = "mixed"      // the typical sample and the total say different things
	Confounded Kind = "confounded" // a difference was found, or none, but what disturbed the two was not alike
	Invalid    Kind = "invalid"    // the samples are not of what was asked
)

// Kinds are all of them.
var Kinds = [...]Kind{Slower, Faster, Same, CantTell, Mixed, Confounded, Invalid}

// Effect is a ratio to the baseline and the interval that holds it. Lo is 0 and Hi math.MaxFloat64 where nothing bounds
// it yet; in JSON, which has no word for such an end, it is null. The zero Effect, of which nothing is known, is three
// nulls.
type Effect struct {
	Ratio float64
	Lo    float64
	Hi    float64
}

// nullable is an Effect in JSON.
type nullable struct {
	Ratio *float64 `json:"ratio"`
	Lo    *float64 `json:"lo"`
	Hi    *float64 `json:"hi"`
}

// MarshalJSON writes what is not bounded, and what is not known, as null.
func (e Effect) MarshalJSON() ([]byte, error) {
	var n nullable
	if e.Ratio != 0 {
		n.Ratio = &e.Ratio
	}
	if e.Lo != 0 {
		n.Lo = &e.Lo
	}
	if e.Hi != math.MaxFloat64 && e != (Effect{}) {
		n.Hi = &e.Hi
	}
	return json.Marshal(n)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (e *Effect) UnmarshalJSON(text []byte) error {
	var n nullable
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	if n == (nullable{}) {
		*e = Effect{}
		return nil
	}
	value := func(x *float64, otherwise float64) float64 {
		if x == nil {
			return otherwise
		}
		return *x
	}
	*e = Effect{Ratio: value(n.Ratio, 0), Lo: value(n.Lo, 0), Hi: value(n.Hi, math.MaxFloat64)}
	return nil
}

// Verdict is what a run says of one cell. Its times are wall seconds of samples, so that a ratio above 1 is slower.
type Verdict struct {
	Kind        Kind    `json:"kind"`
	Typical     Effect  `json:"typical"`
	Total       *Effect `json:"total,omitempty"` // of the means; absent before the first look
	Rounds      int     `json:"rounds"`
	Margin      float64 `json:"margin"`                 // a difference up to it is none: 0.02 is 2%
	Step        float64 `json:"step"`                   // of the grid on which the ends lie
	Reason      string  `json:"reason,omitempty"`       // where the kind and the numbers do not say it all
	MoreRounds  int     `json:"more_rounds,omitempty"`  // that are likely to be enough; 0 when that is not known
	MoreSeconds float64 `json:"more_seconds,omitempty"` // which these take
	// What more rounds are expected to give; absent where the kind is decided or nothing can be foreseen.
	Forecast *Forecast `json:"forecast,omitempty"`
	Rate     bool      `json:"rate,omitempty"` // what was measured is a rate, 1 over these times; the words tell of it
}

// InvalidVerdict is that on a cell whose samples say nothing, as when a placement was not realised.
func InvalidVerdict(reason string) Verdict { return Verdict{Kind: Invalid, Reason: reason} }

// Confound is the verdict with a reason to doubt that it is about the cell; several reasons are told one after another.
// Where nothing was claimed, nothing is doubted.
func (v Verdict) Confound(reason string) Verdict {
	switch v.Kind {
	case Slower, Faster, Same, Mixed:
		v.Kind, v.Reason = Confounded, reason
	case Confounded:
		v.Reason += "; " + reason
	}
	return v
}

// Unjudged is the verdict where too many samples are missing to judge by the others.
func (v Verdict) Unjudged(reason string) Verdict {
	v.Kind, v.Reason, v.MoreRounds, v.MoreSeconds, v.Forecast = CantTell, reason, 0, 0, nil
	return v
}

// judged is what the effects say, the run being one by which to judge.
func (v Verdict) judged() Kind {
	if v.Total != nil && v.disagree() {
		return Mixed
	}
	return v.Typical.kind(v.Margin)
}

// kind is what an effect says by itself.
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

// rounding is what the arithmetic on ratios of a grid may be off.
const rounding = 1e-12

// bounded tells whether enough rounds were taken to rule anything out at both ends.
func (e Effect) bounded() bool { return e.Lo > 0 && e.Hi < math.MaxFloat64 }

func (e Effect) within(margin float64) bool {
	return e.Lo >= 1-margin-rounding && e.Hi <= 1+margin+rounding
}

// outside tells whether an interval leaves out 1.
func outside(lo, hi float64) bool { return lo <= hi && (lo > 1 || hi < 1) }

// disagree tells whether the total is known to differ and the typical effect is not it.
func (v Verdict) disagree() bool {
	total := v.Total.kind(v.Margin)
	if total != Slower && total != Faster {
		return false
	}
	if v.Typical.kind(v.Margin) == Same && v.Total.within(v.Margin) {
		return false
	}
	return total != v.Typical.kind(v.Margin) || v.Total.Hi < v.Typical.Lo || v.Typical.Hi < v.Total.Lo
}

// String puts the verdict into words.
func (v Verdict) String() string {
	switch v.Kind {
	case Slower, Faster:
		return fmt.Sprintf("%s: %s, %d rounds", v.Kind, v.effect(v.Typical), v.Rounds)
	case Same:
		return "no difference larger than " + percent(v.Margin)
	case Mixed:
		return fmt.Sprintf("typical: %s; total: %s, %s", v.typical(), v.point(v.Total.Ratio), v.stalls())
	case Confounded:
		claim := v
		claim.Kind, claim.Reason = v.judged(), ""
		return fmt.Sprintf("%s: %s; %s", v.Kind, claim, v.Reason)
	case Invalid:
		return fmt.Sprintf("%s: %s", v.Kind, v.Reason)
	}
	why := v.interval(v.Typical)
	switch {
	case v.Reason != "":
		why = v.Reason
	case v.Forecast != nil && v.Forecast.Kind == FirstInterval:
		return fmt.Sprintf("%s: %s", CantTell, v.Forecast)
	case !v.Typical.bounded():
		why = "too few rounds"
	}
	if v.Forecast != nil {
		why += "; " + v.Forecast.String()
	}
	return fmt.Sprintf("%s: %s", CantTell, why)
}

// String puts the forecast into words.
func (f Forecast) String() string {
	if f.Kind == Resolution {
		another := fmt.Sprintf("%d rounds", f.Rounds)
		if f.Seconds > 0 {
			another = duration(f.Seconds)
		}
		return fmt.Sprintf("not at this noise; another %s could find differences from %s on", another, percent(f.Resolution))
	}
	more := fmt.Sprintf("%d more rounds", f.Rounds)
	if f.Rounds == 1 {
		more = "1 more round"
	}
	if f.Seconds > 0 {
		more += " (" + duration(f.Seconds) + ")"
	}
	if f.Kind == FirstInterval {
		return "the first interval comes after " + more
	}
	return "about " + more
}

// Factors are the typical effect as a factor and the interval that holds it, of the times or the rates that were measured.
func (v Verdict) Factors() (factor, interval string) {
	e := v.Typical
	if v.Rate {
		e = Effect{Ratio: inverse(e.Ratio), Lo: inverse(e.Hi), Hi: inverse(e.Lo)}
	}
	if !e.bounded() {
		return strconv.FormatFloat(e.Ratio, 'f', 3, 64), unbounded
	}
	outward := func(x float64, round func(float64) float64) string {
		return strconv.FormatFloat(round(1000*x)/1000, 'f', 3, 64)
	}
	return strconv.FormatFloat(e.Ratio, 'f', 3, 64), "[" + outward(e.Lo, math.Floor) + ", " + outward(e.Hi, math.Ceil) + "]"
}

func (v Verdict) typical() string {
	switch kind := v.Typical.kind(v.Margin); kind {
	case Slower, Faster:
		return v.effect(v.Typical)
	case Same:
		return "same within " + percent(max(v.Typical.Hi-1, 1-v.Typical.Lo))
	}
	return string(CantTell) + " " + v.interval(v.Typical)
}

// stalls names the cause: rare long samples move the mean and not the middle.
func (v Verdict) stalls() string {
	if v.Total.Ratio >= v.Typical.Ratio {
		return "long stalls"
	}
	return "long stalls of the baseline"
}

// uncertainTotal is why a cell with the same typical time is not told to be the same: the ratio of its total, which may
// not have been looked at yet.
func (v Verdict) uncertainTotal(ratio float64) string {
	return "typical: " + v.typical() + "; total: " + v.point(ratio) + ", not certain"
}

// control shows what is wrong with it.
func (v Verdict) control(c comparison) string {
	if !outside(c.typical.ends()) && outside(c.total.ends()) {
		return "in total " + v.interval(c.totalEffect())
	}
	return v.interval(c.effect())
}

func (v Verdict) effect(e Effect) string { return v.point(e.Ratio) + " " + v.interval(e) }

func (v Verdict) point(ratio float64) string {
	if v.Rate {
		ratio = inverse(ratio)
	}
	return v.change(ratio, math.Round) + "%"
}

// interval has its ends rounded outward where it is shown with fewer decimals than they have. It leaves out the signs
// where both are plus.
func (v Verdict) interval(e Effect) string {
	if v.Rate {
		e = Effect{Ratio: inverse(e.Ratio), Lo: inverse(e.Hi), Hi: inverse(e.Lo)}
	}
	if e.Lo == 0 && e.Hi == math.MaxFloat64 {
		return unbounded
	}
	lo, hi := unbounded, unbounded
	if e.Lo > 0 {
		lo = v.change(e.Lo, math.Floor)
	}
	if e.Hi < math.MaxFloat64 {
		hi = v.change(e.Hi, math.Ceil)
	}
	if e.Lo >= 1 {
		lo, hi = strings.TrimPrefix(lo, "+"), strings.TrimPrefix(hi, "+")
	}
	return "[" + lo + ", " + hi + "]"
}

// inverse takes a ratio of times to that of rates, and where nothing bounds the one, nothing bounds the other.
func inverse(ratio float64) float64 {
	switch ratio {
	case 0:
		return math.MaxFloat64
	case math.MaxFloat64:
		return 0
	}
	return 1 / ratio
}

// change writes a ratio as a difference in per cent, by steps of the grid, or whole from 10 on.
func (v Verdict) change(ratio float64, round func(float64) float64) string {
	percents := 100 * (ratio - 1)
	decimals := max(0, int(math.Round(-math.Log10(100*v.Step))))
	if math.Abs(percents) >= 10 {
		decimals = 0
	}
	unit := math.Pow10(decimals)
	steps := percents * unit
	if whole := math.Round(steps); math.Abs(steps-whole) < 1e-6 { // it is on the grid
		steps = whole
	}
	steps = round(steps)
	text := strconv.FormatFloat(math.Abs(steps/unit), 'f', decimals, 64)
	switch {
	case steps < 0:
		return minus + text
	case steps > 0:
		return "+" + text
	}
	return text
}

const minus = "−"

// unbounded stands for an end, or an interval, that nothing bounds so far.
const unbounded = "not bounded yet"

// percent writes a share with the decimals that it has, up to two.
func percent(share float64) string {
	text := strconv.FormatFloat(100*share, 'f', 2, 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + "%"
}

// duration is for a person who decides whether to wait.
func duration(seconds float64) string {
	switch {
	case seconds < 100:
		return fmt.Sprintf("%.0f s", math.Ceil(seconds))
	case seconds < 100*60:
		return fmt.Sprintf("%.0f min", math.Ceil(seconds/60))
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}
