package view

import (
	"fmt"
	"strconv"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// Steps says up to which number a search in order found that the cells scale, and what is known of the next one.
func Steps(run *result.Run) Statement {
	reached := *run.Matrix.Reached
	last := min(reached+1, len(run.Matrix.Steps))
	v := run.Cells[last].Verdict
	what, step := stepWords(run, reached, last)
	scales, found := "Scales to "+what, v.String()
	if v.Kind == stats.CantTell {
		found = v.Why()
	}
	switch {
	case reached == last:
		return Statement{Text: fmt.Sprintf("%s, the most that was asked for; %s: %s", scales, step, v.Interval())}
	case v.Kind == stats.Stops && reached == 0:
		return Statement{Text: fmt.Sprintf("Does not scale %s: %s", step, v.Interval())}
	case v.Kind == stats.Stops:
		return Statement{Text: fmt.Sprintf("%s; not %s: %s", scales, step, v.Interval())}
	case reached == 0:
		return Statement{Text: fmt.Sprintf("Can't tell whether it scales %s: %s", step, found)}
	}
	return Statement{Text: fmt.Sprintf("%s; not shown to scale %s: %s", scales, step, found)}
}

// stepWords names the number of a cell, and the step to another one from the cell before that.
func stepWords(run *result.Run, cell, to int) (what, step string) {
	varied := ""
	flags, differ := CellFlags(run.Cells)
	for _, flag := range flags {
		if differ[flag] {
			varied = flag
		}
	}
	number := func(cell int) string { return run.Cells[cell].Flags[varied] }
	if n, err := strconv.Atoi(number(cell)); varied == "copies" && err == nil {
		return units.Things(n, "copy"), fmt.Sprintf("from %s to %s copies", number(to-1), number(to))
	}
	return FlagWords(varied) + " " + number(cell), fmt.Sprintf("from %s %s to %s", FlagWords(varied), number(to-1), number(to))
}
