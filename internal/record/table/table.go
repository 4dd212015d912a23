// Package table has the tables that a run is shown as. Their cells hold typed values. Package table knows no format: it decides
// once, for all of them, how numbers are rounded and in which unit they stand.
package table

import (
	"math"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/stats"
)

// Table is a table of what a run found.
type Table struct {
	Name    string // by which programs find it
	Title   string // "": none
	Columns []Column
	Rows    []Row
	Notes   []string // sentences below it
	Whole   bool     // its lines are there to be copied, and are never broken
}

// Add adds columns without rank.
func (t *Table) Add(titles ...string) {
	for _, title := range titles {
		t.Columns = append(t.Columns, Column{Title: title})
	}
}

// AddRow adds a row that is not about a cell.
func (t *Table) AddRow(values ...Value) { t.Rows = append(t.Rows, Row{Values: values}) }

// VerdictTitle is the title of the column of verdicts.
const VerdictTitle = "verdict"

// IsVerdict reports whether a column has verdicts.
func (c Column) IsVerdict() bool { return c.Title == VerdictTitle }

// Column is a column of a table.
type Column struct {
	Title string
	Rank  int  // 0: it is always shown; where there is no room for the others, the highest rank goes first
	Label bool // it tells the rows apart; where such columns do not fit, the rows' names stand for them
	Apart bool // its times have a unit each
}

// Row is a row of a table.
type Row struct {
	Name   string // of its cell; "": it is not about a cell
	Values []Value
}

// Value is what a cell of a table holds: a Text, Given, Number, Spread, CPUs, Bar or Words; nil: nothing is known.
type Value any

// The kinds of values.
type (
	Text   string
	Given  string  // a number as it was given
	CPUs   string  // a kernel list
	Bar    float64 // a part of 1, to be drawn
	Number struct {
		X    float64
		Unit column.Unit
	}
	// Spread is the median of a figure, and the range of the figure.
	Spread struct {
		Median, Least, Most float64
		Unit                column.Unit
	}
	Phrases []Phrase
)

// Count is a whole number that is shown in full.
func Count[N int | uint64](n N) Number { return Number{float64(n), column.Count} }

// Known is the count that a pointer has; nil: nothing is known.
func Known[N int | uint64](n *N) Value {
	if n == nil {
		return nil
	}
	return Count(*n)
}

// Seconds is a time.
func Seconds(x float64) Number { return Number{x, column.Seconds} }

// Of begins a table with a row for each of these things.
func Of[T any](things []T) *Builder[T] {
	return &Builder[T]{things: things, table: Table{Rows: make([]Row, len(things))}}
}

// Builder makes a table of things.
type Builder[T any] struct {
	things []T
	table  Table
}

// With adds a column whose times have a unit each. A column without any value is left out.
func (b *Builder[T]) With(title string, of func(T) Value) *Builder[T] {
	known := false
	values := make([]Value, len(b.things))
	for i, thing := range b.things {
		values[i] = of(thing)
		known = known || values[i] != nil && values[i] != Value(Text(""))
	}
	if !known {
		return b
	}
	b.table.Columns = append(b.table.Columns, Column{Title: title, Apart: true})
	for i := range values {
		b.table.Rows[i].Values = append(b.table.Rows[i].Values, values[i])
	}
	return b
}

// Table returns the table, with notes below it.
func (b *Builder[T]) Table(name, title string, notes ...string) Table {
	b.table.Name, b.table.Title, b.table.Notes = name, title, notes
	return b.table
}

// Phrase is a piece of text in one tone.
type Phrase struct {
	Text string
	Tone Tone
}

// Tone says how a text is meant. A format has its own colours for tones.
type Tone string

// The tones; "" is plain.
const (
	Strong Tone = "strong"
	Faint  Tone = "same"
	Good   Tone = "faster"
	Bad    Tone = "slower"
	Doubt  Tone = "open"
	Code   Tone = "code"
)

// ToneOf returns the tone of a verdict.
func ToneOf(kind stats.Kind) Tone {
	switch kind {
	case stats.Slower, stats.Invalid, stats.Stops:
		return Bad
	case stats.Faster, stats.Scales:
		return Good
	case stats.Same:
		return Faint
	case stats.CantTell, stats.Mixed, stats.Confounded:
		return Doubt
	}
	return ""
}

// Sheet is a table as people read it.
type Sheet struct {
	Columns []SheetColumn
	Rows    [][]Shown
}

// SheetColumn is a column of a sheet. A column of spreads with ranges gives two: the range is in the second.
type SheetColumn struct {
	Column
	Right bool // its cells line up at the right
	Range bool
	Bar   bool // its cells are drawn; without a terminal they are empty
}

// Pick returns the sheet with these columns, in this order.
func (s Sheet) Pick(columns []int) (picked Sheet) {
	picked.Rows = make([][]Shown, len(s.Rows))
	for _, n := range columns {
		picked.Columns = append(picked.Columns, s.Columns[n])
		for i, row := range s.Rows {
			picked.Rows[i] = append(picked.Rows[i], row[n])
		}
	}
	return picked
}

