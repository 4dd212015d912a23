// Package reference reads the tables of the texts that gorun's experiments grew from. Their figures are in
// testdata/references.
package reference

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gorun/internal/result"
	"gorun/testdata/references"
)

// Table is a table of a text.
type Table struct {
	Source   string
	Machines map[string]string // by the table's column machine; where it has none, by ""
	Notes    string
	Rows     []Row
}

// Row is a row of a table: its texts by the names of the columns.
type Row map[string]string

// None stands for a figure that a text does not give.
const None = "-"

// Read returns the table of that name. Lines before the columns name the source, each machine, and what else the figures
// mean ("# source: …", "# machine NAME: …", "# note: …").
func Read(name string) (t Table, err error) {
	text, err := references.Files.ReadFile(name + ".tsv")
	if err != nil {
		return t, err
	}
	t.Machines = map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, found := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "#")), ": ")
		switch kind, machine, _ := strings.Cut(key, " "); {
		case !strings.HasPrefix(line, "#") || !found:
		case kind == "source":
			t.Source = value
		case kind == "machine":
			t.Machines[machine] = value
		case kind == "note":
			t.Notes = strings.TrimSpace(t.Notes + " " + value)
		}
	}
	if t.Source == "" || len(t.Machines) == 0 {
		return t, fmt.Errorf("reference %s: it names no source or no machine", name)
	}
	r := csv.NewReader(strings.NewReader(string(text)))
	r.Comma, r.Comment, r.LazyQuotes = '\t', '#', true
	lines, err := r.ReadAll()
	if err == nil && len(lines) == 0 {
		err = errors.New("it has no columns")
	}
	if err != nil {
		return t, fmt.Errorf("reference %s: %w", name, err)
	}
	for _, line := range lines[1:] {
		row := Row{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// For returns what a text reports of a run on one of its machines, without rows yet.
func (t Table) For(machine string, columns ...result.ReferenceColumn) *result.Reference {
	return &result.Reference{
		Source: t.Source, Machine: t.Machines[machine], Notes: t.Notes, Columns: columns, Rows: []result.ReferenceRow{},
	}
}

// Find returns the first row that is looked for; nil: there is none.
func (t Table) Find(is func(Row) bool) Row {
	for _, row := range t.Rows {
		if is(row) {
			return row
		}
	}
	return nil
}

// Figures are those of a row that the columns name; one that the text does not give is left out.
func (r Row) Figures(columns []result.ReferenceColumn) map[string]float64 {
	figures := map[string]float64{}
	for _, c := range columns {
		if x, err := strconv.ParseFloat(r[c.Name], 64); err == nil {
			figures[c.Name] = x
		}
	}
	return figures
}
