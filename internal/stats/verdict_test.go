package stats

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVerdictWords(t *testing.T) {
	of := func(kind Kind, ratio, lo, hi float64) Verdict {
		return Verdict{Kind: kind, Typical: Effect{ratio, lo, hi}, Rounds: 61, Margin: 0.02}
	}
	const stolen = "more was stolen"
	same, open := of(Same, 1, 0.99, 1.01), of(CantTell, 1.01, 0.986, 1.03)
	slower, faster := of(Slower, 1.02, 1.011, 1.029), of(Faster, 0.98, 0.971, 0.989)
	rate := func(v Verdict) Verdict { v.Rate = true; return v }
	after := func(rounds int, seconds float64) Verdict {
		v := open
		v.Forecast = &Forecast{Kind: Decision, Rounds: rounds, Seconds: seconds}
		return v
	}
	first, resolved := of(CantTell, 1.01, 0, math.MaxFloat64), open
	first.Forecast = &Forecast{Kind: FirstInterval, Rounds: 1}
	resolved.Forecast = &Forecast{Kind: Resolution, Rounds: 90, Seconds: 40, Resolution: 0.011}
	total := func(kind Kind, v Verdict, ratio, lo, hi float64) Verdict {
		v.Kind, v.Total = kind, &Effect{ratio, lo, hi}
		return v
	}
	stalls := total(Slower, same, 1.93, 1.2, 2.8)
	for want, v := range map[string]Verdict{
		"slower: +1.1% to +2.9%, 61 rounds":   slower,
		"faster: −2.9% to −1.1%, 61 rounds":   faster,
		"no difference larger than 2%":        same,
		"can't tell: −1.4% to +3.0%":          open,
		"can't tell: too few samples yet":     of(CantTell, 1.01, 0.9, math.MaxFloat64),
		"can't tell: the machine was on fire": {Kind: CantTell, Reason: "the machine was on fire"},

		"can't tell: −1.4% to +3.0%; about 90 more rounds would decide":                after(90, 0),
		"can't tell: −1.4% to +3.0%; about 90 more rounds (40 s) would decide":         after(90, 39.2),
		"can't tell: −1.4% to +3.0%; about 900 more rounds (7 min) would decide":       after(900, 392),
		"can't tell: −1.4% to +3.0%; about 30000 more rounds (3.9 h) would decide":     after(30000, 14000),
		"can't tell: too few samples yet: 1 more round":                                first,
		"can't tell: −1.4% to +3.0%; 40 s more would find only differences above 1.1%": resolved,

		"slower: in total 1.2–2.8 × as long, long stalls; typical: same within 1%, 61 rounds":          stalls,
		"slower: in total +1.0% to +9.0%, long stalls; typical: can't tell −1.4% to +3.0%, 61 rounds":  total(Slower, open, 1.052, 1.01, 1.09),
		"faster: −2.9% to −1.1%; in total 0.30–0.80 × as long, long stalls of the baseline, 61 rounds": total(Faster, faster, 0.5, 0.3, 0.8),

		"typical: +1.1% to +2.9%; in total 0.30–0.80 × as long, long stalls of the baseline": total(Mixed, slower, 0.52, 0.3, 0.8),

		"lower: −2.9% to −1.0%, 61 rounds":     rate(of(Slower, 1/0.98, 1.0102, 1.029)),
		"higher: 1.8–2.3 × as much, 61 rounds": rate(of(Faster, 0.5, 0.45, 0.55)),
		"can't tell: −2.9% to +2.1%":           rate(of(CantTell, 1, 0.98, 1.029)),
		"invalid: the thread ran on CPU 3":     InvalidVerdict("the thread ran on CPU 3"),

		"confounded: slower: +1.1% to +2.9%, 61 rounds; more was stolen":                                                   slower.Confound(stolen),
		"confounded: faster: −2.9% to −1.1%, 61 rounds; more was stolen; the canary was slower":                            faster.Confound(stolen).Confound("the canary was slower"),
		"confounded: no difference larger than 2%; more was stolen":                                                        same.Confound(stolen),
		"confounded: slower: in total 1.2–2.8 × as long, long stalls; typical: same within 1%, 61 rounds; more was stolen": stalls.Confound(stolen),
	} {
		v.Step = 0.001
		assert.Equal(t, want, v.String())
		text, err := json.Marshal(v)
		require.NoError(t, err)
		var back Verdict
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, v, back)
		assert.Equal(t, want, back.String(), "read back")
	}
	slower.Step = 0.0001
	assert.Equal(t, "slower: +1.10% to +2.90%, 61 rounds", slower.String())
}

