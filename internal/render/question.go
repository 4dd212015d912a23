package render

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
)

// mostVaried is the number of flags that a question names, and others stands for more.
const (
	mostVaried = 6
	others     = "other flags"
)

// Question returns what the run answers: which of several commands or revisions is better, how the flags in which its cells differ
// affect what was run, or the question of its experiment.
func (v Views) Question(run *result.Run) string {
	flags := variedFlags(run)
	if names := rivals(run, flags); len(names) > 1 {
		metric := run.Matrix != nil && run.Matrix.Datum == result.DatumMetric
		if len(names) > 2 {
			return fmt.Sprintf("Which of these %d is the %s: %s?", len(names), word(metric, "best", "fastest"), view.Names(names))
		}
		return fmt.Sprintf("Is %s %s than %s?", names[1], word(metric, "better", "slower"), names[0])
	}
	x, of := v.find(run.Experiment)
	if len(flags) > 0 && (run.OfMatrix() || of.Placed != nil || x.Question == "") {
		question := "How " + word(len(flags) == 1, "does ", "do ") + joined(flagged(flags)) + " affect the " + decided(run)
		if !slices.Contains(flags, "command") {
			question += " of " + v.Subject(run)
		}
		return question + "?"
	}
	if x.Question != "" {
		return x.Question
	}
	return "What did gorun " + run.Experiment + " measure?"
}

// word returns one of two words.
func word(first bool, yes, no string) string {
	if first {
		return yes
	}
	return no
}

// rivals returns what is compared, the baseline's first, if the cells differ only in their commands, or in the revisions of their
// benchmarks.
func rivals(run *result.Run, varied []string) (names []string) {
	of := ""
	for _, flag := range varied {
		switch flag {
		case "command", "revision":
			of = flag
		case "benchmark", "package", "cpu":
		default:
			return nil
		}
	}
	for i := range run.Cells {
		cell := &run.Cells[i]
		name := map[string]string{"command": cell.Name, "revision": cell.Flags["revision"]}[of]
		if name == "" || slices.Contains(names, name) {
			continue
		}
		if names = append(names, name); run.IsBaseline(i) {
			names[0], names[len(names)-1] = name, names[0]
		}
	}
	return term.Apart(names, view.MostOfName)
}

// variedFlags returns the flags in which the cells of a run differ.
func variedFlags(run *result.Run) (flags []string) {
	if len(run.Cells) < 2 {
		return nil
	}
	all, differ := view.CellFlags(run.Cells)
	for _, flag := range all {
		// Commands have names of their own.
		if differ[flag] && (flag != "name" || !differ["command"]) {
			flags = append(flags, flag)
		}
	}
	if len(flags) > mostVaried {
		flags = append(flags[:mostVaried-1], others)
	}
	return flags
}

// decided is the figure that decides a run.
func decided(run *result.Run) string {
	if run.Matrix != nil && run.Matrix.Datum == result.DatumMetric {
		return run.MetricName()
	}
	return "time"
}

// Subject is what was run: the user's own command, or gorun's.
func (v Views) Subject(run *result.Run) string {
	if of := v.Of(run.Experiment); of.Placed != nil {
		if command := of.Placed(run); command != "" {
			return command
		}
		if options, err := view.SpecOf(run.Spec); err == nil && options.Text("command") != "" {
			return options.Text("command")
		}
	}
	return "gorun " + run.Experiment
}

// flagged returns flags as they are given, and "the command" and "the benchmark", which are no flags.
func flagged(names []string) (words []string) {
	for _, name := range names {
		switch name {
		case others:
		case "command", "revision", "benchmark", "package", "cpu":
			name = "the " + name
		default:
			name = "--" + name
		}
		words = append(words, name)
	}
	return words
}

func joined(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(slices.Clone(words[:last]), ", ") + " and " + words[last]
}
