package view

import (
	"fmt"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
	"gorun/internal/stats"
)

// causes says, of each cell whose time differs from its baseline's, which part of the time holds the difference.
func causes(run *result.Run, names []string) []Statement {
	var rows [][]string
	for i, cell := range run.Cells {
		if cell.Why != nil && run.ClaimsTime(i) {
			rows = append(rows, []string{names[i], cause(cell.Why)})
		}
	}
	switch len(rows) {
	case 0:
		return nil
	case 1:
		return []Statement{{Text: "Why: " + rows[0][1]}}
	}
	return []Statement{{Text: "Why:", Rows: rows}}
}

// cause says which part of the time holds the difference.
func cause(w *result.Why) string {
	p := w.Part(w.Cause)
	if p == nil {
		return fmt.Sprintf("no part of the time is known to hold half of the difference, %s", w.Wall.Words())
	}
	text := fmt.Sprintf("%s %s, of a difference of %s", p.Label, p.Words(), w.Wall.Centre())
	for _, name := range w.ExplainedBy {
		driver := w.Part(name)
		text += fmt.Sprintf("; %s %s", driver.Label, driver.Words())
	}
	if w.Confirmed != nil {
		text += "; " + w.Confirmed.String()
	}
	return text
}

// whyNotes explain the parts of the time.
const (
	whyTicks = "In user mode and in the kernel are one part, running: the kernel tells them apart by ticks of up to 10 ms, and the " +
		"difference is smaller."
	whyOthers = "Of other threads and processes, only the CPU time is known: running, waiting and blocked are those of the first thread, and " +
		"add up to the wall time."
	whySteal     = "Blocked includes time that the hypervisor took, and a quota."
	whyNoPMU     = "Cycles, instructions, and misses of caches and TLBs are not counted: they would say why running takes longer."
	whyConfirmed = "The share that is taken away is of %s in addition, with an error of 5%% of its own."
	whyFamily    = "The intervals hold together, with 95%% confidence: %s, %s."
)

// WhyBlock shows where the differences of time are, if that was asked for.
func WhyBlock(run *result.Run, opts term.Options) string {
	if !opts.Why || run.Matrix == nil {
		return ""
	}
	var blocks []string
	names := CellNames(run)
	for i, cell := range run.Cells {
		if cell.Why != nil {
			blocks = append(blocks, term.Table(whyTable(names[i], names[run.Against(i)], cell.Why), opts))
		}
	}
	if len(blocks) == 0 {
		return term.Paragraph("", "--why: these samples have no account of the time, which only those of started programs have, one a sample", opts.Columns())
	}
	return strings.Join(blocks, "\n")
}

// whyTable has the differences of a cell: the wall time, the parts and what they leave, and what may explain them.
func whyTable(name, against string, w *result.Why) table.Table {
	t := table.Table{Title: fmt.Sprintf("Why: %s against %s", name, against)}
	t.Add("part", "baseline", "difference", "interval")
	row := func(p result.Part) {
		t.AddRow(table.Text(p.Label), table.Text(p.Before()), table.Text(p.Centre()), table.Text(p.Interval()))
	}
	row(w.Wall)
	for _, p := range w.Parts {
		switch p.Name {
		case result.WhyUser, result.WhyKernel:
			if !w.Split() {
				continue
			}
			p.Label = "  " + p.Label
		}
		row(p)
	}
	t.AddRow(table.Text("wall time without the parts"), table.Text(""), table.Text(result.Part{Unit: result.WhySeconds, Shift: stats.Shift{Typical: w.Gap}}.Centre()), table.Text(""))
	for _, p := range w.Drivers {
		row(p)
	}
	if c := w.Confirmed; c != nil && c.Share != nil {
		t.AddRow(table.Text("taken away by "+c.Candidate.String()), table.Text(""), table.Text(units.Digits(100*c.Share.Typical)+"%"), table.Text(c.Interval()))
		t.Notes = append(t.Notes, fmt.Sprintf(whyConfirmed, units.Things(c.Rounds, "round")))
	}
	t.Notes = append(t.Notes, fmt.Sprintf(whyFamily, units.Things(w.Comparisons, "comparison"), units.Things(w.Rounds, "round")))
	if !w.Split() {
		t.Notes = append(t.Notes, whyTicks)
	}
	t.Notes = append(t.Notes, whyOthers, whySteal, whyNoPMU)
	return t
}
