package view

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/stats"
)

// Causes says, of each cell that differs from its baseline, which part of the time holds the difference, or what else differs.
func Causes(run *result.Run, name func(cell int) string) []Statement {
	var rows [][]string
	for i := range run.Cells {
		if text := Cause(run, i); text != "" {
			rows = append(rows, []string{name(i), text})
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

// Cause says which part of the time holds the difference of a cell, or what else differs; "": it is not known, or no difference is claimed.
func Cause(run *result.Run, cell int) string {
	w, byTime := run.Cells[cell].Why, run.ByTime(cell)
	if w == nil || run.Claims(cell) == 0 {
		return ""
	}
	of := "a difference of " + w.Wall.Centre()
	if !byTime {
		of += " in the time of a sample"
	}
	switch p := w.Part(w.Cause); {
	case p != nil:
		text := p.Label + " " + p.Words()
		if len(p.Of) > 0 {
			var parts []string
			for _, part := range w.Shared(p) {
				parts = append(parts, part.Label+" "+part.Centre())
			}
			text += ": " + strings.Join(parts, " and ")
		}
		text += ", of " + of + named(w, w.ExplainedBy)
		if w.Confirmed != nil {
			text += "; " + w.Confirmed.String()
		}
		return text
	case len(w.Along) > 0:
		return "along with it, " + strings.TrimPrefix(named(w, w.Along), "; ")
	case !byTime || len(w.Parts) == 0:
		return ""
	}
	return fmt.Sprintf("no part of the time is known to hold half of the difference, %s", w.Wall.Words())
}

// named says the differences with these names.
func named(w *result.Why, names []string) (text string) {
	for _, name := range names {
		p := w.Part(name)
		text += fmt.Sprintf("; %s %s", p.Label, p.Words())
	}
	return text
}

// whyNotes explain the parts of the time.
const (
	whyTicks = "In user mode and in the kernel are one part, the CPU time: the kernel tells them apart by ticks of up to 10 ms, and the " +
		"difference is smaller."
	whyOthers = "Running, waiting and blocked are those of one thread, and add up to the wall time: a program's first thread, of copies that of " +
		"the one that ends last, and of gorun's own work the busiest thread. Of other threads and processes, only the CPU time is known."
	whyWaited    = "Of these, how long they waited is known up to the time when gorun last looked at each of them."
	whySteal     = "Blocked includes time that the hypervisor took and, on older kernels, a quota."
	whyFamily    = "The intervals of all parts hold together, with 95%% confidence: %s."
	whyConfirmed = "The share that is taken away is of %s in addition, with an error of 5%% of its own."
)

// WhyTables show the differences of the cells for which that was asked.
func WhyTables(run *result.Run) (tables []table.Table) {
	if run.Matrix == nil {
		return nil
	}
	names := CellNames(run)
	of, parts, split, looked := &result.Why{}, false, true, false
	for i, cell := range run.Cells {
		if cell.Why != nil && cell.Why.Asked {
			tables = append(tables, whyTable(names[i], names[run.Against(i)], cell.Why))
			of, parts, split = cell.Why, parts || len(cell.Why.Parts) > 0, split && cell.Why.Split()
			looked = looked || cell.Why.Part(result.WhyOthersWaiting) != nil
		}
	}
	if tables == nil {
		return nil
	}
	notes := []string{fmt.Sprintf(whyFamily, units.Things(of.Comparisons, "comparison"))}
	if parts && !split {
		notes = append(notes, whyTicks)
	}
	if parts {
		notes = append(notes, whyOthers)
	}
	if looked {
		notes = append(notes, whyWaited)
	}
	if parts {
		notes = append(notes, whySteal)
	}
	if missing := missingWords(of); missing != "" {
		notes = append(notes, missing)
	}
	last := &tables[len(tables)-1]
	last.Notes = append(last.Notes, notes...)
	return tables
}

// missingWords says which drivers were not counted, why, and what each would have said; "": none is missing.
func missingWords(w *result.Why) string {
	var reasons []string
	for _, m := range w.Missing {
		if !slices.Contains(reasons, m.Why) {
			reasons = append(reasons, m.Why)
		}
	}
	text := ""
	for _, reason := range reasons {
		var names []string
		for _, m := range w.Missing {
			if m.Why == reason {
				name := fmt.Sprintf("%s (%s)", m.Label, m.Answers)
				if m.Rounds < w.Rounds {
					name += fmt.Sprintf(" in %d of %d rounds", m.Rounds, w.Rounds)
				}
				names = append(names, name)
			}
		}
		if text += "Not counted: " + Names(names); reason != "" {
			text += ": " + reason
		}
		text += ". "
	}
	return strings.TrimSpace(text)
}

// whyTable has the differences of a cell: the wall time, the parts and what they leave, and what may explain them.
func whyTable(name, against string, w *result.Why) table.Table {
	t := table.Table{Name: "why", Title: fmt.Sprintf("Why: %s against %s, in %s", name, against, units.Things(w.Rounds, "round"))}
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
		if p.Name == result.WhyBlocked {
			gap := result.Part{Unit: result.WhySeconds, Shift: stats.Shift{Typical: w.Gap}}
			t.AddRow(table.Text("left by these three"), table.Text(""), table.Text(gap.Centre()), table.Text(""))
		}
	}
	for _, p := range w.Drivers {
		row(p)
	}
	if c := w.Confirmed; c != nil && c.Share != nil {
		t.AddRow(table.Text("taken away by "+c.Candidate.String()), table.Text(""), table.Text(units.Digits(100*c.Share.Typical)+"%"), table.Text(c.Interval()))
		t.Notes = []string{fmt.Sprintf(whyConfirmed, units.Things(c.Rounds, "round"))}
	}
	return t
}
