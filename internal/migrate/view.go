package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/column"
	"gorun/internal/experiment"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/topology"
	"gorun/internal/units"
)

// shown is how runs of `gorun migrate` are shown. The cells of one are rows of its own table; those of a matrix are not.
var shown = experiment.View{
	Title: title, Answer: answer, Blocks: blocks, Options: []string{"relation", "every", "moves", "working_set", "access"},
	Plan:     func(*result.Plan, view.Spec) string { return "" },
	OwnCells: func(run *result.Run) bool { return run.Matrix != nil && run.Matrix.Title == compared },
	Derived:  derived,
	Found:    "what a move costs",
	Compared: view.Compared{Figure: perAccess, Name: func(s *result.Sample) (string, int) {
		f, ok := result.Typed[Figures](s)
		if !ok {
			return "", 0
		}
		return f.Relation + " " + units.Bytes(f.WorkingSet), 0
	}},
}

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
	var all []float64
	for i := range r.samples {
		if x, ok := of.Number(&r.samples[i]); ok {
			all = append(all, x)
		}
	}
	spread, ok := view.SpreadAmong(all)
	return spread.Median, ok
}

// rowsOf gathers the samples of each kind of moves, by time between moves, working set and relation. Those of the control
// are the baseline's twice over, and are left out.
func rowsOf(run *result.Run) (rows []*row) {
	type kind struct {
		every, access string
		bytes         uint64
		a, b, cell    int
	}
	byKind := map[kind]*row{}
	for _, s := range view.Summarised(run.Samples) {
		f, ok := result.Typed[Figures](&s)
		if !ok || s.Slot != nil && s.Control {
			continue
		}
		k := kind{units.Exact(f.Every), f.Access, f.WorkingSet, f.CPUA, f.CPUB, -1}
		if view.CellOf(run, &s) != nil {
			k.cell = s.Cell
		}
		if byKind[k] == nil {
			byKind[k] = &row{Figures: *f, cell: k.cell}
			rows = append(rows, byKind[k])
		}
		byKind[k].samples = append(byKind[k].samples, s)
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.Every, b.Every), cmp.Compare(a.WorkingSet, b.WorkingSet), cmp.Compare(place(a), place(b)))
	})
	return rows
}

// place is that of a relation, nearest first.
func place(r *row) int { return slices.Index(relationNames(), r.Relation) }

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
	moving, hasMove := r.median(move)
	refill, hasRefill := r.median(refillTime)
	return moving + refill, refill, hasMove && hasRefill
}

// reached describes how much of the working set was read again until it was refilled, or until the next move.
func (r *row) reached() uint64 {
	bytes, _ := r.median(refilled)
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

// title is the heading.
func title(run *result.Run, options view.Spec) (title string, parts []string) {
	title = "gorun migrate: a thread moved between two CPUs"
	for _, option := range []string{"access", "moves", "every"} {
		if text := options.Text(option); text != "" {
			parts = append(parts, view.Option(option, text))
		}
	}
	if m := run.Matrix; m != nil {
		parts = append(parts, units.Things(len(run.Samples), "sample"), "margin "+units.Share(m.Margin),
			"alpha "+units.Share(m.Alpha))
	}
	return title, parts
}

// blocks are a row for each kind of moves, with what is found of the accesses.
func blocks(run *result.Run, _ view.Spec, opts term.Options) []string {
	rows := rowsOf(run)
	if run.Matrix == nil {
		return []string{table(run, rows, opts), view.SamplesBlock(run, opts)}
	}
	return []string{
		view.NextBlock(run, opts), table(run, rows, opts), view.ControlBlock(run, opts), view.DoubtsBlock(run, opts),
	}
}

func table(run *result.Run, rows []*row, opts term.Options) string {
	if len(rows) == 0 {
		return ""
	}
	var columns []term.Column
	several := slices.ContainsFunc(rows, func(r *row) bool { return r.Every != rows[0].Every })
	if several {
		columns = append(columns, term.Right("a move every"))
	}
	columns = append(columns, term.Right("working set"), term.Left("relation"), term.Left("CPUs"), term.Right("a move"),
		term.Right("refill"), term.Right("cost"), term.Right("an access"))
	lines := make([]term.Judged, len(rows))
	for i, r := range rows {
		if several {
			lines[i].Cells = append(lines[i].Cells, units.Seconds(r.Every))
		}
		lines[i].Cells = append(lines[i].Cells, units.Bytes(r.WorkingSet), r.Relation, fmt.Sprintf("%d,%d", r.CPUA, r.CPUB))
		moving, refill, cost := units.None, units.None, units.None
		if seconds, of, ok := r.cost(); ok {
			moving, refill, cost = units.Seconds(seconds-of), units.Seconds(of), units.Seconds(seconds)
		}
		lines[i].Cells = append(lines[i].Cells, moving, refill, cost, r.access())
		if run.Matrix != nil && r.cell >= 0 {
			lines[i].Words = view.CellPhrases(run, r.cell, opts)
		}
	}
	if run.Matrix == nil {
		cells := make([][]string, len(lines))
		for i, line := range lines {
			cells[i] = line.Cells
		}
		return term.FoldedGrid(columns, cells, opts)
	}
	return term.JudgedGrid(columns, "verdict of an access", lines, opts)
}

// access shows the time of an access.
func (r *row) access() string {
	ns, ok := r.median(perAccess)
	if !ok {
		return units.None
	}
	return units.Seconds(ns / 1e9)
}
