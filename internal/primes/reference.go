package primes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gorun/internal/experiment"
	"gorun/internal/reference"
	"gorun/internal/result"
)

// published is the table of the text that `gorun primes` grew from.
var published = &experiment.Reference{
	Usage: "show the times of the table that this grew from, where a cell has the features of its row, and as many\n" +
		"numbers a worker, and how long they are against its own row of the baseline",
	Cells: true,
	Of: func(run *result.Run) (*result.Reference, error) {
		table, err := reference.Read("goroutines")
		if err != nil {
			return nil, err
		}
		columns := []result.ReferenceColumn{
			{Name: "seconds", Title: "ref time", Unit: "s", Decimals: 2, Meaning: "of one run"},
		}
		r := table.For("", columns...)
		for i := range run.Cells {
			is := featuresOf(&run.Cells[i])
			row := table.Find(func(row reference.Row) bool { return slices.Contains(is, publishedFeatures(row)) })
			if row != nil {
				r.Rows = append(r.Rows, result.ReferenceRow{
					Row: i, Name: row["focus"] + ", " + row["workers"] + " workers", Figures: row.Figures(columns),
				})
			}
		}
		if run.Matrix != nil {
			r.Compare("seconds", run.Against)
		}
		return r, nil
	},
}

// features are those of a row of the text.
type features struct {
	serial, lock, thread bool
	cpus                 string // "": floats; the part of its CPUs that it is bound to
	priority             string
	numbers              string // that a worker tests, in lowest terms
}

// publishedLimit is up to where the text counts primes.
const publishedLimit = 200_000

// publishedFeatures are those of a row of the text, which has 16 CPUs.
func publishedFeatures(row reference.Row) features {
	workers, _ := strconv.ParseUint(row["workers"], 10, 64)
	return features{
		serial: row["cpus"] == "F (1)", lock: row["lock"] == "T", thread: row["thread"] == "T",
		cpus:     map[string]string{"T-1": "one", "T-8": "half", "T-16": "all"}[row["cpus"]],
		priority: row["priority"], numbers: numbersOf(publishedLimit, workers),
	}
}

// numbersOf is a limit over a number of workers.
func numbersOf(limit, workers uint64) string {
	a, b := limit, workers
	for b > 0 {
		a, b = b, a%b
	}
	if a == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", limit/a, workers/a)
}

// featuresOf are the features that a cell's flags come to: several where a machine has so few CPUs that half of them are
// one, or all. None where the cell has a feature that the text lacks.
func featuresOf(cell *result.Cell) (is []features) {
	for flag, value := range cell.Flags {
		if !slices.Contains(publishedFlags, flag) && value != "false" {
			return nil
		}
	}
	on := func(flag string) bool { return cell.Flags[flag] == "true" }
	limit, err := strconv.ParseUint(cmp.Or(cell.Flags["limit"], strconv.Itoa(defaultLimit)), 10, 64)
	if err != nil {
		return nil
	}
	workers, err := strconv.ParseUint(cell.Flags["workers"], 10, 64)
	if err != nil || workers == 0 {
		return nil
	}
	_, bound := cell.Flags["pin-cpus"]
	f := features{
		serial: on("serial"), lock: on("lock-thread") || bound && cell.Flags["lock-thread"] != "false",
		thread: on("pin-thread"), priority: cmp.Or(cell.Flags["nice"], "default"), numbers: numbersOf(limit, workers),
	}
	if !bound {
		return []features{f}
	}
	count, all := cell.CPUs["pin-cpus"].Count, cell.CPUs["cpus"].Count
	for _, part := range []struct {
		name string
		is   bool
	}{{"one", count == 1}, {"half", count == all/2 || count == (all+1)/2}, {"all", count == all}} {
		if part.is {
			f.cpus = part.name
			is = append(is, f)
		}
	}
	return is
}

// publishedFlags are those that the text's features come from, and those that change its work and not its placement.
var publishedFlags = []string{
	"workers", "serial", "lock-thread", "pin-cpus", "pin-thread", "nice", "limit", "method", "kernel", "split", "cpus",
}
