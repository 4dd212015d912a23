package report

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"gorun/internal/column"
	"gorun/internal/experiment"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/units"
)

// kindClasses are the classes of verdicts in the style sheet.
var kindClasses = map[stats.Kind]string{
	stats.Slower: "slower", stats.Faster: "faster", stats.Same: "same", stats.CantTell: "open", stats.Mixed: "open",
	stats.Confounded: "open", stats.Invalid: "invalid",
}

// verdicts returns the first table of a run: the verdict on each cell, or a summary of each series without cells. Ratios are in the
// table of their drawing: this one is read on a telephone too.
func verdicts(run *result.Run, compared view.Compared, scales scales) table {
	set := compared.SeriesOf(run)
	if len(run.Cells) == 0 {
		return seriesTable(set, scales.of(set.What))
	}
	quantity, show := judgedTime(run, set), scales.of(judgedTime(run, set)).Text
	of := func(s *result.Summary) *result.Distribution { return &s.Seconds }
	if run.Matrix != nil && run.Matrix.Datum == result.DatumMetric {
		quantity, show = run.MetricName(), units.Digits
		of = func(s *result.Summary) *result.Distribution { return s.Metric }
	}
	t := table{
		Name: "verdicts", Caption: "Each cell against the baseline, by " + quantity, Cells: true,
		Head: headings("cell", "verdict", "#median", "#least", "#greatest", "#samples"),
	}
	own := compared.Heading != ""
	if own {
		t.Head = slices.Insert(t.Head, 2, heading{compared.Heading, true})
	}
	var figures []result.Figure // additional figures that are judged
	if run.Matrix != nil {
		figures = run.Matrix.Figures
	}
	for i, title := range view.CellTitles(run) {
		c := &run.Cells[i]
		verdict := verdictOf(run, i)
		for _, figure := range figures {
			if v, judged := c.Verdicts[figure.Column]; judged {
				verdict.More = append(verdict.More, cell{Text: view.FigureWords(figure, v, term.Options{}).Text, Class: kindClasses[v.Kind]})
			}
		}
		row := []cell{words(title), verdict}
		if median, ok := set.Series[i].Median(); own && ok {
			row = append(row, figured(median, scales.of(set.What).Text))
		} else if own {
			row = append(row, cell{})
		}
		spread := []cell{{}, {}, {}}
		samples := 0
		if c.Summary != nil {
			samples = c.Summary.Samples
			if d := of(c.Summary); d != nil && samples > 0 {
				spread = []cell{figured(d.Median, show), figured(d.Min, show), figured(d.Max, show)}
			}
		}
		t.Rows = append(t.Rows, append(append(row, spread...), counted(samples)))
	}
	return t
}

// own returns the figures of a benchmark's own units, which have a column for each unit.
func own(run *result.Run, columns column.List) table {
	t := table{
		Name: "own", Caption: "Figures that the benchmarks report", Cells: true,
		Head: headings("cell", "figure", "#median", "#least", "#greatest", "#samples"),
	}
	of := make([][]result.Sample, len(run.Cells))
	for _, s := range result.Good(run.Samples) {
		if cell := view.CellOf(run, &s); cell != nil {
			of[s.Cell] = append(of[s.Cell], s)
		}
	}
	for i, title := range view.CellTitles(run) {
		for _, c := range columns {
			for _, c := range c.Keys(of[i]) {
				var figures []float64
				for k := range of[i] {
					if x, known := c.Number(&of[i][k]); known && c.Bench != "" {
						figures = append(figures, x)
					}
				}
				if spread, some := view.SpreadAmong(figures); some {
					t.Rows = append(t.Rows, []cell{
						words(title), words(c.Bench), figured(spread.Median, units.Digits), figured(spread.Least, units.Digits),
						figured(spread.Greatest, units.Digits), counted(len(figures)),
					})
				}
			}
		}
	}
	return t
}

