package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/stats"
)

// Search says which cell a search found, or why it found none.
func Search(run *result.Run) []Statement {
	found := run.Matrix.Search
	last := found.Stages[len(found.Stages)-1]
	good, bad := run.Cells[last.Good].Name, run.Cells[last.Bad].Name
	claim := fmt.Sprintf("%s against %s", last.FromGood.Brief(), good)
	say := func(format string, args ...any) []Statement { return []Statement{{Text: fmt.Sprintf(format, args...)}} }
	reason := found.Skipped[last.Good]
	if _, skipped := found.Skipped[last.Bad]; skipped {
		reason = found.Skipped[last.Bad]
	}
	_, named := found.Named()
	switch {
	case named:
		return append(say("%s made %s %s, the commit before it", described(run, last.Bad), judgedAs(run), claim),
			say("The builds differ, by the code or by its layout in memory (gorun help bisect)")...)
	case found.Confirmed():
		return append(say("%s made %s %s", capital(left(run)), judgedAs(run), claim), say("What lies between %s and %s could not be measured", good, bad)...)
	case last.Goes == stats.Skips && last.Middle == nil && !last.Last:
		return say("Nothing is compared: %s", reason)
	case last.Goes == stats.Skips:
		return append(say("Undecided: the search leads to %s", left(run)), say("An end can no longer be measured: %s", reason)...)
	case last.Goes == stats.OnIt:
		return say("The search is not over: so far it leads to %s", left(run))
	case last.Last:
		return say("No commit is named: the search leads to %s, which is not shown to be worse: %s", left(run), claim)
	case last.Middle != nil:
		return append(say("Undecided: the search leads to %s", left(run)),
			say("%s is not shown to differ from %s, nor from %s", run.Cells[*last.Middle].Name, good, bad)...)
	case last.Goes == stats.NotWorse:
		return say("%s is not worse, so that there is nothing to look for: %s", bad, claim)
	}
	return say("Can't tell whether %s is worse: %s", bad, claim)
}

// described returns the name of a cell with what it is about.
func described(run *result.Run, cell int) string {
	of := run.Cells[cell]
	if of.Comment == "" {
		return of.Name
	}
	return fmt.Sprintf("%s (%s)", of.Name, of.Comment)
}

// judgedAs is what a search compares, in a sentence.
func judgedAs(run *result.Run) string {
	switch {
	case run.Matrix.Compared == result.MetricColumn:
		return run.MetricName()
	case run.Matrix.Better == result.Higher:
		return "wall time"
	}
	return "it"
}

// mostNamed is how many cells a sentence names; of more, the first and the last.
const mostNamed = 6

// left names the cells to which a search leads.
func left(run *result.Run) string {
	cells := run.Matrix.Search.Left
	names := make([]string, len(cells))
	for i, cell := range cells {
		names[i] = run.Cells[cell].Name
	}
	switch n := len(names); {
	case n == 1:
		return described(run, cells[0])
	case n > mostNamed:
		return fmt.Sprintf("one of %d commits, from %s to %s", n, names[0], names[n-1])
	}
	return "one of " + Names(names)
}

// searchTable has the cells of a search in order. Those that were not tried share a row with their neighbours.
func searchTable(run *result.Run) table.Table {
	title, times := CellTimes(run)
	about := slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Comment != "" })
	t := table.Table{Name: "verdicts", Columns: []table.Column{{Title: "revision"}}}
	if about {
		t.Columns = append(t.Columns, table.Column{Title: "subject", Rank: 1})
	}
	t.Add(cmp.Or(title, "figure"), "found")
	for i := 0; i < len(run.Cells); i++ {
		cell, time, phrases := run.Cells[i], times[i], foundAbout(run, i)
		name, comment := cell.Name, cell.Comment
		if phrases == nil {
			first := i
			for i+1 < len(run.Cells) && foundAbout(run, i+1) == nil {
				i++
			}
			if first < run.Matrix.Baseline {
				continue // they precede the good end
			}
			if n := i - first + 1; n > 1 {
				name, comment = units.Things(n, "revision"), ""
			}
			phrases = table.Phrases{{Text: "not tried", Tone: table.Faint}}
		}
		values := []table.Value{table.Text(name)}
		if about {
			values = append(values, table.Text(comment))
		}
		t.Rows = append(t.Rows, table.Row{Name: name, Values: append(values, time, phrases)})
	}
	return t
}

// foundAbout returns what a search found about a cell; nil: the cell was not tried.
func foundAbout(run *result.Run, cell int) (phrases table.Phrases) {
	add := func(tone table.Tone, format string, args ...any) {
		phrases = append(phrases, table.Phrase{Text: fmt.Sprintf(format, args...), Tone: tone})
	}
	judged := func(format string, other int, v stats.Verdict) {
		add(table.ToneOf(v.Kind), format, run.Cells[other].Name, v.Brief())
	}
	found := run.Matrix.Search
	last := found.Stages[len(found.Stages)-1]
	if why, skipped := found.Skipped[cell]; skipped {
		add(table.Doubt, "skipped: %s", strings.TrimPrefix(why, run.Cells[cell].Name+" "))
		return phrases
	}
	if cell == run.Matrix.Baseline {
		add("", "the good end")
		return phrases
	}
	for _, stage := range slices.Backward(found.Stages) { // the first may have been repeated
		if stage.Last || cell != middleOf(stage) {
			continue
		}
		judged("against %s: %s", stage.Good, stage.FromGood)
		if stage.ToBad != nil {
			judged("%s against it: %s", stage.Bad, *stage.ToBad)
		}
		if stage.Between {
			add(table.Faint, "it lies between them: the larger difference was followed")
		}
		break
	}
	switch {
	case last.Last && last.Bad == cell:
		judged("last: against %s: %s", last.Good, last.FromGood)
	case phrases == nil && run.Cells[cell].Summary != nil:
		add("", "the one before %s", run.Cells[last.Bad].Name)
	}
	return phrases
}

// middleOf returns the cell that a stage is about: the middle, or without one the bad end.
func middleOf(s stats.Stage) int {
	if s.Middle != nil {
		return *s.Middle
	}
	return s.Bad
}
