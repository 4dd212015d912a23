package migrate

import (
	"cmp"
	"fmt"
	"strings"

	"gorun/internal/column"
	"gorun/internal/experiment"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/topology"
	"gorun/internal/units"
)

// shown is how runs of `gorun migrate` are shown.
var shown = experiment.View{
	Answer: answer, Options: []string{"relation", "every", "moves", "working_set", "access"},
	Rows:    settings,
	Derived: derived,
	Found:   "What a move costs",
}

// settings are the columns in which moves differ.
var settings = []string{"every_seconds", "working_set_bytes", "relation"}

// compared is the title of a comparison of the experiment's own cells.
const compared = "Accesses of a thread that is moved, by the CPUs"

// row summarizes moves of one kind, over its good samples.
type row struct {
	Figures // of the first sample: what is the same in all
	samples []result.Sample
	cell    int // of a judged run; -1: there are no cells
}

// median returns that of a column; false where no sample has it.
func (r *row) median(of column.Column) (float64, bool) {
	spread, ok := view.SpreadOf(r.samples, of)
	return spread.Median, ok
}

// rowsOf gathers the samples of each kind of moves.
func rowsOf(run *result.Run) (rows []*row) {
	for _, of := range (view.Shape{Columns: columns, Rows: settings}).RowsOf(run) {
		r := &row{samples: of.Samples, cell: of.Cell}
		for i := range of.Samples {
			if f, ok := result.Typed[Figures](&of.Samples[i]); ok {
				r.Figures = *f
				rows = append(rows, r)
				break
			}
		}
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

// cost is that of a move of the row, in seconds, and how much of it refills caches: the sum of two medians, so that what
// is read together adds up. false: there are no figures.
func (r *row) cost() (seconds, refill float64, ok bool) {
	moving, hasMove := r.median(columns.Get("move_seconds"))
	refill, hasRefill := r.median(columns.Get("refill_seconds"))
	return moving + refill, refill, hasMove && hasRefill
}

// reached describes how much of the working set was read again until it was refilled, or until the next move.
func (r *row) reached() uint64 {
	bytes, _ := r.median(columns.Get("refill_bytes"))
	return uint64(bytes)
}

// sentence says what the moves of a row cost.
func (r *row) sentence() string {
	seconds, refill, _ := r.cost()
	words := fmt.Sprintf("a move to %s costs %s", where[r.Relation], units.Seconds(seconds))
	switch {
	case refill <= 0:
		return words + ", and nothing to refill " + units.Bytes(r.WorkingSet)
	case r.reached() < r.WorkingSet:
		return words + fmt.Sprintf(", of which %s refill %s of %s before the next move", units.Seconds(refill),
			units.Bytes(r.reached()), units.Bytes(r.WorkingSet))
	}
	return words + fmt.Sprintf(", of which %s refill %s", units.Seconds(refill), units.Bytes(r.WorkingSet))
}

// costliest are the moves that cost most of each relation that was measured, the nearest relation first. It prefers those
// that had the time to refill the working set, and of these, those that were found to make accesses slower.
func costliest(run *result.Run) (rows []*row) {
	weight := func(r *row) (weight int) {
		if r.reached() >= r.WorkingSet {
			weight = 2
		}
		if run.Matrix != nil && r.cell >= 0 {
			if v := run.Cells[r.cell].Verdict; v != nil && v.Kind == stats.Slower {
				weight++
			}
		}
		return weight
	}
	byRelation := map[string]*row{}
	for _, r := range rowsOf(run) {
		seconds, _, ok := r.cost()
		if !ok || where[r.Relation] == "" {
			continue
		}
		most := byRelation[r.Relation]
		if most != nil {
			highest, _, _ := most.cost()
			if cmp.Or(cmp.Compare(weight(r), weight(most)), cmp.Compare(seconds, highest)) <= 0 {
				continue
			}
		}
		byRelation[r.Relation] = r
	}
	for _, name := range relationNames() {
		if r := byRelation[name]; r != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// derived returns a finding for each relation: what the moves cost that cost most.
func derived(run *result.Run) (findings []result.Finding, _ []result.Warning) {
	for _, r := range costliest(run) {
		seconds, _, _ := r.cost()
		findings = append(findings, result.Finding{Code: "move-cost", Message: r.sentence(), Value: seconds})
	}
	return findings, nil
}

// answer says of a judged run what the moves cost that cost most, and then what was found of the accesses. nil: no thread
// was moved, or nothing is judged.
func answer(run *result.Run, _ view.Spec) []view.Statement {
	most, words := 0.0, ""
	for _, r := range costliest(run) {
		if seconds, _, _ := r.cost(); seconds > most {
			most, words = seconds, r.sentence()
		}
	}
	if words == "" || run.Matrix == nil || run.Matrix.Title != compared {
		return nil
	}
	verdicts := view.Verdicts(run)
	first := verdicts[0].Text
	verdicts[0].Text = "By the time of an access, " + strings.ToLower(first[:1]) + first[1:]
	return append([]view.Statement{{Text: "A" + words[1:] + "."}}, verdicts...)
}
