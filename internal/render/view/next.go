package view

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/shell"
	"gorun/internal/stats"
)

// NextBlock returns the command that takes the rounds which undecided cells are likely to need. It
// returns "" where no cell is undecided, where the number of rounds is not known, and for an interrupted run, which has
// printed the command that continues it. The command is never broken: it is there to be copied.
func NextBlock(run *result.Run, opts term.Options) string {
	more := 0.0
	for _, cell := range run.Cells {
		if v := cell.Verdict; v != nil && v.Forecast != nil && v.Forecast.Kind != stats.Resolution {
			more = max(more, v.Forecast.Seconds)
		}
	}
	if more == 0 || run.Partial || len(run.Samples) == 0 || run.Samples[len(run.Samples)-1].Slot == nil {
		return ""
	}
	// A budget that was given also counts what preceded the samples.
	whole := max(run.Samples[len(run.Samples)-1].Elapsed, run.Matrix.Budget) + more
	args := longer(run, whole)
	if args == nil {
		return ""
	}
	return fmt.Sprintf("%s: %s\n", opts.Paint(term.Bold, "next"), shell.Join(args))
}

// longer returns the command of a run that lasts this many seconds in all, or nil where it cannot be made. It continues the journal,
// unless the run had a fixed number of samples: a longer one has another design.
func longer(run *result.Run, seconds float64) []string {
	end := slices.Index(run.Command, "--") // what follows is the user's own command
	if end < 0 {
		if slices.Contains(run.Cells[0].Command, "--") {
			return nil // where it begins is not known
		}
		end = len(run.Command)
	}
	name := slices.IndexFunc(run.Command[:end], func(word string) bool { return word == run.Experiment || word == "ab" })
	if name < 0 {
		return nil
	}
	// Other commands have no --resume.
	design := name > 0 || run.Command[name] == "ab" || run.Command[name] == "bench" ||
		slices.ContainsFunc(run.Command[:end], func(arg string) bool { return strings.HasPrefix(arg, "--placements") })
	var rest []string
	fixed, resumes := run.Matrix.Rounds > 0, false
	for i := name + 1; i < end; i++ {
		flag, _, given := strings.Cut(run.Command[i], "=")
		if strings.HasPrefix(flag, "-r") { // as -r 3, -r3 or -r=3
			flag, given = "--samples", given || flag != "-r"
		}
		switch {
		case flag == "--budget" || flag == "--samples" || flag == "--out" && (fixed || !design):
			if !given {
				i++ // its value
			}
			continue
		case flag == "--resume":
			continue
		}
		resumes = resumes || flag == "--out"
		rest = append(rest, run.Command[i])
	}
	args := append([]string{"gorun"}, run.Command[:name+1]...)
	args = append(args, "--budget", wait(seconds))
	if fixed && design {
		args = append(args, "--samples", "0")
	}
	if resumes {
		args = append(args, "--resume")
	}
	return slices.Concat(args, rest, run.Command[end:])
}

// wait returns a time, rounded up to whole seconds, as a flag takes it.
func wait(seconds float64) string {
	return (time.Duration(math.Ceil(seconds)) * time.Second).String()
}
