package command

import (
	"fmt"
	"strings"

	"gorun/internal/column"
	"gorun/internal/experiment"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// shown is the view of `gorun exec` runs.
var shown = experiment.View{
	Title: title, Blocks: blocks, Plan: planBlock,
	Options: []string{"command"},
	Answer:  answer, Placed: userCommand, Below: useBlock,
	Derived: failures, Found: "How often the commands failed",
}

// title returns the heading of `gorun exec`.
func title(run *result.Run, options view.Spec) (title string, parts []string) {
	for _, name := range options.Names() {
		if name != "command" {
			parts = append(parts, view.Option(name, options.Text(name)))
		}
	}
	return "gorun exec: " + strings.ReplaceAll(options.Text("command"), ",", " "), parts
}

// blocks returns the resources that the command used, and the quality of the sample.
func blocks(run *result.Run, _ view.Spec, opts term.Options) []string {
	return []string{figuresBlock(run, opts), view.SamplesBlock(run, opts)}
}

// figuresBlock lists the resources used by the command and all its descendants.
func figuresBlock(run *result.Run, opts term.Options) string {
	if len(run.Samples) == 0 {
		return ""
	}
	s := &run.Samples[0]
	v, ok := result.Typed[result.Exec](s)
	if !ok {
		return view.FiguresBlock(run.Samples, column.Times, opts) // from a foreign file
	}
	var rows []term.Judged
	row := func(name, value, more string) {
		rows = append(rows, term.Judged{Cells: []string{name, value}, Words: []term.Phrase{{Text: more}}})
	}
	used := ""
	if s.Seconds > 0 {
		used = units.Count(100*s.CPUSeconds()/s.Seconds) + "% of a CPU"
	}
	row("real", units.Seconds(s.Seconds), "")
	row("user", units.Seconds(s.UserSeconds), "")
	row("sys", units.Seconds(s.SystemSeconds), "")
	row("user + sys", units.Seconds(s.CPUSeconds()), used)
	for i, figure := range v.Metrics() {
		if *figure != nil {
			row(strings.ReplaceAll(metricColumn(i), "_", " "), units.Exact(**figure), "")
		}
	}
	if peak := v.Known(); peak != nil {
		row("memory, largest process", units.Bytes(*peak), "")
	} else {
		row("memory, largest process", units.Bytes(v.MaxRSSFloorBytes), "or less: it began as a copy of gorun")
	}
	sig := &s.Quality.Signals
	pair := func(name string, first *uint64, firstName string, second *uint64, secondName string) {
		if first != nil && second != nil {
			row(name, fmt.Sprint(*first+*second), fmt.Sprintf("%d %s, %d %s", *first, firstName, *second, secondName))
		}
	}
	pair("page faults", sig.MinorFaults, "minor", sig.MajorFaults, "major (read from disk)")
	pair("context switches", sig.VoluntarySwitches, "voluntary", sig.InvoluntarySwitches, "involuntary")
	if m := v.Migrations; m != nil {
		more := fmt.Sprintf("%d same-core, %d same-llc, %d same-node, %d cross-node", m.SameCore, m.SameLLC, m.SameNode, m.CrossNode)
		if m.Lost > 0 {
			more += fmt.Sprintf("; too low, records lost: %d", m.Lost)
		}
		row("migrations", fmt.Sprint(m.Total), more)
	}
	if d := v.Dedicated; d != nil {
		row(fmt.Sprintf("moved off CPU %d", d.CPU), fmt.Sprint(d.Threads), movedWords(d))
		for _, l := range d.Left {
			row(fmt.Sprintf("left on CPU %d", d.CPU), fmt.Sprint(l.Count), leftOnWords(l))
		}
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
	return term.JudgedGrid([]term.Column{term.Left(""), term.Right("")}, "", rows, opts)
}

// planBlock shows how to get a setting without gorun.
func planBlock(plan *result.Plan, _ view.Spec) string {
	block := ""
	if plan.Lines != nil {
		block = linesBlock(plan.Lines, term.Options{})
	}
	if d := plan.Dedicated; d != nil {
		block += fmt.Sprintf("\nto be moved off CPU %d: %s\n", d.CPU, movedWords(d))
		for _, l := range d.Left {
			names := ""
			if len(l.Names) > 0 {
				names = ": " + strings.Join(l.Names, ", ")
			}
			block += term.Paragraph("  left: ", leftOnWords(l)+names, term.Options{}.Columns())
		}
	}
	return block
}
