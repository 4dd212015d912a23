package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"gorun/internal/result"
	"gorun/internal/stats"
)

// execTitle is the heading of `gorun exec`.
func execTitle(run *result.Run, options spec) (title string, parts []string) {
	for _, name := range options.names() {
		if name != "command" {
			parts = append(parts, optionPart(name, options.text(name)))
		}
	}
	return "gorun exec: " + strings.ReplaceAll(options.text("command"), ",", " "), parts
}

// execBlocks are what the command used, and how good the sample is.
func execBlocks(run *result.Run, _ spec, opts Options) []string {
	return []string{execFigures(run, opts), samplesBlock(run, opts)}
}

// execFigures lists what the command and all its descendants used.
func execFigures(run *result.Run, opts Options) string {
	if len(run.Samples) == 0 {
		return ""
	}
	s := &run.Samples[0]
	v, ok := result.Typed[result.Exec](s)
	if !ok {
		return figuresBlock(run.Samples) // a foreign file's
	}
	var rows []judged
	row := func(name, value, more string) {
		rows = append(rows, judged{cells: []string{name, value}, words: []remark{{text: more}}})
	}
	used := ""
	if s.Seconds > 0 {
		used = count(100*s.CPUSeconds()/s.Seconds) + "% of a CPU"
	}
	row("real", seconds(s.Seconds), "")
	row("user", seconds(s.UserSeconds), used)
	row("sys", seconds(s.SystemSeconds), "")
	if v.Metric != nil {
		row("metric", exact(*v.Metric), "")
	}
	bound := ""
	if v.MaxRSSBytes <= v.MaxRSSFloorBytes {
		bound = "or less: it began as a copy of gorun"
	}
	row("memory, largest process", size(v.MaxRSSBytes), bound)
	sig := &s.Quality.Signals
	pair := func(name string, first *uint64, firstName string, second *uint64, secondName string) {
		if first != nil && second != nil {
			row(name, fmt.Sprint(*first+*second), fmt.Sprintf("%d %s, %d %s", *first, firstName, *second, secondName))
		}
	}
	pair("page faults", sig.MinorFaults, "minor", sig.MajorFaults, "major (read from disk)")
	pair("context switches", sig.VoluntarySwitches, "voluntary", sig.InvoluntarySwitches, "involuntary")
	if m := v.Migrations; m != nil {
		row("migrations", fmt.Sprint(m.Total), fmt.Sprintf("%d same-core, %d same-llc, %d same-node, %d cross-node", m.SameCore,
			m.SameLLC, m.SameNode, m.CrossNode))
	}
	ended := ""
	switch {
	case v.TimedOut:
		ended = "it took longer than the timeout"
	case v.Signal != 0:
		ended = fmt.Sprintf("ended by signal %d", v.Signal)
	}
	row("exit code", fmt.Sprint(v.ExitCode), ended)
	if v.Killed > 0 {
		row("left behind", fmt.Sprint(v.Killed), "processes, which were killed")
	}
	return judgedGrid([]column{left(""), right("")}, "", rows, opts)
}

// execPlan is how to have a setting without gorun.
func execPlan(plan *result.Plan, _ spec) string {
	if plan.Lines == nil {
		return ""
	}
	return linesBlock(plan.Lines, Options{})
}

// linesBlock lists the ways to have a setting, each as it is to be typed; nothing where nothing is to be set.
func linesBlock(l *result.Lines, opts Options) string {
	block := ""
	line := func(name, text string) {
		if text != "" {
			block += paragraph(fmt.Sprintf("  %-12s", name), text, opts.columns())
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

// userCommand is the command of the user's own that a cell runs.
func userCommand(cell result.Cell) string {
	i := slices.Index(cell.Command, "--")
	if i < 0 {
		return ""
	}
	words := make([]string, 0, len(cell.Command))
	for _, word := range cell.Command[i+1:] {
		words = append(words, shellWord(word))
	}
	return strings.Join(words, " ")
}

// rankingBlock puts the cells in order, the best first, and says how to have the best one without gorun; nothing where
// the cells are not settings of a command.
func rankingBlock(run *result.Run, opts Options) string {
	at := func(i int) bool { return i >= 0 && i < len(run.Cells) } // a foreign file may name others
	ranking := slices.DeleteFunc(slices.Clone(run.Matrix.Ranking), func(i int) bool { return !at(i) })
	if len(ranking) == 0 || !at(run.Matrix.Baseline) || run.Cells[run.Matrix.Baseline].Lines == nil {
		return ""
	}
	baseline := &run.Cells[run.Matrix.Baseline]
	block := opts.paint(bold, "ranking") + "\n" + rankingGrid(run, ranking, opts)
	best := &run.Cells[ranking[0]]
	if best.Verdict == nil || best.Verdict.Kind != stats.Faster || best.Lines == nil {
		return block + "\n" + paragraph(opts.paint(bold, "to use")+": ", "nothing is shown to be better than "+baseline.Name+
			": leave the command as it is", opts.columns())
	}
	return block + "\n" + paragraph(opts.paint(bold, "to use")+": ", best.Name+", which is "+best.Words, opts.columns()) +
		linesBlock(best.Lines, opts)
}

// rankingGrid is a row a cell. Where there is no room for what tells cells apart, their names stand for it.
func rankingGrid(run *result.Run, ranking []int, opts Options) string {
	of := "factor of the time"
	if run.Matrix.Datum == result.DatumMetric {
		of = "factor of the metric"
	}
	labels, columns := cellLabels(run.Matrix, run.Cells)
	columns = slices.Concat([]column{right("")}, columns, []column{right(of), left("interval")})
	named := []column{right(""), left("cell"), right("factor"), left("interval")}
	var rows, names [][]string
	for place, i := range ranking {
		cell := &run.Cells[i]
		factor, interval := "1", "baseline"
		if v := cell.Verdict; v != nil {
			factor, interval = v.Factors()
		}
		number := fmt.Sprint(place + 1)
		rows = append(rows, slices.Concat([]string{number}, labels[i], []string{factor, interval}))
		name := text.Snip(cell.Name, max(1, opts.columns()-36), "…") // the other columns take up to 35
		names = append(names, []string{number, name, factor, interval})
	}
	withCPUs := slices.Clone(rows)
	for n, i := range ranking {
		withCPUs[n] = append(slices.Clone(rows[n]), run.Cells[i].CPUs["cpus"].List)
	}
	switch withColumn := append(slices.Clone(columns), left("CPUs")); {
	case gridWidth(withColumn, withCPUs) <= opts.columns():
		return grid(withColumn, withCPUs)
	case gridWidth(columns, rows) <= opts.columns():
		return grid(columns, rows)
	}
	return grid(named, names)
}
