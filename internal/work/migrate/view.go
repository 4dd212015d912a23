package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// shown is how runs of `gorun migrate` are shown.
var shown = experiment.View{
	Answer: answer, Options: []string{"relation", "every", "moves", "working_set", "access"},
	Rows:    rowColumns,
	Derived: derived,
	Found:   "What a move costs",
}

// rowColumns are the columns in which moves differ.
var rowColumns = []string{"every_seconds", "working_set_bytes", "relation"}

// compared is the title of a comparison of the experiment's own cells.
const compared = "Accesses of a thread that is moved, by the CPUs"

// row is what moves of one kind cost: medians over its good samples.
type row struct {
	relation            string
	workingSet, reached uint64  // bytes; reached is how much was read again until it was refilled, or until the next move
	cost, refill        float64 // seconds of a move; the cost is the sum of two medians, so that what is read together adds up
	weight              int     // how much it is preferred
}

// rowsOf returns a row for each kind of moves that were measured. It prefers moves that had the time to refill the working set, and
// among equals moves that were found to make accesses slower.
func rowsOf(run *result.Run) (rows []row) {
	for _, of := range (view.Shape{Columns: columns, Rows: rowColumns}).RowsOf(run) {
		median := func(name string) float64 {
			spread, _ := view.SpreadOf(of.Samples, columns.Get(name))
			return spread.Median
		}
		if of.Samples.Len() == 0 {
			continue
		}
		f, ok := result.Typed[Figures](of.Samples.At(0))
		if !ok || f.Cost == nil || where[f.Relation] == "" {
			continue
		}
		r := row{relation: f.Relation, workingSet: f.WorkingSet, reached: uint64(median("refill_bytes")), refill: median("refill_seconds")}
		r.cost = median("move_seconds") + r.refill
		if r.reached >= r.workingSet {
			r.weight = 2
		}
		if run.Matrix != nil && of.Cell >= 0 {
			if v := run.Cells[of.Cell].Verdict; v != nil && v.Kind == stats.Slower {
				r.weight++
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// where says what a thread is moved to.
var where = map[string]string{
	topology.SameCore.String():  "the other thread of its core",
	topology.SameLLC.String():   "another core with the same last-level cache",
	topology.SameNode.String():  "another last-level cache of its node",
	topology.CrossNode.String(): "another node",
}

// sentence says what the moves of a row cost.
func (r *row) sentence() string {
	words := fmt.Sprintf("a move to %s costs %s", where[r.relation], units.Seconds(r.cost))
	switch {
	case r.refill <= 0:
		return words + ", and nothing to refill " + units.Bytes(r.workingSet)
	case r.reached < r.workingSet:
		return words + fmt.Sprintf(", including %s to refill %s of %s before the next move", units.Seconds(r.refill),
			units.Bytes(r.reached), units.Bytes(r.workingSet))
	}
	return words + fmt.Sprintf(", including %s to refill %s", units.Seconds(r.refill), units.Bytes(r.workingSet))
}

// costliest returns, for each relation that was measured, the moves that cost most. The nearest relation comes first.
func costliest(run *result.Run) (most []row) {
	rows := rowsOf(run)
	for _, relation := range topology.RelationNames {
		of := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.relation != relation })
		if len(of) > 0 {
			most = append(most, slices.MaxFunc(of, func(a, b row) int {
				return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(a.cost, b.cost))
			}))
		}
	}
	return most
}

// derived returns a finding for each relation: what its costliest moves cost.
func derived(run *result.Run) (findings []result.Finding, _ []result.Warning) {
	for _, r := range costliest(run) {
		findings = append(findings, result.Finding{Code: "move-cost", Message: r.sentence(), Value: r.cost})
	}
	return findings, nil
}

// answer says what the costliest moves of a judged run cost, and then what was found about the accesses. nil: no thread
// was moved, or nothing is judged.
func answer(run *result.Run) []view.Statement {
	most, words := 0.0, ""
	for _, r := range costliest(run) {
		if r.cost > most {
			most, words = r.cost, r.sentence()
		}
	}
	if words == "" || run.Matrix == nil || run.Matrix.Title != compared {
		return nil
	}
	verdicts := view.Verdicts(run)
	first := verdicts[0].Text
	verdicts[0].Text = "By the time of an access, " + strings.ToLower(first[:1]) + first[1:]
	return append([]view.Statement{{Text: "A" + words[1:] + ".", Finding: words}}, verdicts...)
}
