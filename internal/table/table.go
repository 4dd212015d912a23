// Package table has the tables that a run is shown as. Their cells hold typed values. Package table knows no format: it decides
// once, for all of them, how numbers are rounded and in which unit they stand.
package table

import (
	"math"
	"slices"

	"gorun/internal/column"
	"gorun/internal/stats"
	"gorun/internal/units"
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

// VerdictTitle is the title of the column of verdicts.
const VerdictTitle = "verdict"

// Has reports whether the table has a column of this title.
func (t *Table) Has(title string) bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Title == title })
}

// Column is a column of a table.
type Column struct {
	Title string
	Rank  int  // 0: it is always shown; where there is no room for the others, the highest rank goes first
	Label bool // it is one of those that tell the rows apart; where they do not fit, the rows' names stand for them
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
	// Spread is the median of a figure and the range that it is of.
	Spread struct {
		Median, Least, Most float64
		Unit                column.Unit
	}
	Words []Phrase
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

// With adds a column, each of whose times has a unit of its own. One without any value is left out.
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
	case stats.Slower, stats.Invalid:
		return Bad
	case stats.Faster:
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
	Rows    [][]Cell
}

// SheetColumn is a column of a sheet. A column of spreads with ranges gives two: the range is in the second.
type SheetColumn struct {
	Column
	Right bool // its cells line up at the right
	Range bool
	Bar   bool // its cells are drawn; without a terminal they are empty
}

// Cell is a value as people read it.
type Cell struct {
	Text  string
	Exact string // the number, not rounded, in seconds if it is a time; "": not a number
	CPUs  bool
	Bar   *float64
	Words Words
}

// Sheet returns the table as people read it: times that are compared, which are those of a column, have one unit.
func (t *Table) Sheet() Sheet {
	sheet := Sheet{Rows: make([][]Cell, len(t.Rows))}
	for n, c := range t.Columns {
		var times []float64
		numbers, others, ranges, bars := 0, 0, false, false
		for _, row := range t.Rows {
			x, unit, is := number(row.Values[n])
			if spread, ok := row.Values[n].(Spread); ok && spread.Least != spread.Most {
				ranges = true
			}
			_, given := row.Values[n].(Given)
			_, bar := row.Values[n].(Bar)
			switch bars = bars || bar; {
			case given:
				numbers++
			case is:
				numbers++
				times = append(times, inSeconds(unit, x)...)
			case row.Values[n] != nil && row.Values[n] != Value(Text("")):
				others++
			}
		}
		scale := units.Seconds
		if !c.Apart {
			scale = units.CommonUnit(times)
		}
		show := func(unit column.Unit, x float64) string {
			if seconds := inSeconds(unit, x); seconds != nil {
				return scale(seconds[0])
			}
			return Format(unit, x)
		}
		sheet.Columns = append(sheet.Columns, SheetColumn{Column: c, Right: numbers > 0 && numbers >= others, Bar: bars})
		if ranges {
			sheet.Columns = append(sheet.Columns, SheetColumn{Column: Column{Title: "range"}, Range: true})
		}
		for i, row := range t.Rows {
			cell, between := cellOf(row.Values[n], show)
			if sheet.Rows[i] = append(sheet.Rows[i], cell); ranges {
				sheet.Rows[i] = append(sheet.Rows[i], Cell{Text: between})
			}
		}
	}
	return sheet
}

// Show returns a value as people read it.
func Show(v Value) string {
	t := Table{Columns: []Column{{}}, Rows: []Row{{Values: []Value{v}}}}
	return t.Sheet().Rows[0][0].Text
}

// cellOf returns a value as people read it, and the range of a spread.
func cellOf(v Value, show func(column.Unit, float64) string) (c Cell, between string) {
	switch v := v.(type) {
	case nil, Number, Spread:
		c.Text = units.None
	case Text:
		c.Text = string(v)
	case Given:
		c.Text, c.Exact = string(v), string(v)
	case CPUs:
		c.Text, c.CPUs = string(v), true
	case Bar:
		share := float64(v)
		c.Bar = &share
	case Words:
		c.Words = v
	}
	if x, unit, is := number(v); is {
		c.Text = show(unit, x)
		for _, seconds := range inSeconds(unit, x) {
			x = seconds
		}
		c.Exact = units.Exact(x)
	}
	if s, is := v.(Spread); is && c.Exact != "" {
		if least, most := show(s.Unit, s.Least), show(s.Unit, s.Most); least != most {
			between = least + " … " + most
		}
	}
	return c, between
}

// number returns the number of a value; false if it has none.
func number(v Value) (x float64, unit column.Unit, is bool) {
	switch v := v.(type) {
	case Number:
		x, unit, is = v.X, v.Unit, true
	case Spread:
		x, unit, is = v.Median, v.Unit, true
	}
	return x, unit, is && !math.IsNaN(x) && !math.IsInf(x, 0)
}

// inSeconds returns a time in seconds; none if the number is not a time.
func inSeconds(unit column.Unit, x float64) []float64 {
	switch unit {
	case column.Seconds:
		return []float64{x}
	case column.Nanoseconds:
		return []float64{x / 1e9}
	}
	return nil
}

// Format returns a number with its unit, in the scale that a person reads best.
func Format(unit column.Unit, x float64) string {
	switch unit {
	case column.Seconds, column.Nanoseconds:
		return units.Seconds(inSeconds(unit, x)[0])
	case column.Count:
		return units.Count(x)
	case column.Bytes:
		return units.Bytes(uint64(max(0, x)))
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
	return units.Large(x)
}
