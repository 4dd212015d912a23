package view

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/base/lazy"
	"gorun/internal/base/shell"
	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
	"gorun/internal/stats"
)

// NextBlock returns the command that takes the rounds which undecided cells are likely to need. Where none is undecided, it is the command
// that narrows the intervals of a run that ended with its answer. It returns "" where there is nothing to narrow, where the number of rounds
// is not known, and for an interrupted run, which has printed the command that continues it. The command is never broken: it is there to be
// copied. resumes: the run's command has the flag --resume.
func NextBlock(run *result.Run, resumes bool, opts term.Options) string {
	more, rounds := 0.0, 0
	for _, cell := range run.Cells {
		if v := cell.Verdict; v != nil && v.Forecast != nil && v.Forecast.Kind != stats.Resolution {
			more, rounds = max(more, v.Forecast.Seconds), max(rounds, v.Forecast.Rounds)
		}
	}
	if run.Partial || len(run.Command) == 0 {
		return ""
	}
	last := run.Samples.Last()
	if last == nil || last.Slot == nil {
		return ""
	}
	if more == 0 {
		return narrower(run, resumes, opts)
	}
	// A budget that was given also counts what preceded the samples.
	whole := max(last.Elapsed, run.Matrix.Budget) + more
	changed := []string{"--budget", wait(whole)}
	short := run.Matrix.Planned() > 0 && last.Round+1+rounds > run.Matrix.Planned()
	return fmt.Sprintf("%s: %s\n", opts.Paint(term.Bold, "next"), shell.Join(longer(run, changed, short, resumes)))
}

// narrower returns the command that narrows the intervals of a run that ended with its answer; "": they are as narrow as the precision.
func narrower(run *result.Run, resumes bool, opts term.Options) string {
	end := run.Matrix.Ends()
	wide := func(c result.Cell) bool {
		v := c.Verdict
		return v != nil && (v.Kind == stats.Slower || v.Kind == stats.Faster) && v.Typical.Hi > v.Typical.Lo*(1+run.Matrix.Precision)
	}
	if end.Samples > 0 || !end.Answers() || !slices.ContainsFunc(run.Cells, wide) {
		return ""
	}
	to := units.Share(run.Matrix.Precision)
	return fmt.Sprintf("  a longer run would narrow the intervals to %s\n%s: %s\n", to, opts.Paint(term.Bold, "next"),
		shell.Join(longer(run, []string{"--precision", to}, false, resumes)))
}

// longer returns the command of a run as it was given, with changed flags that make it last longer; short: it took fewer samples than it
// needs. It continues the journal, if it can. A run that does not continue has a journal of its own.
func longer(run *result.Run, changed []string, short, resumes bool) []string {
	words, end := 1, ownWords(run)
	if run.OfMatrix() {
		words = 2
	}
	budgeted := changed[0] == "--budget"
	switch {
	case short && resumes:
		changed = append(changed, "--samples", "0")
	case short: // a plain run takes at least one sample, and as many as this needs
		changed = append(changed, "--precision", units.Share(run.Matrix.Precision))
	}
	var rest []string
	for i := words; i < end; i++ {
		word := run.Command[i]
		flag, value, given := strings.Cut(word, "=")
		if strings.HasPrefix(flag, "-r") { // as -r 3, -r3 or -r=3
			flag, given = "--samples", given || flag != "-r"
		}
		if i+1 < end && !given {
			value = run.Command[i+1]
		}
		switch flag {
		case "--resume", "--resume-changed":
			continue
		case "--budget":
			if !budgeted {
				rest = append(rest, flag, value)
			}
		case "--precision":
			if !short || resumes {
				rest = append(rest, flag, value)
			}
		case "--samples", "--runs":
			if !short {
				rest = append(rest, "--samples", strconv.Itoa(run.Matrix.Planned()))
			}
		case "--out":
			if resumes && value != "-" {
				changed = append(changed, "--resume")
			} else {
				value = another(value)
			}
			rest = append(rest, flag, value)
		default:
			rest = append(rest, word)
			continue
		}
		if !given {
			i++ // the value
		}
	}
	return slices.Concat([]string{"gorun"}, run.Command[:words], changed, rest, run.Command[end:])
}

// ownWords returns where the words of the user's own command begin in that of a run, with the "--" before them.
func ownWords(run *result.Run) int {
	end := len(run.Command)
	if at := slices.Index(run.Cells[0].Command, "--"); at >= 0 {
		end = max(0, end-len(run.Cells[0].Command[at+1:]))
	}
	if at := slices.Index(run.Command[:end], "--"); at >= 0 {
		end = at
	}
	return end
}

// numbered matches a file's name, its number and its extension.
var numbered = lazy.Regexp(`(?s)^(.*?)(?:-(\d{1,3}))?(\.[^./]*)?$`)

// another returns the name of the next journal: a journal is not replaced.
func another(file string) string {
	if file == "-" {
		return file
	}
	parts := numbered().FindStringSubmatch(file)
	number, _ := strconv.Atoi(parts[2]) // 0 where it has none
	return fmt.Sprintf("%s-%d%s", parts[1], max(1, number)+1, parts[3])
}

// wait returns a time, rounded up to whole seconds, as a flag takes it.
func wait(seconds float64) string {
	return (time.Duration(math.Ceil(seconds)) * time.Second).String()
}
