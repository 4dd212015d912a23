package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gorun/internal/experiment"
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

// verdicts returns the first table of a run: the verdict on each cell, or a summary of each series without cells.
func verdicts(run *result.Run, compared view.Compared) table {
	if len(run.Cells) == 0 {
		return seriesTable(compared.SeriesOf(run))
	}
	t := table{
		Name: "verdicts", Caption: "Each cell against the baseline",
		Head: headings("cell", "verdict", "#median", "#least", "#greatest", "#ratio", "#from", "#to", "#samples"),
	}
	own := compared.Heading != ""
	if own {
		t.Head = slices.Insert(t.Head, 2, heading{compared.Heading, true})
	}
	var figures []result.Figure // additional figures that are judged
	if run.Matrix != nil {
		figures = run.Matrix.Figures
	}
	for _, figure := range figures {
		t.Head = append(t.Head, heading{figure.Label, false}, heading{"ratio of " + figure.Label, true})
	}
	set := compared.SeriesOf(run)
	show := unitOf(run)
	for i, title := range view.CellTitles(run) {
		c := &run.Cells[i]
		row := []cell{words(title), verdictOf(run, i)}
		if median, ok := set.Series[i].Median(); own && ok {
			row = append(row, figured(median, units.Seconds))
		} else if own {
			row = append(row, cell{})
		}
		if c.Summary != nil {
			d := c.Summary.Seconds
			row = append(row, figured(d.Median, show), figured(d.Min, show), figured(d.Max, show))
		} else {
			row = append(row, cell{}, cell{}, cell{})
		}
		row = append(row, ratios(c.Verdict)...)
		if c.Summary != nil {
			row = append(row, counted(c.Summary.Samples))
		} else {
			row = append(row, counted(0))
		}
		for _, figure := range figures {
			v, judged := c.Verdicts[figure.Column]
			if !judged {
				row = append(row, cell{}, cell{})
				continue
			}
			row = append(row, cell{Text: v.String(), Class: kindClasses[v.Kind]}, ratios(&v)[0])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// contrasts returns the comparisons of two cells other than the baseline.
func contrasts(run *result.Run) table {
	t := table{
		Name: "contrasts", Caption: "Cells against others than the baseline, as declared before the first sample",
		Head: headings("cell", "against", "by", "verdict", "#ratio", "#from", "#to"),
	}
	if run.Matrix == nil {
		return t
	}
	for _, c := range run.Matrix.Contrasts {
		// A journal that another program wrote may name cells that it does not have.
		if min(c.A, c.B) < 0 || max(c.A, c.B) >= len(run.Cells) || c.Verdict == nil { // no sample yet
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
			if at >= 0 && at < len(run.Cells) {
				names = append(names, run.Cells[at].Name)
			}
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

// lines returns how to apply the settings of a command without gorun, the best one first.
func lines(run *result.Run) table {
	t := table{
		Name: "lines", Caption: "How to have each without gorun, the best first",
		Head: headings("cell", "taskset", "numactl", "systemd", "Kubernetes"),
	}
	if run.Matrix == nil {
		return t
	}
	for _, i := range run.Matrix.Ranking {
		if i < 0 || i >= len(run.Cells) || run.Cells[i].Lines == nil { // an untrusted journal
			continue
		}
		l := run.Cells[i].Lines
		t.Rows = append(t.Rows, []cell{
			words(run.Cells[i].Name), words(l.Taskset), words(l.Numactl), words(strings.Join(l.Systemd, "; ")), words(l.Kubernetes),
		})
	}
	return t
}

func unitOf(run *result.Run) func(x float64) string {
	var medians []float64
	for _, c := range run.Cells {
		if c.Summary != nil {
			medians = append(medians, c.Summary.Seconds.Median)
		}
	}
	return units.CommonUnit(medians)
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

// ratios returns a verdict's typical ratio and the ends of its interval.
func ratios(v *stats.Verdict) []cell {
	if v == nil || v.Typical.Ratio <= 0 || v.Kind == stats.Invalid {
		return []cell{{}, {}, {}}
	}
	show := func(x float64) string { return fmt.Sprintf("%.3f", x) }
	row := []cell{figured(v.Typical.Ratio, show), figured(v.Typical.Lo, show), figured(v.Typical.Hi, show)}
	if v.Typical.Lo <= 0 {
		row[1] = words(units.Unbounded)
	}
	if v.Typical.Hi >= math.MaxFloat64 {
		row[2] = words(units.Unbounded)
	}
	return row
}

// seriesTable summarises the series of a run without cells.
func seriesTable(set view.SeriesSet) table {
	t := table{
		Name: "summary", Caption: "What was measured: " + set.What,
		Head: headings("what", "#median", "#mean", "#least", "#greatest", "#99th percentile", "#samples"),
	}
	var all []float64
	for _, s := range set.Series {
		d, _ := s.Distribution()
		all = append(all, d.Median)
	}
	show := units.CommonUnit(all)
	for _, s := range set.Series {
		d, n := s.Distribution()
		row := []cell{words(s.Name), {}, {}, {}, {}, {}, counted(n)}
		if n > 0 {
			for i, x := range []float64{d.Median, d.Mean, d.Min, d.Max, d.P99} {
				row[1+i] = figured(x, show)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
