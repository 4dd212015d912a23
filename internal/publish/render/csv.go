package render

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/lazy"
	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// csvFixed are the columns that every experiment has, before the values and the signals.
var csvFixed = []string{
	"index", "seconds", "user_seconds", "system_seconds", "partial", "verdict", "reasons",
}

// csvSlot are the columns that come before them in a matrix: the place of the sample.
var csvSlot = []string{"cell", "cell_name", "control", "round", "block", "elapsed_seconds"}

// CSV writes one row a sample, or one for each of its parts: the columns that the experiment puts first, the fixed
// ones, its others that any sample has, by name, and the quality signals. Figures are unscaled and have the digits that
// read back as the same float64; what could not be had is an empty field. A column whose name is already taken is called
// "values.NAME". Fields are those of escapeCSV.
func (v Views) CSV(w io.Writer, run *result.Run, _ term.Options) error {
	run = term.Clean(run)
	samples, columns := v.parts(run)
	first, others := columns.Leading(), columns.Others(samples)

	var fixed []string
	for _, c := range first {
		fixed = append(fixed, c.Name)
	}
	fixed = append(fixed, csvFixed...)
	if run.Matrix != nil {
		fixed = slices.Concat(csvSlot, fixed)
	}
	header := slices.Clone(fixed)
	for _, c := range others {
		name := c.Name
		if _, taken := column.Signals.Find(name); taken || slices.Contains(fixed, name) {
			name = "values." + name
		}
		header = append(header, name)
	}
	for _, c := range column.Signals {
		header = append(header, c.Name)
	}
	rows := [][]string{header}
	for i := range samples {
		row := csvRow(&samples[i], first, others)
		if run.Matrix != nil {
			row = append(slotFields(run, &samples[i]), row...)
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		for i, field := range row {
			row[i] = escapeCSV(field)
		}
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("cannot write the samples as CSV: %w", err)
	}
	return nil
}

var (
	// formula matches a text that a spreadsheet computes (owasp.org/www-community/attacks/CSV_Injection).
	formula = lazy.Regexp(`^\s*[=+\-@＝＋－＠]`)
	// ownName matches the names of cells made of gorun's flags and plain values, and load patterns: nothing in them can be a function
	// or the start of a program (DDE).
	ownName = lazy.Regexp(`^--[a-z][a-z0-9-]*([ =][\w.,:/%='-]*)*$|^[-* ]+$`)
)

// TableCSV writes a table: figures unscaled, with the digits that read back as the same float64.
func TableCSV(w io.Writer, t table.Table) error {
	var titles []string
	for _, c := range t.Columns {
		titles = append(titles, c.Title)
	}
	rows := [][]string{titles}
	for _, row := range t.Sheet().Rows {
		var fields []string
		for _, cell := range row {
			text := cmp.Or(cell.Exact, cell.Text)
			for _, phrase := range cell.Words {
				text += phrase.Text
			}
			if text == units.None {
				text = ""
			}
			fields = append(fields, escapeCSV(text))
		}
		rows = append(rows, fields)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// escapeCSV returns a field that a spreadsheet shows as it is: a text that it would compute follows an apostrophe. A number
// or a name of gorun's own is never changed.
func escapeCSV(field string) string {
	if _, err := strconv.ParseFloat(field, 64); err == nil || !formula().MatchString(field) || ownName().MatchString(field) {
		return field
	}
	return "'" + field
}

// parts are the samples of a run, or their parts where the experiment has rows of these, and the columns.
func (v Views) parts(run *result.Run) ([]result.Sample, column.List) {
	parts := v.Of(run.Experiment).Parts
	if parts == nil {
		columns, _ := v.Known(run.Experiment)
		return run.Samples, columns
	}
	var samples []result.Sample
	for _, sample := range run.Samples {
		samples = append(samples, parts.Of(sample)...)
	}
	return samples, parts.Columns
}

// slotFields are those of csvSlot; empty where the sample has no place.
func slotFields(run *result.Run, s *result.Sample) []string {
	if s.Slot == nil {
		return make([]string, len(csvSlot))
	}
	name := ""
	if cell := view.CellOf(run, s); cell != nil {
		name = cell.Name
	}
	return []string{
		strconv.Itoa(s.Cell), name, strconv.FormatBool(s.Control), strconv.Itoa(s.Round), strconv.Itoa(s.Block),
		units.Exact(s.Elapsed),
	}
}

func csvRow(s *result.Sample, first, others column.List) (row []string) {
	values := func(columns column.List) {
		for _, c := range columns {
			row = append(row, c.Of(s).Text)
		}
	}
	values(first)
	row = append(row,
		strconv.Itoa(s.Index), units.Exact(s.Seconds), units.Exact(s.UserSeconds), units.Exact(s.SystemSeconds),
		strconv.FormatBool(s.Partial), string(s.Quality.Verdict), strings.Join(s.Quality.Reasons, "; "),
	)
	values(others)
	values(column.Signals)
	return row
}
