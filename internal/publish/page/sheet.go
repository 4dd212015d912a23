package page

import (
	"cmp"
	"slices"

	"gorun/internal/record/table"
)

// Sheet is a table as the page has it.
type Sheet struct {
	Name    string // by which programs find it
	Caption string
	Head    []heading
	Rows    []line
	Notes   []string // below the table
}

// heading is the heading of a column.
type heading struct {
	Text   string
	Number bool // its cells are right-aligned
	Range  bool // a narrow page leaves it out
}

// line is a row. The first cell is its heading.
type line struct {
	Cell  string // the name of its cell, by which the page hides it; "": it is not about a cell
	Cells []cell
}

// cell is a text, with its number at full precision.
type cell struct {
	Head                  string // of its column
	Text                  string
	Value                 string // "": not a number
	Label, Verdict, Range bool
	Lines                 []phrase // instead of the text
}

// phrase is a line of a cell, each in the colour of its own verdict.
type phrase struct{ Text, Class string }

// SheetOf returns a table as the page has it. Verdicts stand next to what they are about, so that a narrow page shows them.
func SheetOf(t table.Table) Sheet {
	s := Sheet{Name: t.Name, Caption: t.Title, Notes: t.Notes}
	read := t.Sheet()
	var order []int
	for n, c := range read.Columns {
		if !c.Bar {
			order = append(order, n)
		}
	}
	if slices.ContainsFunc(t.Columns, func(c table.Column) bool { return c.Label }) {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(place(read.Columns[a]), place(read.Columns[b])) })
	}
	for i, n := range order {
		c := read.Columns[n]
		s.Head = append(s.Head, heading{c.Title, i > 0 && c.Right, c.Range})
	}
	for i, row := range read.Rows {
		l := line{Cell: t.Rows[i].Name}
		for _, n := range order {
			of, column := row[n], read.Columns[n]
			c := cell{
				Head: column.Title, Text: of.Text, Value: of.Exact, Range: column.Range, Label: column.Label,
				Verdict: column.Title == table.VerdictTitle,
			}
			for _, words := range of.Words {
				c.Lines = append(c.Lines, phrase{words.Text, string(words.Tone)})
			}
			l.Cells = append(l.Cells, c)
		}
		s.Rows = append(s.Rows, l)
	}
	return s
}

// place is that of a column: labels, a verdict on what they name, and the others.
func place(c table.SheetColumn) int {
	switch {
	case c.Label:
		return 0
	case c.Title == table.VerdictTitle:
		return 1
	}
	return 2
}

// Sheets returns tables as the page has them.
func Sheets(tables ...table.Table) (all []Sheet) {
	for _, t := range tables {
		all = append(all, SheetOf(t))
	}
	return all
}
