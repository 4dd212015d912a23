package command

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/shell"
	"gorun/internal/stats"
)

// linesBlock lists the ways to have a setting, each as it is to be typed; nothing where nothing is to be set.
func linesBlock(l *result.Lines, opts term.Options) string {
	block := ""
	line := func(name, text string) {
		if text != "" {
			block += term.Paragraph(fmt.Sprintf("  %-12s", name), text, opts.Columns())
		}
	}
	line("taskset", l.Taskset)
	line("numactl", l.Numactl)
	name := "systemd"
	for _, text := range l.Systemd {
		line(name, text)
		name = ""
	}
	line("Kubernetes", l.Kubernetes)
	return block
}

// userCommand is the command of the user's own that the cells of a run place.
func userCommand(run *result.Run) string {
	if len(run.Cells) == 0 || run.Cells[0].Lines == nil {
		return ""
	}
	cell := run.Cells[0]
	i := slices.Index(cell.Command, "--")
	if i < 0 {
		return ""
	}
	words := make([]string, 0, len(cell.Command))
	for _, word := range cell.Command[i+1:] {
		words = append(words, shell.Quote(word))
	}
	return strings.Join(words, " ")
}

// rankingBlock puts the cells in order, the best first, and says how to have the best one without gorun; nothing where
// the cells are not settings of a command.
func rankingBlock(run *result.Run, opts term.Options) string {
	at := func(i int) bool { return i >= 0 && i < len(run.Cells) } // a foreign file may name others
	ranking := slices.DeleteFunc(slices.Clone(run.Matrix.Ranking), func(i int) bool { return !at(i) })
	if len(ranking) == 0 || !at(run.Matrix.Baseline) || run.Cells[run.Matrix.Baseline].Lines == nil {
		return ""
	}
	baseline := &run.Cells[run.Matrix.Baseline]
	block := opts.Paint(term.Bold, "ranking") + "\n" + rankingGrid(run, ranking, opts)
	best := &run.Cells[ranking[0]]
	if best.Verdict == nil || best.Verdict.Kind != stats.Faster || best.Lines == nil {
		return block + "\n" +
			term.Paragraph(opts.Paint(term.Bold, "to use")+": ", "nothing is shown to be better than "+baseline.Name+
				": leave the command as it is", opts.Columns())
	}
	return block + "\n" +
		term.Paragraph(opts.Paint(term.Bold, "to use")+": ", best.Name+", which is "+best.Words, opts.Columns()) +
		linesBlock(best.Lines, opts)
}

// rankingGrid is a row a cell. Where there is no room for what tells cells apart, their names stand for it.
func rankingGrid(run *result.Run, ranking []int, opts term.Options) string {
	of := "factor of the time"
	if run.Matrix.Datum == result.DatumMetric {
		of = "factor of the metric"
	}
	labels, columns := view.CellLabels(run.Matrix, run.Cells)
	columns = slices.Concat([]term.Column{term.Right("")}, columns, []term.Column{term.Right(of), term.Left("interval")})
	named := []term.Column{term.Right(""), term.Left("cell"), term.Right("factor"), term.Left("interval")}
	var rows, names [][]string
	for place, i := range ranking {
		cell := &run.Cells[i]
		factor, interval := "1", "baseline"
		if v := cell.Verdict; v != nil {
			factor, interval = v.Factors()
		}
		number := fmt.Sprint(place + 1)
		rows = append(rows, slices.Concat([]string{number}, labels[i], []string{factor, interval}))
		name := term.Snip(cell.Name, max(1, opts.Columns()-36)) // the other columns take up to 35
		names = append(names, []string{number, name, factor, interval})
	}
	withCPUs := slices.Clone(rows)
	for n, i := range ranking {
		withCPUs[n] = append(slices.Clone(rows[n]), run.Cells[i].CPUs["cpus"].List)
	}
	switch withColumn := append(slices.Clone(columns), term.Left("CPUs")); {
	case term.GridWidth(withColumn, withCPUs) <= opts.Columns():
		return term.Grid(withColumn, withCPUs)
	case term.GridWidth(columns, rows) <= opts.Columns():
		return term.Grid(columns, rows)
	}
	return term.Grid(named, names)
}