// contrasts returns the comparisons of two cells other than the baseline.
func contrasts(run *result.Run) table {
	t := table{
		Name: "contrasts", Cells: true, Caption: "Cells against others than the baseline, as declared before the first sample",
		Head: headings("cell", "against", "by", "verdict", "#ratio", "#from", "#to"),
	}
	if run.Matrix == nil {
		return t
	}
	for _, c := range run.Matrix.Contrasts {
		if c.Verdict == nil { // this gorun cannot judge the run
			continue
		}
		compared := func(figure string, v *stats.Verdict) {
			row := []cell{
				words(run.Cells[c.B].Name), words(run.Cells[c.A].Name), words(figure),
				{Text: v.String(), Class: kindClasses[v.Kind]},
			}
			t.Rows = append(t.Rows, append(row, ratios(v)...))
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

// order returns the order of the cells, as far as it is certain.
func order(run *result.Run) table {
	t := table{
		Name: "order", Caption: "Cells by the typical ratio, the best first: each is better than those of the rows below its own",
		Head: headings("#place", "cells"),
	}
	if run.Matrix == nil {
		return t
	}
	for i, group := range run.Matrix.Groups {
		var names []string
		for _, at := range group {
			names = append(names, run.Cells[at].Name)
		}
		t.Rows = append(t.Rows, []cell{counted(i + 1), words(strings.Join(names, ", "))})
	}
	return t
}

// unsupported returns the rows that could not be measured, by reason.
func unsupported(run *result.Run, of experiment.View) table {
	t := table{Name: "unsupported", Caption: "Rows that cannot be measured here", Head: headings("rows", "why")}
	if of.Unsupported == nil {
		return t
	}
	for name, why := range of.Unsupported(run) {
		at := slices.IndexFunc(t.Rows, func(line []cell) bool { return line[1].Text == why })
		if at < 0 {
			t.Rows = append(t.Rows, []cell{words(name), words(why)})
			continue
		}
		t.Rows[at][0].Text += " " + name
	}
	return t
}

// lines returns how to apply the settings of a command without gorun.
func lines(run *result.Run) table {
	t := table{
		Name: "lines", Cells: true, Caption: "Each cell without gorun",
		Head: headings("cell", "taskset", "numactl", "systemd", "Kubernetes"),
	}
	for _, c := range run.Cells {
		l := c.Lines
		if l == nil || reflect.ValueOf(*l).IsZero() {
			continue
		}
		t.Rows = append(t.Rows, []cell{
			words(c.Name), words(l.Taskset), words(l.Numactl), words(strings.Join(l.Systemd, "; ")), words(l.Kubernetes),
		})
	}
	return t
}

// verdictOf returns the verdict on a cell in words.
func verdictOf(run *result.Run, i int) cell {
	c := &run.Cells[i]
	switch {
	case run.IsBaseline(i) && len(run.Cells) > 1:
		return words("the baseline")
	case c.Verdict == nil:
		return words("no verdict")
	case c.Words != "":
		return cell{Text: c.Words, Class: kindClasses[c.Verdict.Kind]}
	}
	return cell{Text: string(c.Verdict.Kind), Class: kindClasses[c.Verdict.Kind]}
}

// ratios returns a verdict's typical ratio and the ends of its interval, which may not be bounded yet.
func ratios(v *stats.Verdict) []cell {
	if v == nil || v.Typical.Ratio <= 0 || v.Kind == stats.Invalid {
		return []cell{{}, {}, {}}
	}
	show := func(x float64) string { return fmt.Sprintf("%.3f", x) }
	row := []cell{figured(v.Typical.Ratio, show), figured(v.Typical.Lo, show), figured(v.Typical.Hi, show)}
	if v.Typical.Lo <= 0 {
		row[1] = words("–")
	}
	if v.Typical.Hi >= math.MaxFloat64 {
		row[2] = words("–")
	}
	return row
}

// leastForP99 is the number of samples from which on their 99th percentile is not their greatest.
const leastForP99 = 100

// seriesTable summarises the series of a run without cells. Single samples have no range, and few no percentile.
func seriesTable(set view.SeriesSet, scale units.Scale) table {
	most := 0
	for _, s := range set.Series {
		_, n := s.Distribution()
		most = max(most, n)
	}
	t := table{Name: "summary", Caption: "What was measured: " + set.What, Cells: true, Head: headings("what", "#median")}
	if most > 1 {
		t.Head = append(t.Head, headings("#mean", "#least", "#greatest")...)
	}
	if most >= leastForP99 {
		t.Head = append(t.Head, headings("#99th percentile")...)
	}
	t.Head = append(t.Head, headings("#samples")...)
	for _, s := range set.Series {
		d, n := s.Distribution()
		row := make([]cell, len(t.Head))
		row[0], row[len(row)-1] = words(s.Name), counted(n)
		if n > 0 {
			of := []float64{d.Median, d.Mean, d.Min, d.Max, d.P99}
			if n < leastForP99 {
				of = of[:4]
			}
			for i, x := range of[:min(len(of), len(row)-2)] {
				row[1+i] = figured(x, scale.Text)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
