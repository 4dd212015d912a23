package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/record/result"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// mostVaried is the number of flags that a question names, and others stands for more.
const (
	mostVaried = 6
	others     = "other flags"
)

// Question returns what the run answers: which of several commands or revisions is better, which revision made something worse, how the
// flags in which its cells differ affect what was run, or the question of its experiment.
func (v Views) Question(run *result.Run) string {
	flags := variedFlags(run)
	decided, best, worse, made := "time", "fastest", "slower", "slower"
	if run.Matrix != nil && run.Matrix.Compared == result.MetricColumn {
		decided, best, worse, made = run.MetricName(), "best", "better", "worse"
	}
	switch names := rivals(run, flags); {
	case run.Matrix != nil && run.Matrix.History != nil:
		if run.Matrix.Compared == "" && run.Matrix.Better == result.Higher {
			made = "faster"
		}
		return fmt.Sprintf("Which commit made %s %s?", v.Subject(run), made)
	case len(names) > 2:
		return fmt.Sprintf("Which of these %d is the %s: %s?", len(names), best, view.Names(names))
	case len(names) == 2:
		return fmt.Sprintf("Is %s %s than %s?", names[1], worse, names[0])
	}
	x, of := v.find(run.Experiment)
	switch {
	case len(flags) == 0 || !run.OfMatrix() && of.Placed == nil && x.Question != "":
		return cmp.Or(x.Question, "What did gorun "+run.Experiment+" measure?")
	case slices.Contains(flags, "command"): // which is one of what is compared
		return "How do " + joined(flags) + " affect the " + decided + "?"
	}
	does := "do "
	if len(flags) == 1 {
		does = "does "
	}
	return "How " + does + joined(flags) + " affect the " + decided + " of " + v.Subject(run) + "?"
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

// Subject is what was run: the user's own command or program, or gorun's.
func (v Views) Subject(run *result.Run) string {
	if of := v.Of(run.Experiment); of.Placed != nil {
		options := view.OptionsOf(run.Spec)
		if options.Text("program") != "" {
			return view.Program(run) // it runs already
		}
		if command := cmp.Or(of.Placed(run), options.Text("command")); command != "" {
			return command
		}
	}
	return "gorun " + run.Experiment
}

// joined names flags, and "the command" and "the benchmark", which are no flags.
func joined(flags []string) string {
	var words []string
	for _, name := range flags {
		switch name {
		case others:
		case "command", "revision", "benchmark", "package", "cpu":
			name = "the " + name
		default:
			name = view.FlagWords(name)
		}
		words = append(words, name)
	}
	last := len(words) - 1
	return strings.TrimPrefix(strings.Join(words[:last], ", ")+" and "+words[last], " and ")
}
