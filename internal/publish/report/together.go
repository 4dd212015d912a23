package report

import (
	"fmt"
	"path/filepath"
	"slices"

	"gorun/internal/base/units"
	"gorun/internal/judge/matrix"
	"gorun/internal/publish/render"
	"gorun/internal/record/column"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// comparisons returns tables with the medians of runs of the same experiment that have common cells, side by side.
func comparisons(inputs []Input, views render.Views) (tables []table.Table, answer []view.Statement) {
	for i, in := range inputs {
		another := func(other Input) bool { return other.Run.Experiment != in.Run.Experiment }
		same := slices.DeleteFunc(slices.Clone(inputs), another)
		if len(same) == 1 || slices.ContainsFunc(inputs[:i], func(other Input) bool { return !another(other) }) {
			continue
		}
		if t, found := sideBySide(same, views.Shape(in.Run)); len(t.Rows) > 0 {
			tables, answer = append(tables, t), append(answer, found...)
		}
	}
	return tables, answer
}

// sideBySide returns a table with a row for each cell that two or more runs have. Runs of a matrix are also compared
// with the first, as by `gorun compare --force`; the statements are the verdicts of that.
func sideBySide(inputs []Input, shape view.Shape) (t table.Table, found []view.Statement) {
	t = table.Table{Name: "together", Title: "gorun " + inputs[0].Run.Experiment + ": the runs side by side"}
	t.Add("cell")
	var order []string
	runs := map[string]int{}             // number of runs that have the cell
	var columns []map[string]table.Value // by cell
	for i, in := range inputs {
		medians := map[string]table.Value{}
		set := shape.Series(in.Run)
		for _, s := range set.Series {
			median, ok := s.Median()
			if !ok {
				continue
			}
			if runs[s.Name]++; runs[s.Name] == 1 {
				order = append(order, s.Name)
			}
			medians[s.Name] = set.Value(median)
		}
		t.Add(fmt.Sprintf("%d: %s", i+1, filepath.Base(in.File)))
		columns = append(columns, medians)
		if i == 0 {
			continue
		}
		if verdicts, statement := comparedWith(inputs[0], in, shape.Columns); verdicts != nil {
			t.Add(fmt.Sprintf("%d against 1", i+1))
			columns, found = append(columns, verdicts), append(found, statement)
		}
	}
	for _, name := range order {
		if runs[name] < 2 {
			continue
		}
		row := table.Row{Name: name, Values: []table.Value{table.Text(name)}}
		for _, of := range columns {
			row.Values = append(row.Values, of[name])
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) > 0 && len(found) == 0 {
		found = []view.Statement{{Text: fmt.Sprintf("%s side by side: see the table.", units.Things(len(inputs), "run"))}}
	}
	return t, found
}

// comparedWith returns the verdicts on a run's cells against those of the first, by the cells' titles there, and the same as a
// statement; nil if the two cannot be compared.
func comparedWith(first, in Input, columns column.List) (verdicts map[string]table.Value, s view.Statement) {
	a := matrix.Side{File: first.File, Run: term.Clean(first.Run)} // copies: the runs keep their own verdicts
	b := matrix.Side{File: in.File, Run: term.Clean(in.Run)}
	c, err := matrix.Compare(a, b, columns, nil, true)
	if err != nil {
		return nil, s
	}
	titles := map[string]string{}
	for i, title := range view.CellTitles(first.Run) {
		titles[first.Run.Cells[i].Name] = title
	}
	verdicts = map[string]table.Value{}
	s.Text = fmt.Sprintf("%s, against %s:", filepath.Base(in.File), filepath.Base(first.File))
	for _, of := range c.Cells {
		verdicts[titles[of.A]] = table.Phrases{{Text: of.Words, Tone: table.ToneOf(of.Verdict.Kind)}}
		s.Rows = append(s.Rows, []string{titles[of.A], of.Words})
	}
	return verdicts, s
}
