package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// Comparison is runs side by side, as a document. As JSON it is itself.
type Comparison struct{ *result.Comparison }

// Page implements document.Document.
func (c Comparison) Page(verbose bool) view.Page {
	of := c.Comparison
	page := view.Page{Tables: []table.Table{comparedTable(of, verbose), unmatchedTable(of), differencesTable(of), originsTable(of)}}
	var few *result.Warning
	for _, w := range of.Warnings {
		if w.Code == result.FewRuns {
			few = &w
			page.Copied = func(opts term.Options) string { return opts.Paint(term.Bold, "next") + ": " + w.Hint + "\n" }
		} else {
			page.Warnings = append(page.Warnings, w)
		}
	}
	page.Answer, page.Warnings = comparisonAnswer(of, few), result.OneEach(page.Warnings)
	return page
}

// comparisonAnswer says what B is against A, and what more runs would decide if there are too few.
func comparisonAnswer(c *result.Comparison, few *result.Warning) []view.Statement {
	var claims []view.Claim
	for _, cell := range c.Cells {
		claims = append(claims, view.Claim{Name: cell.A, Setting: "B", Figure: cell.Metric, Verdict: cell.Verdict})
	}
	statements := view.Judgements(claims, "A")
	if few != nil {
		at := 0
		if slices.ContainsFunc(c.Cells, func(cell result.ComparedCell) bool { return cell.Verdict.Kind != stats.CantTell }) {
			at = len(statements)
		}
		statements = slices.Insert(statements, at, view.Statement{Text: few.Message})
	}
	statements = append(statements, gateStatement(c.Gate)...)
	if c.Forced {
		statements = append(statements, view.Statement{Text: "Forced, although not alike: " + view.Names(c.Unmeant)})
	}
	return append(statements, view.Statement{Text: fmt.Sprintf("A is %s, and B is %s, which is compared with it", c.A.File, c.B.File)})
}

// mostOfFile is how much of a file's name the table of the runs quotes, in columns. The answer has it in full.
const mostOfFile = 24

// originsTable says which runs are compared, and where they ran.
func originsTable(c *result.Comparison) table.Table {
	t := table.Table{Name: "runs", Title: "gorun compare " + c.Experiment + ": B against A"}
	t.Add("run", "file", "started", "samples", "on")
	machine := func(of result.Origin) string { return Machine(&result.Run{Host: of.Host, Tool: of.Tool}) }
	add := func(name string, of result.Origin) {
		words := table.Phrases{{Text: machine(of)}}
		if len(t.Rows) > 0 && words[0].Text == machine(c.A) {
			words[0].Text = "the same"
		}
		t.AddRow(
			table.Text(name), table.Text(term.Snip(of.File, mostOfFile)), table.Text(of.Started), table.Count(of.Samples), words,
		)
	}
	add("A", c.A)
	add("B", c.B)
	for i := range min(len(c.MoreA), len(c.MoreB)) {
		add(fmt.Sprintf("A%d", i+2), c.MoreA[i])
		add(fmt.Sprintf("B%d", i+2), c.MoreB[i])
	}
	return t
}

// differencesTable has the conditions that the runs do not share.
func differencesTable(c *result.Comparison) table.Table {
	t := table.Table{Name: "differences", Title: "Not the same in both"}
	t.Add("", "")
	for _, d := range c.Differences {
		t.AddRow(
			table.Text(d.What), table.Phrases{{Text: fmt.Sprintf("%s in A, %s in B", cmp.Or(d.A, "nothing"), cmp.Or(d.B, "nothing"))}},
		)
	}
	return t
}

// comparedTable is a row a cell, with what is said of B against A.
func comparedTable(c *result.Comparison, verbose bool) table.Table {
	t := table.Table{Name: "compared", Columns: []table.Column{{Title: "cell", Label: true}, {Title: "A"}, {Title: "B"}, {Title: "B against A"}}}
	for _, cell := range c.Cells {
		unit := column.Seconds
		switch {
		case cell.By != nil:
			unit = column.Printed(cell.By.Label)
		case cell.Metric != "":
			unit = column.Printed(c.Units[result.MetricColumn])
		}
		t.Rows = append(t.Rows, table.Row{Name: cell.A, Values: []table.Value{
			table.Text(cell.A),
			table.Number{X: cell.SecondsA.Median, Unit: unit},
			table.Number{X: cell.SecondsB.Median, Unit: unit},
			comparedWords(cell, verbose),
		}})
	}
	return t
}

// comparedWords are what is said of a cell: the verdict, that on its ratio to the baseline, what else it is in B, and
// what the runs said of it by themselves; undecided figures and the last are for verbose. The verdict of a forced comparison begins with
// what was forced.
func comparedWords(cell result.ComparedCell, verbose bool) (words table.Phrases) {
	add := func(text string, kind stats.Kind) {
		words = append(words, table.Phrase{Text: text, Tone: table.ToneOf(kind)})
	}
	add(cell.Words, cell.Verdict.Kind)
	if v := cell.Relative; v != nil {
		add("relative to the baseline: "+v.String(), v.Kind)
	}
	for _, figure := range cell.Figures {
		if kind := figure.Verdict.Kind; verbose || kind != stats.CantTell && kind != cell.Verdict.Kind {
			add(figure.Label+": "+figure.Words, kind)
			if v := figure.Relative; v != nil {
				add(figure.Label+", relative to the baseline: "+v.String(), v.Kind)
			}
		}
	}
	if verbose && cell.VerdictA != cell.VerdictB {
		add(fmt.Sprintf("A's own verdict: %s; B's: %s", cmp.Or(cell.VerdictA, "none"), cmp.Or(cell.VerdictB, "none")), "")
	}
	if cell.B != cell.A {
		text := "in B: " + cell.B
		if cell.Relation != "" {
			text += " (" + cell.Relation + " in both)"
		}
		add(text, "")
	}
	return words
}

// unmatchedTable has the cells that only one run has.
func unmatchedTable(c *result.Comparison) table.Table {
	t := table.Table{Name: "unmatched", Title: "Cells of one run alone"}
	t.Add("run", "cells")
	for _, side := range [...]struct {
		run   string
		cells []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(side.cells) > 0 {
			words := table.Phrases{{Text: strings.Join(side.cells, ", ")}}
			t.AddRow(table.Text(side.run), words)
		}
	}
	return t
}
