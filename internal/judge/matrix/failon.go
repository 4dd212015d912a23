package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// FailOn are the verdicts on a cell that make a command fail. It is the value of a flag.
type FailOn []failure

// failure is a word of --fail-on, with the figure that it is about and the size of the difference.
type failure struct {
	figure string // as figureNames has it; "": the deciding figure
	word   string
	above  float64 // the interval's smallest difference must exceed this: 0.05 is 5%
}

// undecided is the word for verdicts without a claim.
const undecided = "undecided"

// Failures lists the words of FailOn. A size may follow all but the last, and a figure precede each: cpu:worse>5%.
var Failures = []string{"slower", "faster", "worse", "better", "difference", undecided}

// Set adds the words of a comma-joined text.
func (f *FailOn) Set(text string) error {
	for _, part := range SplitList(text) {
		condition := failure{}
		named, above, sized := strings.Cut(strings.TrimSpace(part), ">")
		if colon := strings.LastIndex(named, ":"); colon >= 0 {
			condition.figure, named = named[:colon], named[colon+1:]
		}
		condition.word = named
		if !slices.Contains(Failures, named) || sized && named == undecided {
			return hint.With(fmt.Errorf("%q is not a verdict of --fail-on", part), hint.Near(named, Failures)+"there are "+strings.Join(Failures, ", ")+
				"; also slower>5%, cpu:slower and memory:worse>5%")
		}
		if sized {
			var err error
			if condition.above, err = ParseFraction(above); err != nil {
				return err
			}
		}
		*f = append(*f, condition)
	}
	return nil
}

// String returns the words in the form of the flag.
func (f *FailOn) String() string {
	list := make([]string, len(*f))
	for i, condition := range *f {
		list[i] = condition.String()
	}
	return JoinList(list)
}

func (f failure) String() string {
	text := f.word
	if f.figure != "" {
		text = f.figure + ":" + text
	}
	if f.above > 0 {
		text += fmt.Sprintf(">%g%%", 100*f.above)
	}
	return text
}

// Type returns the value's name in help.
func (f *FailOn) Type() string { return "verdicts" }

// figureNames returns the names by which --fail-on calls the figures of a run, each with the figure's column; "" is that of the
// deciding figure.
func figureNames(run *result.Run) (names [][2]string) {
	if datum := run.Matrix.Compared; datum != "" {
		names = append(names, [2]string{datum, ""})
		if name := run.MetricName(); datum == result.MetricColumn && name != datum {
			names = append(names, [2]string{name, ""})
		}
	}
	for _, f := range run.Matrix.Figures {
		switch f.Column {
		case column.CPU.Name:
			names = append(names, [2]string{"cpu", f.Column})
		case result.MaxRSS:
			names = append(names, [2]string{"memory", f.Column})
		default:
			names = append(names, [2]string{f.Label, f.Column}, [2]string{f.Column, f.Column})
		}
	}
	return names
}

// column returns the column of the figure that a condition names; "": the deciding figure.
func (f failure) column(run *result.Run) (name string, found bool) {
	names := figureNames(run)
	i := slices.IndexFunc(names, func(n [2]string) bool { return n[0] == f.figure })
	if f.figure == "" || i < 0 {
		return "", f.figure == ""
	}
	return names[i][1], true
}

// Check returns an error if a run does not judge a figure that is named.
func (f FailOn) Check(run *result.Run) error {
	for _, condition := range f {
		if run.Matrix != nil && run.Matrix.History != nil {
			return hint.Flag("fail-on", condition.String(), hint.With(errors.New("a search has no verdicts on its revisions"),
				"the exit code of gorun bisect says whether a commit is named"))
		}
		if _, found := condition.column(run); !found {
			var names []string
			for _, n := range figureNames(run) {
				names = append(names, n[0])
			}
			return hint.Flag("fail-on", condition.String(), hint.With(fmt.Errorf("this run does not judge %q", condition.figure),
				"figures that can be named: "+cmp.Or(strings.Join(names, ", "), "none")))
		}
	}
	return nil
}

// compared is a cell that was compared, with its verdicts by the column of the figure; "" is that of the deciding figure.
type compared struct {
	name     string
	verdicts map[string]stats.Verdict
}

// Gate returns what --fail-on found in a run; nil: it was not given.
func (f FailOn) Gate(run *result.Run) *result.Gate {
	var cells []compared
	for i, cell := range run.Cells {
		if run.IsBaseline(i) {
			continue
		}
		of := compared{cell.Name, map[string]stats.Verdict{}}
		maps.Copy(of.verdicts, cell.Verdicts)
		if cell.Verdict != nil {
			of.verdicts[""] = *cell.Verdict
		}
		cells = append(cells, of)
	}
	return f.gate(run, cells, looks(run.Matrix))
}

// looks reports whether a gate of a run passes only where the total was looked at. Pairs are judged by rules without looks, and older
// runs without this one.
func looks(m *result.Matrix) bool { return m != nil && m.Rules >= looksSince && m.Order.Design == "" }

// looksSince is the version of the rules from which on that is so.
const looksSince = 3

// decided reports whether more rounds would not change what f finds about a cell. What is undecided is only known at the end.
func (f FailOn) decided(run *result.Run, cell compared) bool {
	return !slices.ContainsFunc(f, func(condition failure) bool {
		name, _ := condition.column(run)
		v, judged := cell.verdicts[name]
		if !judged && f.optional(run, name) {
			return false
		}
		is := condition.outcome(v, judged, looks(run.Matrix))
		return is.result == result.GateUndecided || is.result == result.GateFailed && condition.word == undecided
	})
}

