package matrix

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gorun/internal/base/hint"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// errManyBaselines is the error of a run that looks for the best cell among cells that are not compared with each other.
var errManyBaselines = hint.Usage(errors.New("--best: the cells are not all compared with one baseline"))

// errOrdered is the error of a search in order that is to end as another run.
var errOrdered = errors.New("a search in order has no other end than its answer")

// until returns the end of a run as the judge of a figure knows it.
func until(end result.End, figure Comparand) stats.Until {
	return stats.Until{Rounds: end.Samples, Answers: end.Answers(), Held: end.FailOn != "", Best: end.Enough == result.EnoughBest && figure.decides}
}

// Resumed returns the end to which a recorded run goes on if it is resumed with another one. A run of an older gorun, whose header does not
// say when a cell leaves, goes on by the rule that it began with.
func Resumed(recorded *result.Matrix, now result.End) result.End {
	if recorded.Enough == "" {
		return result.End{Samples: now.Samples}
	}
	return now
}

// GoOn sets another end of the run. It returns an error if this gorun does not know it.
func (b *Judging) GoOn(end result.End) error {
	if b.ordered() {
		return errOrdered
	}
	gate, err := b.gateOf(end)
	if err != nil {
		return err
	}
	b.run.Matrix.LaterEnds, b.gate = append(b.run.Matrix.LaterEnds, result.LaterEnd{After: b.run.Taken(), End: end}), gate
	for _, g := range b.groups {
		for f, judge := range g.judges {
			judge.GoOn(until(end, b.figures[f]))
		}
	}
	b.release()
	if b.Between() {
		b.begin()
	}
	return nil
}

// gateOf returns the condition that ends a run, or an error if this run cannot end so.
func (b *Judging) gateOf(end result.End) (gate FailOn, err error) {
	switch known := []string{"", result.EnoughAnswer, result.EnoughPrecision, result.EnoughBest}; {
	case !slices.Contains(known, end.Enough):
		err = fmt.Errorf("this gorun does not know the end %q", end.Enough)
	case len(b.groups) > 1 && end.Enough == result.EnoughBest:
		err = errManyBaselines
	case end.FailOn != "":
		err = gate.Set(end.FailOn)
	}
	return gate, err
}

// gateLooks is how often it is seen whether the gate is answered, at least, while the number of rounds doubles. A look takes longer with
// more rounds.
const gateLooks = 32

// release leaves out the cells about which the gate is answered, or whose intervals are as narrow as the precision, by each figure that it
// names.
func (b *Judging) release() {
	if len(b.gate) == 0 {
		return
	}
	columns := b.gate.columns(b.run)
	verdicts := b.verdicts((*stats.Judge).Found)
	for _, g := range b.groups {
		for cell, of := range g.cells {
			is := compared{b.run.Cells[of].Name, map[string]stats.Verdict{"": verdicts[of].decides}}
			maps.Copy(is.verdicts, verdicts[of].others)
			enough := func() bool {
				return !slices.ContainsFunc(columns, func(column string) bool {
					f := max(0, slices.IndexFunc(b.figures, func(figure Comparand) bool { return figure.Column == column && !figure.decides }))
					return !g.judges[f].Settled(cell)
				})
			}
			if of != g.baseline && (b.gate.decided(b.run, is) || enough()) {
				g.judge().Release(cell)
			}
		}
	}
}
