package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
)

// Shape says what the tables of a run have: rows for its cells, or for what tells its samples apart, and in the columns what the
// experiment measured.
type Shape struct {
	Columns column.List
	// Rows names the columns that tell samples apart in a run without cells; none: all samples are of the same work.
	Rows     []string
	Compared column.Column // the figure that is compared; the zero Column: wall time
	Verbose  bool
}

// In returns the shape with the units of a run's own figures, by column.
func (s Shape) In(units map[string]string) Shape {
	s.Columns = s.Columns.In(units)
	s.Compared, _ = s.Columns.Find(s.Compared.Name)
	return s
}

// Measured is what samples of the same setting found.
type Measured struct {
	Name    string
	Cell    int            // in the run's cells; -1: the run has none
	Samples result.Samples // the good ones, or all if none is good
	Grade   result.Grade   // the worst of these

	all    result.Samples // of the run
	labels []table.Value
}

// RowsOf returns the rows of a run: its cells, or the samples by the values of some columns, in the order of the first samples. The
// samples of a control are the baseline's.
func (s Shape) RowsOf(run *result.Run) []Measured {
	rows := s.rows(run)
	for i := range rows {
		r := &rows[i]
		r.Grade, r.Samples = result.Valid, Summarised(r.all)
		for _, s := range r.Samples.Each() {
			if v := s.Quality.Grade; v == result.Invalid || v == result.Suspect && r.Grade == result.Valid {
				r.Grade = v
			}
		}
	}
	return rows
}

// rows returns the rows with all samples, and without those that count.
func (s Shape) rows(run *result.Run) (rows []Measured) {
	for i, title := range CellTitles(run) {
		rows = append(rows, Measured{Name: title, Cell: i})
	}
	if len(run.Cells) > 0 {
		for i, samples := range run.ByCell() {
			rows[i].all = samples
		}
		return rows
	}
	at := map[string]int{}
	var places [][]int // of the samples of a row
	labels := s.labels()
	for i, sample := range run.Samples.Each() {
		var key []string
		for _, c := range labels {
			key = append(key, c.Of(sample).Text)
		}
		text := strings.Join(key, "\x00")
		n, known := at[text]
		if !known {
			n, at[text] = len(rows), len(rows)
			row := Measured{Cell: -1}
			for _, c := range labels {
				row.labels = append(row.labels, rowLabel(c, sample))
			}
			rows, places = append(rows, row), append(places, nil)
		}
		places[n] = append(places[n], i)
	}
	for n := range rows {
		rows[n].all = run.Samples.Pick(places[n])
	}
	s.name(rows)
	return rows
}

// name names rows by what tells them apart.
func (s Shape) name(rows []Measured) {
	columns, values := s.rowLabels(rows)
	for i := range rows {
		var words []string
		for n, v := range values[i] {
			text := table.Show(v)
			if _, isText := v.(table.Text); !isText {
				text = columns[n].Title + " " + text
			}
			words = append(words, text)
		}
		rows[i].Name = cmp.Or(term.Clean(strings.Join(words, " ")), "all samples")
	}
}

// differs reports whether the rows differ in a label.
func differs(rows []Measured, label int) bool {
	return slices.ContainsFunc(rows, func(row Measured) bool { return row.labels[label] != rows[0].labels[label] })
}

// labels returns the columns that tell samples apart.
func (s Shape) labels() (labels column.List) {
	for _, name := range s.Rows {
		if c, found := s.Columns.Find(name); found {
			labels = append(labels, c)
		}
	}
	return labels
}

// Tables returns the tables of a run: a row for each cell, with what tells it apart, its figures and its verdict; or, of samples of
// the same work, a row for each figure. Those of the groups of columns come after it.
func (s Shape) Tables(run *result.Run) (tables []table.Table) {
	rows := s.RowsOf(run)
	switch {
	case len(rows) == 0:
		return nil
	case len(rows) == 1 && run.Matrix == nil:
		tables = append(tables, s.figures(rows[0]))
		tables = append(tables, partsOf(run, rows[0].Samples)...)
	case run.Matrix != nil && run.Matrix.Search != nil:
		tables = append(tables, searchTable(run))
	default:
		tables = append(tables, s.main(run, rows))
		if run.Matrix != nil && len(run.Matrix.Groups) > 0 {
			tables = append(tables, orderTable(run))
		}
	}
	return append(tables, s.groups(run, rows)...)
}

// figures has a row for each figure of samples of the same work.
func (s Shape) figures(row Measured) table.Table {
	value := "value"
	if row.Samples.Len() > 1 {
		value = "median"
	}
	t := table.Table{Name: "summary", Columns: []table.Column{{Title: "figure"}, {Title: value, Apart: true}}}
	for _, c := range s.Columns.Keyed(row.Samples) {
		if c.Hidden || c.Verbose && !s.Verbose || c.Group != "" || c.Key != "" { // what has a key is a setting
			continue
		}
		if v := valueOf(row.Samples, c); v != nil {
			t.AddRow(table.Text(label(c)), v)
		}
	}
	return t
}

