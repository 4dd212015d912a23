package report

import (
	"fmt"
	"path/filepath"

	"gorun/internal/column"
	"gorun/internal/matrix"
	"gorun/internal/render"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/table"
	"gorun/internal/units"
)

// comparisons returns tables with the medians of runs of the same experiment that have common cells, side by side.
func comparisons(inputs []Input, views render.Views) (tables []sheet, answer []view.Statement) {
	var experiments []string
	of := map[string][]Input{}
	for _, in := range inputs {
		name := in.Run.Experiment
		if of[name] == nil {
			experiments = append(experiments, name)
		}
		of[name] = append(of[name], in)
	}
	for _, name := range experiments {
		if len(of[name]) == 1 {
			continue
		}
		if t, found := sideBySide(of[name], views.Shape(of[name][0].Run)); len(t.Rows) > 0 {
			tables, answer = append(tables, sheetOf(t)), append(answer, found...)
		}
	}
	return tables, answer
}

// sideBySide returns a table with a row for each cell that two or more runs have. Runs of a matrix are also compared
// with the first, as by `gorun compare --force`; the statements are the verdicts of that.
func sideBySide(
	inputs []Input, shape view.Shape,
) (t table.Table, found []view.Statement) {
	t = table.Table{Name: "together", Title: "gorun " + inputs[0].Run.Experiment + ": the runs side by side"}
	t.Add("cell")
	var order []string
	medians := make([]map[string]float64, len(inputs))
	against := make([]map[string]table.Phrase, len(inputs))
	runs := map[string]int{} // number of runs that have the cell
	for i, in := range inputs {
		t.Add(fmt.Sprintf("%d: %s", i+1, filepath.Base(in.File)))
		medians[i] = map[string]float64{}
		set := shape.Series(in.Run)
		for _, s := range set.Series {
			median, ok := s.Median()
			if !ok {
				continue
			}
			if runs[s.Name]++; runs[s.Name] == 1 {
				order = append(order, s.Name)
			}
			medians[i][s.Name] = median
		}
		if i > 0 {
			against[i] = comparedWith(inputs[0], in, shape.Columns)
		}
		if against[i] != nil {
			t.Add(fmt.Sprintf("%d against 1", i+1))
		}
	}
	for i := range inputs {
		if against[i] == nil {
			continue
		}
		s := view.Statement{Text: fmt.Sprintf("%s, against %s:", filepath.Base(inputs[i].File), filepath.Base(inputs[0].File))}
		for _, name := range order {
			if v, ok := against[i][name]; ok {
				s.Rows = append(s.Rows, []string{name, v.Text})
			}
		}
		if len(s.Rows) > 0 {
			found = append(found, s)
		}
	}
	for _, name := range order {
		if runs[name] < 2 {
			continue
		}
		row := table.Row{Name: name, Values: []table.Value{table.Text(name)}}
		for i := range inputs {
			var median table.Value
			if x, ok := medians[i][name]; ok {
				median = table.Seconds(x)
			}
			row.Values = append(row.Values, median)
			if against[i] != nil {
				row.Values = append(row.Values, table.Words{against[i][name]})
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) > 0 && len(found) == 0 {
		found = []view.Statement{{Text: fmt.Sprintf("%s side by side: see the table.", units.Things(len(inputs), "run"))}}
	}
	return t, found
}

// comparedWith returns the verdicts on a run's cells against those of the first, by the cells' titles there; nil if the
// two cannot be compared.
func comparedWith(first, in Input, columns column.List) map[string]table.Phrase {
	a, b := *first.Run, *in.Run // copies: the runs keep their own verdicts
	a.Cells, b.Cells = append([]result.Cell{}, a.Cells...), append([]result.Cell{}, b.Cells...)
	for _, run := range []*result.Run{&a, &b} {
		if run.Matrix == nil {
			return nil
		}
		design := *run.Matrix
		run.Matrix = &design
	}
	c, err := matrix.Compare(matrix.Side{File: first.File, Run: &a}, matrix.Side{File: in.File, Run: &b}, columns, nil, true)
	if err != nil {
		return nil
	}
	titles := map[string]string{}
	for i, title := range view.CellTitles(first.Run) {
		titles[first.Run.Cells[i].Name] = title
	}
	verdicts := map[string]table.Phrase{}
	for _, compared := range c.Cells {
		verdicts[titles[compared.A]] = table.Phrase{Text: compared.Words, Tone: table.ToneOf(compared.Verdict.Kind)}
	}
	return verdicts
}