// Shown is a value as people read it.
type Shown struct {
	Text  string
	Exact string // the number, not rounded, in seconds if it is a time; "": not a number
	CPUs  bool
	Bar   *float64
	Words Phrases
}

// Sheet returns the table as people read it. Times are compared within a column, and have one unit there.
func (t *Table) Sheet() Sheet {
	sheet := Sheet{Rows: make([][]Shown, len(t.Rows))}
	for n, c := range t.Columns {
		seconds := units.Seconds
		if !c.Apart {
			seconds = units.CommonUnit(t.times(n))
		}
		shown := SheetColumn{Column: c}
		counted, others := 0, 0 // numbers, and what is none
		ranges, ranged := make([]Shown, len(t.Rows)), false
		for i, row := range t.Rows {
			var cell Shown
			cell, ranges[i].Text = cellOf(row.Values[n], seconds)
			sheet.Rows[i] = append(sheet.Rows[i], cell)
			switch {
			case cell.Exact != "":
				counted++
			case row.Values[n] != nil && row.Values[n] != Value(Text("")):
				others++
			}
			shown.Bar, ranged = shown.Bar || cell.Bar != nil, ranged || ranges[i].Text != ""
		}
		shown.Right = counted > 0 && counted >= others
		if sheet.Columns = append(sheet.Columns, shown); !ranged {
			continue
		}
		sheet.Columns = append(sheet.Columns, SheetColumn{Column: Column{Title: "range"}, Range: true})
		for i := range t.Rows {
			sheet.Rows[i] = append(sheet.Rows[i], ranges[i])
		}
	}
	return sheet
}

// times returns the times of a column.
func (t *Table) times(n int) (times []float64) {
	for _, row := range t.Rows {
		if s, is := numbers(row.Values[n]); is && s.Unit == column.Seconds {
			times = append(times, s.Median)
		}
	}
	return times
}

// Show returns a value as people read it.
func Show(v Value) string {
	t := Table{Columns: []Column{{}}, Rows: []Row{{Values: []Value{v}}}}
	return t.Sheet().Rows[0][0].Text
}

// Exact returns a value for programs: a number is not rounded, and is in seconds if it is a time; what is not known is "".
func Exact(v Value) (text string) {
	if s, is := numbers(v); is {
		return units.Exact(s.Median)
	}
	switch v := v.(type) {
	case Text:
		return string(v)
	case Given:
		return string(v)
	case CPUs:
		return string(v)
	case Phrases:
		for _, phrase := range v {
			text += phrase.Text
		}
	}
	return text
}

// cellOf returns a value as people read it, and the range of a spread if its ends look different.
func cellOf(v Value, seconds func(float64) string) (c Shown, between string) {
	switch v := v.(type) {
	case Text:
		c.Text = string(v)
	case Given:
		c.Text, c.Exact = string(v), string(v)
	case CPUs:
		c.Text, c.CPUs = string(v), true
	case Bar:
		share := float64(v)
		c.Bar = &share
	case Phrases:
		c.Words = v
	default:
		c.Text = units.None
	}
	s, is := numbers(v)
	if !is {
		return c, ""
	}
	show := func(x float64) string { return Format(s.Unit, x) }
	if s.Unit == column.Seconds {
		show = seconds
	}
	c.Text, c.Exact = show(s.Median), units.Exact(s.Median)
	if least, most := show(s.Least), show(s.Most); least != most {
		between = least + " … " + most
	}
	return c, between
}

// numbers returns a number or a spread, times in seconds; false if the value is neither, or not known.
func numbers(v Value) (s Spread, is bool) {
	switch v := v.(type) {
	case Number:
		s, is = Spread{v.X, v.X, v.X, v.Unit}, true
	case Spread:
		s, is = v, true
	}
	if s.Unit == column.Nanoseconds {
		s = Spread{s.Median / 1e9, s.Least / 1e9, s.Most / 1e9, column.Seconds}
	}
	return s, is && !math.IsNaN(s.Median) && !math.IsInf(s.Median, 0)
}

// Format returns a number with its unit, in the scale that a person reads best.
func Format(unit column.Unit, x float64) string {
	switch unit {
	case column.Seconds:
		return units.Seconds(x)
	case column.Nanoseconds:
		return units.Seconds(x / 1e9)
	case column.Count:
		return units.Count(x)
	case column.Bytes:
		return units.Bytes(uint64(max(0, x)))
	case column.BytesPerSecond:
		return units.Large(x) + "B/s"
	case column.Ratio:
		return units.Ratio(x)
	case column.Share:
		return units.Percent(x)
	case column.Percent:
		return units.Percent(x / 100)
	case column.None:
		if x == math.Trunc(x) {
			return units.Count(x)
		}
		return units.Digits(x)
	}
	if word, is := unit.Word(); is {
		return units.Digits(x) + " " + word
	}
	return units.Large(x)
}
