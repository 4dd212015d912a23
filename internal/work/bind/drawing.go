package bind

import (
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
)

// drawTrials draws the time of each process's sum in each trial, unbound above bound. It returns false if no sample is
// good.
func drawTrials(run *result.Run) (chart.Drawing, bool) {
	h, legend, ok := heat(run)
	if !ok {
		return chart.Drawing{}, false
	}
	drawn, height, ok := chart.DrawMaps(sideOf(h, "A", "A, unbound"), sideOf(h, "B", "B, bound"))
	if !ok {
		return chart.Drawing{}, false
	}
	f := chart.Drawing{
		Title:       "Time of each sum, in ms, by process and trial",
		Description: "Rows are processes, columns are trials. " + legend,
		Table:       table.Table{Name: "trials", Title: "Times by process and trial"},
	}
	f.Table.Add("process")
	for _, c := range h.Columns {
		f.Table.Add(c.Group + c.Name)
	}
	for i, row := range h.Rows {
		values := []table.Value{table.Text(row.Name)}
		for _, ms := range h.At[i] {
			values = append(values, table.Seconds(ms/1e3))
		}
		f.Table.AddRow(values...)
	}
	f.SVG = chart.Frame(f, chart.CPUModel(run.Host), height, drawn)
	return f, true
}

// sideOf returns the part of a map with the columns of a group.
func sideOf(h *chart.Heat, group, title string) *chart.Heat {
	side := &chart.Heat{Title: title, Unit: h.Unit, Rows: h.Rows, At: make([][]float64, len(h.Rows))}
	for j, c := range h.Columns {
		if c.Group == group {
			side.Columns = append(side.Columns, chart.Side{Name: c.Name})
			for i := range h.Rows {
				side.At[i] = append(side.At[i], h.At[i][j])
			}
		}
	}
	side.Label = func(i, j int) string { return side.Rows[i].Name + " in " + group + side.Columns[j].Name }
	return side
}