// valueOf returns the figures of samples: a spread of numbers, or a text; nil: no sample has one.
func valueOf(samples result.Samples, c column.Column) table.Value {
	if spread, ok := SpreadOf(samples, c); ok {
		return spread
	}
	for _, s := range samples.Each() {
		if v := c.Of(s); v.Known() {
			return table.Text(v.Text)
		}
	}
	return nil
}

// main has a row for each cell, or for what stands for cells.
func (s Shape) main(run *result.Run, rows []Measured) table.Table {
	t := table.Table{Name: "verdicts", Notes: commentLines(run.Cells)}
	if run.Matrix != nil {
		t.Title = run.Matrix.Title
	}
	labels, values := s.labelsOf(run, rows)
	t.Columns = labels
	for i, row := range rows {
		t.Rows = append(t.Rows, table.Row{Name: row.Name, Values: values[i]})
	}
	add := func(c table.Column, of func(row Measured) table.Value) {
		t.Columns = append(t.Columns, c)
		for i, row := range rows {
			t.Rows[i].Values = append(t.Rows[i].Values, of(row))
		}
	}
	judged, compared := Judged(run), s.compared(run)
	for _, c := range ranked(s.Columns) {
		has := func(row Measured) bool { return valueOf(row.Samples, c) != nil }
		if c.Name != compared.Name && !slices.Contains(s.Rows, c.Name) && slices.ContainsFunc(rows, has) {
			add(table.Column{Title: label(c), Rank: c.Rank}, func(row Measured) table.Value { return median(row, c) })
		}
	}
	if !judged {
		add(table.Column{Title: label(compared)}, func(row Measured) table.Value { return valueOf(row.Samples, compared) })
		if slices.ContainsFunc(rows, func(row Measured) bool { return row.Grade != result.Valid }) {
			add(table.Column{Title: "quality"}, func(row Measured) table.Value {
				return table.Phrases{{Text: string(row.Grade), Tone: qualityTones[row.Grade]}}
			})
		}
		return t
	}
	title, times := CellTimes(run)
	add(table.Column{Title: cmp.Or(title, label(compared))}, func(row Measured) table.Value { return times[row.Cell] })
	add(table.Column{Title: table.VerdictTitle}, func(row Measured) table.Value { return verdictsOf(run, row.Cell, s.Verbose) })
	return t
}

// orderTable has the cells that are not told apart.
func orderTable(run *result.Run) table.Table {
	t := table.Table{Name: "order", Title: "Cells on one line are not told apart, the best first"}
	t.Add("line", "cells")
	for i, group := range run.Matrix.Groups {
		var names []string
		for _, cell := range group {
			names = append(names, run.Cells[cell].Name)
		}
		t.AddRow(table.Count(i+1), table.Phrases{{Text: strings.Join(names, ", ")}})
	}
	return t
}

// qualityTones are those of samples' grades.
var qualityTones = map[result.Grade]table.Tone{result.Valid: table.Good, result.Suspect: table.Doubt, result.Invalid: table.Bad}

// CellTimes returns the title of what is compared of the cells of a judged run, "" if that is a figure of the experiment's own, and
// the figures; nil of a cell without samples.
func CellTimes(run *result.Run) (title string, times []table.Value) {
	title, unit := "time", column.Seconds
	switch run.Matrix.Compared {
	case "":
	case result.MetricColumn:
		title, unit = run.MetricName(), column.Printed(run.Units[result.MetricColumn])
	default:
		title = ""
	}
	for _, cell := range run.Cells {
		if cell.Summary == nil {
			times = append(times, nil)
			continue
		}
		d, unit := cell.Summary.Seconds, unit
		if cell.By != nil {
			unit = column.Printed(cell.By.Label)
		}
		if run.Matrix.Compared == result.MetricColumn || cell.By != nil {
			if d = (result.Distribution{}); cell.Summary.Metric != nil {
				d = *cell.Summary.Metric
			}
		}
		times = append(times, table.Spread{Median: d.Median, Least: d.Min, Most: d.Max, Unit: unit})
	}
	return title, times
}

// cellTimes are the medians of what is compared of the cells, as the table has them.
func cellTimes(run *result.Run) []string {
	_, times := CellTimes(run)
	return showAlike(times)
}

// showAlike returns values as a column of a table has them.
func showAlike(values []table.Value) []string {
	t := table.Table{Columns: []table.Column{{}}}
	for _, x := range values {
		t.AddRow(x)
	}
	texts := make([]string, len(values))
	for i, row := range t.Sheet().Rows {
		texts[i] = row[0].Text
	}
	return texts
}