// optional reports whether some cells of a run cannot have the figure in this column.
func (f FailOn) optional(run *result.Run, name string) bool {
	return slices.ContainsFunc(run.Matrix.Figures, func(other result.JudgedFigure) bool { return other.Column == name && other.Cells > 0 })
}

// columns returns the columns of the figures that f is about; "" is that of the deciding figure.
func (f FailOn) columns(run *result.Run) (names []string) {
	for _, condition := range f {
		name, _ := condition.column(run)
		names = append(names, name)
	}
	return names
}

// GateBetween returns what --fail-on found between two runs; nil: it was not given.
func (f FailOn) GateBetween(run *result.Run, between []result.ComparedCell) *result.Gate {
	var cells []compared
	for _, cell := range between {
		verdicts := map[string]stats.Verdict{"": cell.Verdict}
		for _, figure := range cell.Figures {
			verdicts[figure.Column] = figure.Verdict
		}
		cells = append(cells, compared{cell.A, verdicts})
	}
	return f.gate(run, cells, false)
}

// gate returns what --fail-on found among cells that were compared as in this run; nil: it was not given. looks: see outcome.
func (f FailOn) gate(run *result.Run, cells []compared, looks bool) *result.Gate {
	if len(f) == 0 {
		return nil
	}
	gate := &result.Gate{Condition: f.String(), Result: result.GatePassed}
	why := map[string][]string{}
	most, missed := 0.0, ""
	for _, condition := range f {
		if run.Matrix == nil {
			break // nothing is compared
		}
		name, _ := condition.column(run)
		for _, cell := range cells {
			v, judged := cell.verdicts[name]
			if !judged && f.optional(run, name) {
				continue // this cell cannot have the figure
			}
			by := ""
			if condition.figure != "" {
				by = "by " + condition.figure + ", "
			}
			if looks {
				gate.Rounds = max(gate.Rounds, v.Rounds)
			}
			is := condition.outcome(v, judged, looks)
			why[is.result] = append(why[is.result], by+cell.name+is.why)
			if is.missed > most {
				most, missed = is.missed, "smaller differences are possible: "+by+cell.name+" "+v.Interval()
			}
		}
	}
	why[result.GatePassed] = nil
	if missed != "" {
		why[result.GatePassed] = []string{missed}
	}
	for _, is := range []string{result.GatePassed, result.GateUndecided, result.GateFailed} {
		if len(why[is]) > 0 {
			gate.Result, gate.Why = is, why[is]
		}
	}
	return gate
}

// outcome is what a verdict is for a condition.
type outcome struct {
	result string  // as that of a gate
	why    string  // the end of a sentence about the cell
	missed float64 // of a passed one: the greatest difference that the interval does not exclude, as a logarithm; 0: it excludes all
}

// outcome returns what a verdict is for the condition. looks: it passes only if the total was looked at, and only if that does not speak
// against it.
func (f failure) outcome(v stats.Verdict, judged, looks bool) outcome {
	is := f.shown(v, judged)
	switch {
	case is.result != result.GatePassed || !looks:
	case v.Total == nil:
		return outcome{result: result.GateUndecided, why: fmt.Sprintf(": the total is looked at after %d rounds", stats.FirstLook)}
	case v.Doubt && f.against(v.Total.Ratio, max(f.above, v.Margin)):
		return outcome{result: result.GateUndecided, why: ": " + v.Doubtful()}
	}
	return is
}

// against reports whether a ratio is a difference of more than a share that the condition is about.
func (f failure) against(ratio, share float64) bool {
	return f.word != "faster" && f.word != "better" && ratio > 1+share || f.word != "slower" && f.word != "worse" && ratio < 1-share
}

// shown returns what the intervals of a verdict show for the condition.
func (f failure) shown(v stats.Verdict, judged bool) outcome {
	undecidedBy := func(why string) outcome { return outcome{result: result.GateUndecided, why: why} }
	failedBy := func(why string) outcome { return outcome{result: result.GateFailed, why: why} }
	if !judged {
		return undecidedBy(" has no verdict")
	}
	open := v.Kind == stats.CantTell || v.Kind == stats.Confounded || v.Kind == stats.Invalid
	if f.word == undecided {
		if open {
			return failedBy(" has no certain verdict: " + v.Brief())
		}
		return outcome{result: result.GatePassed}
	}
	slower := f.word != "faster" && f.word != "better" // it is about slower cells
	faster := f.word != "slower" && f.word != "worse"
	claims, of := v.Kind == stats.Slower || v.Kind == stats.Faster, v.Kind == stats.Slower && slower || v.Kind == stats.Faster && faster
	known := of || v.Kind == stats.Same || v.Kind == stats.CantTell && v.Reason == ""
	beyond := func(e stats.Effect) bool {
		return slower && !(e.Hi <= 1+f.above && e.Hi > 0) || faster && !(e.Lo >= 1-f.above)
	}
	least, more := v.AtLeast(f.above)
	switch {
	case of && more:
		return failedBy(" is " + least)
	case v.Kind == stats.Mixed && slower && faster && f.above == 0:
		return failedBy(" differs: " + v.Brief())
	case claims && !of, v.Kind == stats.Same && f.above == 0, known && !slices.ContainsFunc(v.Effects(), beyond):
		is := outcome{result: result.GatePassed} // it certainly does not differ by more
		if slower {
			is.missed = max(is.missed, math.Log(v.Typical.Hi))
		}
		if faster {
			is.missed = max(is.missed, -math.Log(v.Typical.Lo))
		}
		return is
	}
	return undecidedBy(": " + v.Brief())
}
