// Package column describes the figures of a sample: their names, units and meanings, and how to get them. All formats,
// the report, comparisons and the metrics read figures through columns, never by a JSON name.
package column

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
)

// Unit is the unit of a figure.
type Unit string

// The units of figures.
const (
	None           Unit = ""       // a text, or a number without a unit, such as a CPU's
	Count          Unit = "count"  // a number that is shown in full
	Large          Unit = "number" // a number that may be in the millions
	Seconds        Unit = "s"      // in a benchmark line, these are nanoseconds
	Nanoseconds    Unit = "ns"
	Bytes          Unit = "B"
	PerSecond      Unit = "1/s"
	BytesPerSecond Unit = "B/s"
	Ratio          Unit = "ratio"
	Share          Unit = "share" // of 1
	Percent        Unit = "%"
)

var allUnits = []Unit{None, Count, Large, Seconds, Nanoseconds, Bytes, PerSecond, BytesPerSecond, Ratio, Share, Percent}

// Direction is the direction in which a figure is better.
type Direction string

// The directions; without one, neither figure is better.
const (
	Lower  Direction = result.Lower
	Higher Direction = result.Higher
)

// Column is a figure of a sample, and how it is shown.
type Column struct {
	Name    string // in JSON, below samples[].values, and in CSV
	Unit    Unit
	Meaning string // one sentence
	Better  Direction
	Label   string // in the table; "": the name, without its unit
	Hidden  bool   // the table does not show it
	Verbose bool   // the table shows it with --verbose
	CSV     int    // place among the columns that come first in CSV; 0: it comes later, by name
	Key     string // in the names of benchmarks, which differ by it; "": it is not there
	Bench   string // unit in a benchmark line; "": it is not there. Of a map, if set, the units are the keys
	Rank    int    // place among the columns of a table of cells; 0: it is not one. Where there is no room, the highest goes first
	Group   string // title of the table of its own that it is in; "": it is in none
	// ValueNames stand for values in a benchmark's name, such as "F" for -1.
	ValueNames map[string]string
	// Repeats: the figure is the number of repetitions of the work, the iterations of a benchmark line.
	Repeats bool

	own  bool                                          // it is of the experiment's figures
	of   func(*result.Sample) reflect.Value            // not valid: absent
	each func(*result.Sample) map[string]reflect.Value // by the column's name and the key; nil: a single column
}

// List holds columns in the order of tables and benchmark lines.
type List []Column

// Value is the value of a sample in a column. The zero Value is absent.
type Value struct {
	Text   string  // exact: reading it back gives the same figure; "": absent
	Number float64 // NaN for a word
}

// Known reports whether the sample has the figure.
func (v Value) Known() bool { return v.Text != "" }

// Computed returns a column that is computed from the figures F. get returns a number, a text, a bool, or a pointer to one
// of these; nil and "" are absent.
func Computed[F, V any](c Column, get func(*F) V) Column {
	c.own = true
	return Derived(c, func(s *result.Sample) any {
		if figures, ok := result.Typed[F](s); ok {
			return get(figures)
		}
		return nil
	})
}

// Derived returns a column of a sample's data other than the figures of its experiment. It is not in CSV.
func Derived[V any](c Column, get func(*result.Sample) V) Column {
	c.of = func(s *result.Sample) reflect.Value { return reflect.ValueOf(get(s)) }
	return c
}

// Printed returns the unit of a figure that a program printed with this word after it; "" is None.
func Printed(word string) Unit {
	if word == "" {
		return None
	}
	return printed + Unit(word)
}

// Word returns the word of a unit that a program printed; false if it is none.
func (u Unit) Word() (word string, is bool) { return strings.CutPrefix(string(u), string(printed)) }

const printed Unit = "printed as "

// In returns the list with the units of a run's own figures, by column.
func (l List) In(of map[string]string) List {
	if len(of) == 0 {
		return l
	}
	return l.With(func(c *Column) {
		if word := of[c.Name]; word != "" {
			c.Unit = Printed(word)
		}
	})
}

// Of returns the value of a sample in the column.
func (c Column) Of(s *result.Sample) Value {
	v := valueOf(c.of(s))
	if factor := s.Factor(c.Name); factor != 1 && v.Known() {
		v.Text = strconv.FormatFloat(v.Number*factor, 'g', 15, 64) // without the last digit, which arithmetic has made
		v.Number, _ = strconv.ParseFloat(v.Text, 64)
		v.Text = units.Exact(v.Number)
	}
	return v
}

// Number returns the figure of a sample; false when it is absent or a word.
func (c Column) Number(s *result.Sample) (float64, bool) {
	if len(s.Factors) == 0 {
		return numberOf(c.of(s))
	}
	v := c.Of(s)
	return v.Number, v.Known() && !math.IsNaN(v.Number)
}

