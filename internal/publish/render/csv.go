package render

import (
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
)

// field is a column of a spreadsheet of samples.
type field struct {
	name string
	of   func(s *result.Sample) string
}

// fixedFields are those that every experiment has, before the values and the signals.
var fixedFields = []field{
	{"index", func(s *result.Sample) string { return strconv.Itoa(s.Index) }},
	{"seconds", func(s *result.Sample) string { return units.Exact(s.Seconds) }},
	{"user_seconds", func(s *result.Sample) string { return units.Exact(s.UserSeconds) }},
	{"system_seconds", func(s *result.Sample) string { return units.Exact(s.SystemSeconds) }},
	{"partial", func(s *result.Sample) string { return strconv.FormatBool(s.Partial) }},
	{"verdict", func(s *result.Sample) string { return string(s.Quality.Grade) }},
	{"reasons", func(s *result.Sample) string { return strings.Join(s.Quality.Reasons, "; ") }},
}

// placeFields are those that come before them in a matrix: the place of the sample, empty where it has none.
func placeFields(run *result.Run) []field {
	fields := []field{
		{"cell", func(s *result.Sample) string { return strconv.Itoa(s.Cell) }},
		{"cell_name", func(s *result.Sample) string { return run.Cells[s.Cell].Name }},
		{"control", func(s *result.Sample) string { return strconv.FormatBool(s.Control) }},
		{"round", func(s *result.Sample) string { return strconv.Itoa(s.Round) }},
		{"block", func(s *result.Sample) string { return strconv.Itoa(s.Block) }},
		{"elapsed_seconds", func(s *result.Sample) string { return units.Exact(s.Elapsed) }},
	}
	for i, f := range fields {
		fields[i].of = func(s *result.Sample) string {
			if s.Slot == nil {
				return ""
			}
			return f.of(s)
		}
	}
	return fields
}

// Spreadsheet implements document.Listed: one row a sample, or one for each of its parts: the columns that the experiment puts first, the fixed
// ones, its others that any sample has, by name, the quality signals, and where the time went. Figures are unscaled and have the digits that
// read back as the same float64; what could not be had is an empty field. A column whose name is already taken is called
// "values.NAME".
func (r Run) Spreadsheet() table.Table {
	samples, columns := r.views.parts(r.Run)
	var fields []field
	if r.Matrix != nil {
		fields = placeFields(r.Run)
	}
	add := func(name string, c column.Column) {
		fields = append(fields, field{name, func(s *result.Sample) string { return c.Of(s).Text }})
	}
	for _, c := range columns.Leading() {
		add(c.Name, c)
	}
	fields = append(fields, fixedFields...)
	fixed := fields
	for _, c := range columns.Others(samples) {
		name := c.Name
		if _, taken := column.Signals.Find(name); taken || slices.ContainsFunc(fixed, func(f field) bool { return f.name == name }) {
			name = "values." + name
		}
		add(name, c)
	}
	for _, c := range slices.Concat(column.Signals, column.Accounts.Others(samples)) {
		add(c.Name, c)
	}
	t := table.Table{Name: "samples"}
	for _, f := range fields {
		t.Add(f.name)
	}
	for _, s := range samples.All() {
		values := make([]table.Value, len(fields))
		for n, f := range fields {
			values[n] = table.Text(f.of(s))
		}
		t.AddRow(values...)
	}
	return t
}

// parts are the samples of a run, or their parts where the experiment has rows of these, and the columns.
func (v Views) parts(run *result.Run) (result.Samples, column.List) {
	parts := v.Of(run.Experiment).Parts
	if parts == nil {
		columns, _ := v.Known(run.Experiment)
		return run.Samples, columns
	}
	var samples result.Samples
	for _, sample := range run.Samples.All() {
		for _, part := range parts.Of(*sample) {
			samples.Append(&part)
		}
	}
	return samples, parts.Columns
}
