package render

import (
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

// csvFixed are the columns that every experiment has, before the values and the signals.
var csvFixed = []string{
	"index", "seconds", "user_seconds", "system_seconds", "partial", "verdict", "reasons",
}

// csvSlot are the columns that come before them in a matrix: the place of the sample.
var csvSlot = []string{"cell", "cell_name", "control", "round", "block", "elapsed_seconds"}

// Spreadsheet implements document.Listed: one row a sample, or one for each of its parts: the columns that the experiment puts first, the fixed
// ones, its others that any sample has, by name, and the quality signals. Figures are unscaled and have the digits that
// read back as the same float64; what could not be had is an empty field. A column whose name is already taken is called
// "values.NAME".
func (r Run) Spreadsheet() table.Table {
	run := r.Run
	samples, columns := r.views.parts(run)
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
	t := table.Table{Name: "samples"}
	t.Add(header...)
	for i := range samples {
		fields := csvRow(&samples[i], first, others)
		if run.Matrix != nil {
			fields = append(slotFields(run, &samples[i]), fields...)
		}
		values := make([]table.Value, len(fields))
		for n, field := range fields {
			values[n] = table.Text(field)
		}
		t.AddRow(values...)
	}
	return t
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
		strconv.FormatBool(s.Partial), string(s.Quality.Grade), strings.Join(s.Quality.Reasons, "; "),
	)
	values(others)
	values(column.Signals)
	return row
}