// A claim by either effect decides, unless the other claims the opposite; a total that claims nothing changes nothing.
func TestEitherEffectDecides(t *testing.T) {
	for _, c := range []struct {
		name           string
		typical, total Effect
		want           Kind
		claim          float64 // ratio of the effect that is claimed
	}{
		{"same, and slower in total", Effect{1, 0.99, 1.01}, Effect{1.5, 1.2, 1.9}, Slower, 1.5},
		{"same, and slower in total by less than the margin", Effect{1, 0.99, 1.01}, Effect{1.01, 1.004, 1.015}, Same, 1},
		{"same, and the total is open", Effect{1, 0.99, 1.01}, Effect{1.5, 0.9, 1.9}, Same, 1},
		{"slower, and so in total", Effect{1.05, 1.04, 1.06}, Effect{1.06, 1.02, 1.09}, Slower, 1.05},
		{"slower, and far slower in total", Effect{1.05, 1.04, 1.06}, Effect{1.5, 1.2, 1.9}, Slower, 1.05},
		{"slower, and far less so in total", Effect{1.5, 1.4, 1.6}, Effect{1.15, 1.1, 1.2}, Slower, 1.5},
		{"slower, and the total is open, and elsewhere", Effect{1.5, 1.4, 1.6}, Effect{1.1, 0.9, 1.2}, Slower, 1.5},
		{"faster, and far faster in total", Effect{0.775, 0.77, 0.78}, Effect{0.385, 0.36, 0.41}, Faster, 0.775},
		{"faster, and the total is open", Effect{0.775, 0.77, 0.78}, Effect{1.1, 0.8, 1.4}, Faster, 0.775},
		{"slower, and faster in total", Effect{1.05, 1.04, 1.06}, Effect{0.7, 0.6, 0.8}, Mixed, 0.7},
		{"open, and slower in total", Effect{1.05, 0.94, 1.16}, Effect{1.5, 1.2, 1.9}, Slower, 1.5},
		{"open, and the total is open", Effect{1.05, 0.94, 1.16}, Effect{1.5, 0.9, 1.9}, CantTell, 1.05},
	} {
		v := Verdict{Typical: c.typical, Total: &c.total, Margin: 0.02}
		v.Kind = v.judged()
		assert.Equal(t, c.want, v.Kind, c.name)
		assert.Equal(t, c.claim, v.Claim().Ratio, c.name)
	}
}

// A verdict without a claim is not doubted; the numbers stay. One with too many missing samples asks for no more.
func TestConfound(t *testing.T) {
	control := Verdict{Kind: CantTell, Reason: "the baseline differs from its own duplicate: [2, 3]", MoreRounds: 9}
	for _, v := range []Verdict{
		{}, control, InvalidVerdict("why"), {Kind: CantTell, Typical: Effect{1.01, 0.986, 1.03}, MoreRounds: 90},
	} {
		assert.Equal(t, v, v.Confound("more was stolen"))
	}
	v := Verdict{Kind: Slower, Typical: Effect{1.02, 1.011, 1.029}, Rounds: 61, Margin: 0.02, Step: 0.001}
	confounded := v.Confound("more was stolen")
	assert.Equal(t, Confounded, confounded.Kind)
	confounded.Kind, confounded.Reason = v.Kind, ""
	assert.Equal(t, v, confounded)
	v.MoreRounds, v.MoreSeconds, v.Forecast = 9, 9, &Forecast{}
	confounded.Kind, confounded.Reason = CantTell, "lost"
	assert.Equal(t, confounded, v.Unjudged("lost"))
}

func TestVerdictInterval(t *testing.T) {
	for want, v := range map[string]Verdict{
		"1.2–2.5 × as much":     {Typical: Effect{0.5, 0.4, 0.8}, Rate: true},
		"2.7–4.8 × as much":     {Typical: Effect{3, 2.7, 4.8}, Amount: true},
		"at most 2.0 × as much": {Typical: Effect{1, 0.5, math.MaxFloat64}, Rate: true},
	} {
		assert.Equal(t, want, v.Interval())
	}
}

// A brief verdict leaves out the rounds, and what more of them are expected to give.
func TestBriefVerdict(t *testing.T) {
	of := func(kind Kind, lo, hi float64, reason string) Verdict {
		return Verdict{
			Kind: kind, Typical: Effect{1, lo, hi}, Step: 0.001, Margin: 0.02, Rounds: 9, Reason: reason,
			Forecast: &Forecast{Rounds: 90, Seconds: 40},
		}
	}
	for want, v := range map[string]Verdict{
		"slower: +1.1% to +2.9%":       of(Slower, 1.011, 1.029, ""),
		"can't tell: −1.4% to +3.0%":   of(CantTell, 0.986, 1.03, ""),
		"can't tell":                   of(CantTell, 0, math.MaxFloat64, ""),
		"can't tell: it ended":         of(CantTell, 0.986, 1.03, "it ended"),
		"no difference larger than 2%": of(Same, 0.99, 1.01, ""),
	} {
		assert.Equal(t, want, v.Brief())
	}
}

// An end that is not bounded, or not known, is null and survives a round trip.
func TestEffectJSON(t *testing.T) {
	for text, effect := range map[string]Effect{
		`{"ratio":1.02,"lo":1.01,"hi":1.03}`:  {1.02, 1.01, 1.03},
		`{"ratio":1.02,"lo":1.01,"hi":null}`:  {1.02, 1.01, math.MaxFloat64},
		`{"ratio":1,"lo":null,"hi":null}`:     {1, 0, math.MaxFloat64},
		`{"ratio":null,"lo":null,"hi":null}`:  {},
		`{"ratio":1.02,"lo":1.03,"hi":1.01}`:  {1.02, 1.03, 1.01}, // the ratio changed during the run
		`{"ratio":0.001,"lo":null,"hi":1e-9}`: {0.001, 0, 1e-9},
	} {
		written, err := json.Marshal(effect)
		require.NoError(t, err)
		assert.Equal(t, text, string(written))
		var back Effect
		require.NoError(t, json.Unmarshal([]byte(text), &back))
		assert.Equal(t, effect, back)
	}
	assert.Error(t, json.Unmarshal([]byte(`{"ratio":"1"}`), &Effect{}))
}
