package view

import (
	"fmt"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// Steps says up to which number a search in order found that the cells scale, and what is known of the next one.
func Steps(run *result.Run) Statement {
	m, flag := run.Matrix, ""
	flags, differ := CellFlags(run.Cells)
	for _, name := range flags {
		if differ[name] {
			flag = name
		}
	}
	number := func(cell int) string { return run.Cells[cell].Flags[flag] }
	to := func(cell int) string {
		if n, err := strconv.Atoi(number(cell)); flag == "copies" && err == nil {
			return units.Things(n, "copy")
		}
		return flag + " " + number(cell)
	}
	reached := *m.Reached
	if reached == len(m.Steps) {
		return Statement{Text: fmt.Sprintf("Scales to %s, the most that was tried: from %s on %s", to(reached), number(reached-1), did(run.Cells[reached].Verdict))}
	}
	v := run.Cells[reached+1].Verdict
	from := fmt.Sprintf("from %s to %s", number(reached), to(reached+1))
	text := "Scales to " + to(reached)
	switch {
	case v.Kind == stats.Stops && reached == 0:
		text = fmt.Sprintf("Does not scale %s: %s", from, did(v))
	case v.Kind == stats.Stops:
		text += fmt.Sprintf("; not %s: %s", from, did(v))
	case reached == 0:
		text = fmt.Sprintf("Can't tell whether it scales %s: %s", from, strings.TrimPrefix(v.String(), string(v.Kind)+": "))
	default:
		text += fmt.Sprintf("; not shown to scale %s: %s", from, strings.TrimPrefix(v.String(), string(v.Kind)+": "))
	}
	return Statement{Text: text}
}

// did says how much the cell of a step does against the one before it.
func did(v *stats.Verdict) string {
	interval := v.Interval()
	if strings.HasSuffix(interval, "as much") {
		return "it does " + interval
	}
	return "it does " + interval + " in the same time"
}
