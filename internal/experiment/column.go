package experiment

import (
	"encoding/json"
	"math"
	"strconv"

	"gorun/internal/result"
)

// Unit is what a figure is counted in.
type Unit string

// The units of figures.
const (
	None        Unit = "" // a word, or a number that counts nothing, such as a CPU's
	Count       Unit = "count"
	Seconds     Unit = "s"
	Nanoseconds Unit = "ns"
	Bytes       Unit = "B"
	PerSecond   Unit = "1/s"
	Ratio       Unit = "ratio"
)

// Direction says which of two figures is better.
type Direction string

// The directions; without one, neither figure is better.
const (
	Lower  Direction = result.Lower
	Higher Direction = result.Higher
)

// Column is a figure of a sample, and how it is shown. The table, CSV, benchmark lines, the report, the metrics and
// --metric are made from the columns of an experiment.
type Column struct {
	Name    string // in JSON, below samples[].values, and in CSV
	Unit    Unit
	Meaning string
	Better  Direction
	Label   string // in the table; "": Name with spaces
	Lead    bool   // in CSV it comes before the columns that every experiment has
	Hidden  bool   // the heading shows it, so the table does not
	Key     string // in a benchmark's name, for what tells samples apart; "": not there
	Bench   string // unit in a benchmark line; "": not there
	// Words are what stands for a value in a benchmark's name: "float" for -1.
	Words map[string]string
	// Counts: it is how often what is measured was done, the iterations of a benchmark line.
	Counts bool

	of func(*result.Sample) Value
}

// Value is what a sample has in a column. The zero Value is absent.
type Value struct {
	Text   string  // exact: reading it back gives the same figure; "": absent
	Number float64 // NaN for a word
}

// Known reports whether the sample has the figure.
func (v Value) Known() bool { return v.Text != "" }

// IsNumber reports whether the figure is one that can be compared.
func (v Value) IsNumber() bool { return v.Known() && !math.IsNaN(v.Number) }

// Of returns what a sample has in the column.
func (c Column) Of(s *result.Sample) Value { return c.of(s) }

// Number returns the figure of a sample; false when it is absent or a word.
func (c Column) Number(s *result.Sample) (float64, bool) {
	v := c.of(s)
	return v.Number, v.IsNumber()
}

// Figure is a Column of the figures F. get returns a number, a text, a bool, or a pointer to one of these; nil is absent.
func Figure[F, V any](c Column, get func(*F) V) Column {
	c.of = func(s *result.Sample) Value {
		figures, ok := result.Typed[F](s)
		if !ok {
			return Value{}
		}
		return valueOf(get(figures))
	}
	return c
}

// Common is a Column of what every sample has.
func Common[V any](c Column, get func(*result.Sample) V) Column {
	c.of = func(s *result.Sample) Value { return valueOf(get(s)) }
	return c
}

// valueOf makes a Value of a figure.
func valueOf(figure any) Value {
	number := func(n float64, text string) Value { return Value{Text: text, Number: n} }
	switch x := figure.(type) {
	case string:
		return Value{Text: x, Number: math.NaN()}
	case bool:
		return Value{Text: strconv.FormatBool(x), Number: math.NaN()}
	case float64:
		return number(x, exact(x))
	case int:
		return number(float64(x), strconv.Itoa(x))
	case uint64:
		return number(float64(x), strconv.FormatUint(x, 10))
	case *string:
		return deref(x)
	case *bool:
		return deref(x)
	case *float64:
		return deref(x)
	case *int:
		return deref(x)
	case *uint64:
		return deref(x)
	}
	return Value{}
}

func deref[T any](x *T) Value {
	if x == nil {
		return Value{}
	}
	return valueOf(*x)
}

// exact is the shortest decimal that reads back as x, written as encoding/json does.
func exact(x float64) string {
	text, err := json.Marshal(x)
	if err != nil {
		return "" // NaN and infinities have no JSON: the figure could not be had
	}
	return string(text)
}
