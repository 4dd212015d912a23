package report

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/table"
)

// contrasts returns the comparisons of two cells other than the baseline.
func contrasts(run *result.Run) table.Table {
	t := table.Table{Name: "contrasts", Title: "Cells against others than the baseline, as declared before the first sample"}
	t.Add("cell", "against", "by", table.VerdictTitle)
	if run.Matrix == nil {
		return t
	}
	for _, c := range run.Matrix.Contrasts {
		if c.Verdict == nil { // this gorun cannot judge the run
			continue
		}
		compared := func(figure string, v *stats.Verdict) {
			t.Rows = append(t.Rows, table.Row{Name: run.Cells[c.B].Name, Values: []table.Value{
				table.Text(run.Cells[c.B].Name), table.Text(run.Cells[c.A].Name), table.Text(figure),
				table.Words{{Text: v.String(), Tone: table.ToneOf(v.Kind)}},
			}})
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

// unsupported returns the rows that could not be measured, by reason.
func unsupported(run *result.Run, of experiment.View) table.Table {
	t := table.Table{Name: "unsupported", Title: "Rows that cannot be measured here"}
	t.Add("rows", "why")
	if of.Unsupported == nil {
		return t
	}
	rows := map[string][]string{}
	for name, why := range of.Unsupported(run) {
		rows[why] = append(rows[why], name)
	}
	for _, why := range slices.Sorted(maps.Keys(rows)) {
		t.Rows = append(t.Rows, table.Row{Values: []table.Value{table.Text(strings.Join(rows[why], " ")), table.Text(why)}})
	}
	return t
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
		Table("lines", "Each cell without gorun")
	for i, c := range cells {
		t.Rows[i].Name = c.Name
	}
	return t
}
