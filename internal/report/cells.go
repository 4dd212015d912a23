package report

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"

	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/table"
)

// contrasts returns the comparisons of two cells other than the baseline.
func contrasts(run *result.Run) table.Table {
	t := table.Table{Name: "contrasts", Title: "Cells against others than the baseline, as declared before the first sample"}
	t.Add("cell", "against", "by", "ratio", "from", "to", "verdict")
	if run.Matrix == nil {
		return t
	}
	for _, c := range run.Matrix.Contrasts {
		if c.Verdict == nil { // this gorun cannot judge the run
			continue
		}
		compared := func(figure string, v *stats.Verdict) {
			row := []table.Value{table.Text(run.Cells[c.B].Name), table.Text(run.Cells[c.A].Name), table.Text(figure)}
			row = append(append(row, ratios(v)...), table.Words{{Text: v.String(), Tone: table.ToneOf(v.Kind)}})
			t.Rows = append(t.Rows, table.Row{Name: run.Cells[c.B].Name, Values: row})
		}
		compared(cmp.Or(run.Matrix.Datum, "wall time"), c.Verdict)
		for _, figure := range run.Matrix.Figures {
			if v, judged := c.Verdicts[figure.Column]; judged {
				compared(figure.Label, &v)
			}
		}
	}
	return t
}

// ratios returns a verdict's typical ratio and the ends of its interval, which may not be bounded yet.
func ratios(v *stats.Verdict) []table.Value {
	if v.Typical.Ratio <= 0 || v.Kind == stats.Invalid {
		return make([]table.Value, 3)
	}
	row := []table.Value{table.Number{X: v.Typical.Ratio}, table.Number{X: v.Typical.Lo}, table.Number{X: v.Typical.Hi}}
	if v.Typical.Lo <= 0 {
		row[1] = nil
	}
	if v.Typical.Hi >= math.MaxFloat64 {
		row[2] = nil
	}
	return row
}

// lines returns how to apply the settings of a command without gorun.
func lines(run *result.Run) table.Table {
	cells := slices.DeleteFunc(slices.Clone(run.Cells), func(c result.Cell) bool { return c.Lines == nil || reflect.ValueOf(*c.Lines).IsZero() })
	text := func(of func(l *result.Lines) string) func(c result.Cell) table.Value {
		return func(c result.Cell) table.Value { return table.Text(of(c.Lines)) }
	}
	t := table.Of(cells).
		With("cell", func(c result.Cell) table.Value { return table.Text(c.Name) }).
		With("taskset", text(func(l *result.Lines) string { return l.Taskset })).
		With("numactl", text(func(l *result.Lines) string { return l.Numactl })).
		With("systemd", text(func(l *result.Lines) string { return strings.Join(l.Systemd, "; ") })).
		With("Kubernetes", text(func(l *result.Lines) string { return l.Kubernetes })).
		Table("", "")
	t.Name, t.Title = "lines", "Each cell without gorun"
	for i, c := range cells {
		t.Rows[i].Name = c.Name
	}
	return t
}
