package units

import (
	"math"
	"strconv"
)

// Unbounded is the text for an interval without a bound so far.
const Unbounded = "not bounded yet"

// Changes formats the ratios of a quantity: as differences in per cent, or as factors.
type Changes struct {
	Step   float64 // resolution of the ratios: 0.001 shows tenths of a per cent
	Amount bool    // the quantity is not a time: a factor is "as much" instead of "as long"
	Factor bool    // all are factors, with three digits
}

// Ratio formats one ratio: "+2.0%", or "2.31 × as long" from a factor of 2 on.
func (c Changes) Ratio(ratio float64) string {
	sign, text := c.Parts(ratio)
	return sign + text
}

// Parts formats one ratio as Ratio does, and returns the sign apart from what follows it. A factor has none, and neither has no difference.
func (c Changes) Parts(ratio float64) (sign, text string) {
	if c.isFactor(ratio, ratio) {
		return "", Digits(ratio) + c.times()
	}
	sign, text = c.signed(ratio, math.Round)
	return sign, text + "%"
}

// The signs of differences.
const (
	Plus  = "+"
	Minus = "−"
)

// Interval formats the interval of a ratio: "+1.1% to +2.9%", or "2.7–4.8 × as long" if an end is a factor of 2 or
// more, up or down. Ends are rounded outward. A lower end of 0 and an upper end of math.MaxFloat64 are unbounded.
func (c Changes) Interval(lo, hi float64) string {
	below, above := lo > 0, hi < math.MaxFloat64
	switch {
	case !below && !above:
		return Unbounded
	case !above:
		return "at least " + c.end(lo, math.Floor)
	case !below:
		return "at most " + c.end(hi, math.Ceil)
	case !c.isFactor(lo, hi):
		least, most := c.percents(lo, math.Floor)+"%", c.percents(hi, math.Ceil)+"%"
		if least == most {
			return least
		}
		return least + " to " + most
	}
	digits := 2
	if c.Factor || hi < 1.1*lo {
		digits = 3
	}
	least, most := rounded(lo, digits, math.Floor), rounded(hi, digits, math.Ceil)
	if least == most {
		return least + c.times()
	}
	return least + "–" + most + c.times()
}

// Nearest formats the end of an interval that is nearest to no change, rounded towards it.
func (c Changes) Nearest(end float64) string {
	if end < 1 {
		return c.end(end, math.Ceil)
	}
	return c.end(end, math.Floor)
}

func (c Changes) end(ratio float64, round func(float64) float64) string {
	if c.isFactor(ratio, ratio) {
		digits := 2
		if c.Factor {
			digits = 3
		}
		return rounded(ratio, digits, round) + c.times()
	}
	return c.percents(ratio, round) + "%"
}

func (c Changes) times() string {
	if c.Amount {
		return " × as much"
	}
	return " × as long"
}

// isFactor reports whether an interval is one of factors: an end is a factor of 2 or more, up or down.
func (c Changes) isFactor(lo, hi float64) bool { return c.Factor || lo <= 0.5 || hi >= 2 }

// percents formats a ratio as a difference in per cent, in multiples of Step; from 10% on without decimals.
func (c Changes) percents(ratio float64, round func(float64) float64) string {
	sign, text := c.signed(ratio, round)
	return sign + text
}

// signed formats the same as its sign and its size.
func (c Changes) signed(ratio float64, round func(float64) float64) (sign, text string) {
	difference := 100 * (ratio - 1)
	decimals := max(0, int(math.Round(-math.Log10(100*c.Step))))
	if math.Abs(difference) >= 10 {
		decimals = 0
	}
	rounded := toDecimals(difference, decimals, round)
	switch {
	case rounded < 0:
		sign = Minus
	case rounded > 0:
		sign = Plus
	}
	return sign, strconv.FormatFloat(math.Abs(rounded), 'f', decimals, 64)
}

// rounded formats a positive number with this number of significant digits, or with all digits of a longer whole
// part.
func rounded(x float64, digits int, round func(float64) float64) string {
	decimals := max(0, digits-1-int(math.Floor(math.Log10(x))))
	return strconv.FormatFloat(toDecimals(x, decimals, round), 'f', decimals, 64)
}

// toDecimals rounds a number to this number of decimals; one that has no more, but for errors of arithmetic, stays.
func toDecimals(x float64, decimals int, round func(float64) float64) float64 {
	unit := math.Pow10(decimals)
	steps := x * unit
	if whole := math.Round(steps); math.Abs(steps-whole) < 1e-6 {
		steps = whole
	}
	return round(steps) / unit
}
