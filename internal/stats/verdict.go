package stats

import (
	"encoding/json"
	"math"
)

// Kind is the short form of a verdict.
type Kind string

// The kinds of verdict on a cell, against the baseline.
const (
	Slower     Kind = "slower"
	Faster     Kind = "faster"
	Same       Kind = "same" // no difference larger than the margin
	CantTell   Kind = "can't tell"
	Scales     Kind = "scales"         // of a step: more is done in the same time
	Stops      Kind = "does not scale" // of a step: no more is done in the same time, up to the margin
	Mixed      Kind = "mixed"          // the typical sample and the total claim the opposite
	Confounded Kind = "confounded"     // disturbances of the two cells differed, so that the finding is not reliable
	Invalid    Kind = "invalid"        // the samples are not of the requested placement
)

// Kinds lists all kinds of verdict.
var Kinds = [...]Kind{Slower, Faster, Same, CantTell, Mixed, Confounded, Invalid, Scales, Stops}

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
	Doubt       bool    `json:"doubt,omitempty"` // the total speaks for a difference larger than the margin, and does not claim it
	Rounds      int     `json:"rounds"`
	Margin      float64 `json:"margin"`                 // a difference up to it is none: 0.02 is 2%
	Step        float64 `json:"step"`                   // of the grid on which the ends lie
	Reason      string  `json:"reason,omitempty"`       // what the kind and the numbers do not show
	MoreRounds  int     `json:"more_rounds,omitempty"`  // rounds that are likely to be enough; 0: not known
	MoreSeconds float64 `json:"more_seconds,omitempty"` // time for these rounds
	// What more rounds are expected to show; absent if the kind is decided or nothing can be forecast.
	Forecast *Forecast `json:"forecast,omitempty"`
	Scale    float64   `json:"scale,omitempty"` // of a step: the ratio of times below which it scales, the ratio of the work over 1 + margin; 0: it is none
	Rate     bool      `json:"rate,omitempty"`  // a rate was measured, 1 over these times, and the text gives rates
	Amount   bool      `json:"-"`               // the figure is not a time: a factor of it is "as much", not "as long"
	Second   bool      `json:"-"`               // the figure is of the second family: it is worse or better, not slower or faster
}

// InvalidVerdict returns the verdict on a cell without usable samples, for example because a placement was not
// realised.
func InvalidVerdict(reason string) Verdict { return Verdict{Kind: Invalid, Reason: reason} }

// Confound returns the verdict with a reason to doubt that the cell itself caused it; several reasons are joined. A
// verdict without a claim is returned unchanged.
func (v Verdict) Confound(reason string) Verdict {
	switch v.Kind {
	case Slower, Faster, Same, Mixed, Scales, Stops:
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
	case Slower, Faster, Same, Mixed, Scales, Stops:
		return true
	case CantTell: // without a reason, it is the interval that is too wide
		return v.Reason == "" && v.Rounds > 0 && v.Typical.Lo <= v.Typical.Hi
	}
	return false
}

// judged returns the kind that follows from the effects, for a run whose control is sound. A claim by either effect decides,
// unless the other claims the opposite. A total that claims nothing changes nothing.
func (v Verdict) judged() Kind {
	if v.Scale > 0 {
		return v.Typical.step(v.Scale)
	}
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

// step returns the kind of verdict on a step that scales if its ratio of times is below scale.
func (e Effect) step(scale float64) Kind {
	switch {
	case e.Lo > e.Hi:
		return CantTell
	case e.Hi <= scale: // the end itself was ruled out
		return Scales
	case e.Lo >= scale:
		return Stops
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

// KindOf returns the kind of verdict that one effect gives by itself. What makes the verdict doubtful makes each of its effects so.
func (v Verdict) KindOf(e Effect) Kind {
	switch v.Kind {
	case Confounded, Invalid:
		return v.Kind
	}
	if v.Scale > 0 {
		return e.step(v.Scale)
	}
	return e.kind(v.Margin)
}