// median returns that of a figure over the samples of a row.
func median(row Measured, c column.Column) table.Value {
	switch v := valueOf(row.Samples, c).(type) {
	case table.Spread:
		return table.Number{X: v.Median, Unit: v.Unit}
	default:
		return v
	}
}

// ranked returns the columns of a table of cells, by their places.
func ranked(columns column.List) column.List {
	some := slices.DeleteFunc(slices.Clone(columns), func(c column.Column) bool { return c.Rank == 0 })
	slices.SortStableFunc(some, func(a, b column.Column) int { return cmp.Compare(a.Rank, b.Rank) })
	return some
}

// labelsOf returns the columns that tell the rows apart, and their values by row.
func (s Shape) labelsOf(run *result.Run, rows []Measured) (columns []table.Column, values [][]table.Value) {
	if len(run.Cells) > 0 {
		var named []result.FlagColumn
		if run.Matrix != nil {
			named = run.Matrix.Columns
		}
		return labelled(run.Cells, cellColumns(named, run.Cells))
	}
	return s.rowLabels(rows)
}

// rowLabels returns the labels in which rows differ that are not cells. One with a rank is shown only if rows look alike without it.
func (s Shape) rowLabels(rows []Measured) (columns []table.Column, values [][]table.Value) {
	values = make([][]table.Value, len(rows))
	for _, ranked := range []bool{false, true} {
		for n, c := range s.labels() {
			if ranked != (c.Rank > 0) || !differs(rows, n) || ranked && !lookAlike(values) {
				continue
			}
			columns = append(columns, table.Column{Title: label(c), Label: true})
			for i, row := range rows {
				values[i] = append(values[i], row.labels[n])
			}
		}
	}
	return columns, values
}

// lookAlike reports whether two rows have the same labels.
func lookAlike(values [][]table.Value) bool {
	seen := map[string]bool{}
	for _, row := range values {
		key := fmt.Sprint(row)
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// rowLabel returns the value of a column that tells rows apart.
func rowLabel(c column.Column, s *result.Sample) table.Value {
	v := c.Of(s)
	if word := c.ValueNames[v.Text]; word != "" {
		return table.Text(word)
	}
	x, is := c.Number(s)
	switch {
	case is && c.Unit != column.None:
		return table.Number{X: x, Unit: c.Unit}
	case is:
		return table.Given(v.Text)
	}
	return table.Text(v.Text)
}

// groups returns a table for each group of columns of which a sample has a figure: medians over the samples, or means of what is
// counted, which seldom has a telling median.
func (s Shape) groups(run *result.Run, rows []Measured) (tables []table.Table) {
	at := map[string]int{}
	add := func(c column.Column, keyed bool) {
		value, kind := func(row Measured) table.Value { return median(row, c) }, "medians of the samples"
		if c.Unit == column.Count || c.Unit == column.Share || keyed {
			value, kind = func(row Measured) table.Value { return s.mean(row.Samples, c, keyed) }, "mean of a sample"
		}
		if !slices.ContainsFunc(rows, func(row Measured) bool { v := value(row); _, isText := v.(table.Text); return v != nil && !isText }) {
			return
		}
		n, known := at[c.Group]
		if !known {
			n, at[c.Group] = len(tables), len(tables)
			t := table.Table{Name: strings.ReplaceAll(strings.ToLower(c.Group), " ", "-"), Title: c.Group + ", " + kind}
			labels, values := s.labelsOf(run, rows)
			t.Columns = labels
			for i := range rows {
				t.AddRow(values[i]...)
			}
			tables = append(tables, t)
		}
		t := &tables[n]
		t.Columns = append(t.Columns, table.Column{Title: label(c)})
		for i, row := range rows {
			t.Rows[i].Values = append(t.Rows[i].Values, value(row))
		}
	}
	for _, of := range s.Columns {
		if of.Group != "" && (s.Verbose || !of.Verbose && !of.Hidden) {
			for _, c := range (column.List{of}).Keyed(run.Samples) {
				add(c, c.Name != of.Name)
			}
		}
	}
	return tables
}

// mean returns the mean of a figure over the samples that have it. A sample that has other figures of its group has 0 of a key that it
// lacks.
func (s Shape) mean(samples result.Samples, c column.Column, keyed bool) table.Value {
	sum, n := 0.0, 0
	for i, sample := range samples.Each() {
		if x, ok := c.Number(sample); ok {
			sum, n = sum+x, n+1
		} else if keyed && slices.ContainsFunc(s.Columns.Keyed(samples.Pick([]int{i})), func(other column.Column) bool {
			_, known := other.Number(sample)
			return known && other.Group == c.Group
		}) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return table.Number{X: sum / float64(n), Unit: c.Unit}
}

// label returns the title of a figure.
func label(c column.Column) string {
	if c.Label != "" {
		return c.Label
	}
	name := strings.TrimSuffix(strings.TrimSuffix(c.Name, "_seconds"), "_ns")
	return strings.ReplaceAll(name, "_", " ")
}
