package render

import (
	"slices"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/render/view"
	"gorun/internal/result"
)

// mostVaried is the number of flags that a question names.
const mostVaried = 6

// Question returns what the run answers: how the flags in which its cells differ affect what was run, or the question of
// its experiment.
func (v Views) Question(run *result.Run) string {
	if flags := variedFlags(run); len(flags) > 0 && !v.ownCells(run) {
		return "How " + [...]string{"does ", "do "}[min(1, len(flags)-1)] + joined(flags) + " affect the " +
			decided(run) + " of " + v.Subject(run) + "?"
	}
	if x, err := experiment.Find(v, run.Experiment); err == nil && x.Question != "" {
		return x.Question
	}
	return "What did gorun " + run.Experiment + " measure?"
}

// variedFlags returns the flags in which the cells of a run differ.
func variedFlags(run *result.Run) (flags []string) {
	if len(run.Cells) < 2 {
		return nil
	}
	all, differ := view.CellFlags(run.Cells)
	for _, flag := range all {
		if differ[flag] {
			flags = append(flags, flag)
		}
	}
	if len(flags) > mostVaried {
		flags = append(flags[:mostVaried-1], "other flags")
	}
	return flags
}

// decided is the figure that decides a run.
func decided(run *result.Run) string {
	if run.Matrix != nil && run.Matrix.Datum == result.DatumMetric {
		return "metric"
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

func joined(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(slices.Clone(words[:last]), ", ") + " and " + words[last]
}