// Find returns the column with this name, also that of a key; false if it does not exist.
func (l List) Find(name string) (Column, bool) {
	for _, c := range l {
		switch {
		case c.Name == name:
			return c, true
		case c.each != nil && strings.HasPrefix(name, c.Name+"_"):
			return c.keyed(name), true
		}
	}
	return Column{}, false
}

// By returns the column by which a cell is judged in place of the run's.
func (l List) By(of result.JudgedFigure) (Column, bool) {
	c, found := l.Find(of.Column)
	c.Label, c.Better, c.Unit = of.Label, Direction(of.Better), Printed(of.Label)
	return c, found
}

// With returns the list with each of its columns changed.
func (l List) With(change func(*Column)) List {
	l = slices.Clone(l)
	for i := range l {
		change(&l[i])
	}
	return l
}

// Get returns the column with this name. It panics if there is none, for columns that are known when the program is built.
func (l List) Get(name string) Column {
	c, found := l.Find(name)
	if !found {
		panic("there is no column " + name)
	}
	return c
}

// After returns the list with more columns after the one with this name. It panics if there is none.
func (l List) After(name string, more ...Column) List {
	at := slices.IndexFunc(l, func(c Column) bool { return c.Name == name })
	if at < 0 {
		panic("there is no column " + name)
	}
	return slices.Insert(slices.Clone(l), at+1, more...)
}

// Leading returns the columns that come first in CSV, in order.
func (l List) Leading() List {
	lead := slices.DeleteFunc(slices.Clone(l), func(c Column) bool { return c.CSV == 0 })
	slices.SortStableFunc(lead, func(a, b Column) int { return a.CSV - b.CSV })
	return lead
}

// Others returns the experiment's own columns that do not come first and that any of the samples has, sorted by name.
func (l List) Others(samples result.Samples) List {
	others := slices.DeleteFunc(l.Keyed(samples), func(c Column) bool {
		return !c.own || c.CSV > 0 || !samples.Has(func(s *result.Sample) bool { return c.Of(s).Known() })
	})
	slices.SortFunc(others, func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
	return others
}

// Keyed returns the list with the columns of keys in place of each column that has them.
func (l List) Keyed(samples result.Samples) (all List) {
	for _, c := range l {
		if c.each == nil {
			all = append(all, c)
		}
		all = append(all, c.Keys(samples)...)
	}
	return all
}

// Keys returns a column for each key that one of the samples has, by name; none for a column without keys.
func (c Column) Keys(of ...result.Samples) (all List) {
	if c.each == nil {
		return nil
	}
	names := map[string]bool{}
	for _, samples := range of {
		for _, s := range samples.Each() {
			for name := range c.each(s) {
				names[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, c.keyed(name))
	}
	return all
}

// keyed returns the column of one key.
func (c Column) keyed(name string) Column {
	each := c.each
	if c.Bench != "" {
		c.Bench = strings.TrimPrefix(name, c.Name+"_")
	}
	if c.Label != "" {
		c.Label += strings.ReplaceAll(strings.TrimPrefix(name, c.Name), "_", " ")
	}
	c.Name, c.each = name, nil
	c.of = func(s *result.Sample) reflect.Value { return each(s)[name] }
	return c
}

// valueOf returns a figure as a Value.
func valueOf(figure reflect.Value) Value {
	x, number := numberOf(figure)
	if !number {
		x = math.NaN()
	}
	switch figure.Kind() {
	case reflect.Pointer, reflect.Interface:
		return valueOf(figure.Elem())
	case reflect.String:
		return Value{Text: figure.String(), Number: x}
	case reflect.Bool:
		return Value{Text: strconv.FormatBool(figure.Bool()), Number: x}
	case reflect.Int:
		return Value{Text: strconv.FormatInt(figure.Int(), 10), Number: x}
	case reflect.Uint64:
		return Value{Text: strconv.FormatUint(figure.Uint(), 10), Number: x}
	case reflect.Float64:
		if number {
			return Value{Text: units.Exact(x), Number: x}
		}
	}
	return Value{}
}

// numberOf returns a figure; false when it is absent or a word.
func numberOf(figure reflect.Value) (x float64, number bool) {
	switch figure.Kind() {
	case reflect.Pointer, reflect.Interface:
		return numberOf(figure.Elem())
	case reflect.Int:
		return float64(figure.Int()), true
	case reflect.Uint64:
		return float64(figure.Uint()), true
	case reflect.Float64:
		x = figure.Float()
		return x, !math.IsNaN(x) && !math.IsInf(x, 0) // JSON has neither
	}
	return 0, false
}
