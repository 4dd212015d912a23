package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/shell"
	"gorun/internal/base/units"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// Plan is what a run would do, as a document. As JSON it is itself.
type Plan struct {
	*result.Plan
	views Views
}

// Plan returns a plan as a document.
func (v Views) Plan(plan *result.Plan) Plan { return Plan{plan, v} }

// Page implements document.Document.
func (p Plan) Page(bool) view.Page {
	tables := sharesTable
	if own := p.views.Of(p.Experiment).Plan; own != nil {
		tables = own
	}
	page := view.Page{
		Tables: slices.Concat([]table.Table{p.views.planOptions(p.Plan)}, tables(p.Plan), []table.Table{planCells(p.Plan), planOrder(p.Plan)}),
		Below:  []view.Text{func(opts term.Options) string { return chosenLines(p.Cells, opts.Columns()) }},
	}
	if p.Estimate != nil {
		page.Below = append(page.Below, func(opts term.Options) string { return planEstimate(p.Estimate, opts) })
	}
	return page
}

// planOptions has the options, and what follows from them.
func (v Views) planOptions(plan *result.Plan) table.Table {
	name, ran := plan.Experiment, "nothing"
	switch {
	case plan.Order.Design == result.Search:
		name = "bisect"
	case len(plan.Order.First) > 0 && !v.Of(name).Own: // not one experiment with several cells
		name = "matrix " + name
	}
	if plan.Estimate != nil && plan.Estimate.BaselineSeconds > 0 {
		ran = "nothing but the baseline, once,"
	}
	t := table.Table{Title: fmt.Sprintf("Plan of gorun %s (%s was run)", name, ran), Whole: true}
	t.Add("", "")
	line := func(name, text string) {
		if text != "" {
			t.AddRow(table.Text(name), table.Text(text))
		}
	}
	options := view.OptionsOf(plan.Spec)
	for _, name := range options.Names(v.Of(plan.Experiment).Options...) {
		if name != "cpus" || options.Text(name) != plan.CPUs {
			line(strings.ReplaceAll(name, "_", "-"), options.Text(name))
		}
	}
	line("CPUs of the run", plan.CPUs)
	line("placement", plan.Placement)
	if plan.Threads > 0 {
		line("threads at once", strconv.Itoa(plan.Threads))
	}
	if plan.Seed != nil {
		line("seed", strconv.FormatUint(*plan.Seed, 10))
	}
	line("CPU", plan.Chosen)
	if plan.Order.Design == result.Search {
		words := plan.Cells[plan.Baseline].Command
		line("command", shell.Join(words[slices.Index(words, "--")+1:]))
	}
	return t
}

// planCells lists the cells and their commands. A command is never broken: it is there to be copied.
func planCells(plan *result.Plan) table.Table {
	t := table.Table{Whole: true}
	if plan.Order.Design == result.Search {
		t.Add("revision", "subject")
		for i, cell := range plan.Cells {
			name := cell.Name
			if i == plan.Baseline {
				name += " (good)"
			}
			t.AddRow(table.Text(name), table.Text(cell.Comment))
		}
		t.Notes = []string{"The good one and the last are compared first, then a few in the middle: the samples decide which."}
		return t
	}
	t.Add("cell", "name", "command")
	for i, cell := range plan.Cells {
		name := cell.Name
		if i == plan.Baseline && cell.Against == nil || cell.Against != nil && *cell.Against == i {
			name += " (baseline)"
		}
		command := shell.Join(append([]string{"gorun"}, cell.Command...))
		if cell.Unavailable != "" {
			command = units.None + " " + cell.Unavailable
		}
		t.AddRow(table.Count(i), table.Text(name), table.Text(command))
	}
	var pairs []string
	for _, c := range plan.Contrasts {
		pairs = append(pairs, fmt.Sprintf("%d with %d", c.B, c.A))
	}
	if len(pairs) > 0 {
		t.Notes = []string{"Compared with another cell, in addition to the baseline: " + strings.Join(pairs, ", ")}
	}
	return t
}

// planOrder is the first round, a row a block.
func planOrder(plan *result.Plan) table.Table {
	t := table.Table{Title: "The first round", Notes: []string{
		"The baseline runs once in each block, and a second time in one of them, as its own control.",
	}}
	if len(plan.Steps) > 0 {
		t.Notes = append(t.Notes, "It is that of the first step. Each number is tried against the one before it, in blocks of their own, when those before it scale.")
	}
	t.Add("block", "cells")
	for i, cells := range plan.Order.First {
		words := make([]string, len(cells))
		for n, cell := range cells {
			words[n] = strconv.Itoa(cell)
			if cell == len(plan.Cells) {
				words[n] = "control"
			}
		}
		t.AddRow(table.Count(i+1), table.Phrases{{Text: strings.Join(words, " ")}})
	}
	return t
}

// planEstimate says how long a matrix is likely to take, and what is not known of that.
func planEstimate(e *result.Estimate, opts term.Options) string {
	rounds := units.Things(e.Rounds, "round")
	if !e.Asked {
		rounds = "at least " + rounds
	}
	text := rounds + "; how long one takes is not known (--estimate measures it)"
	if e.RoundSeconds > 0 {
		text = fmt.Sprintf("%s of about %s: %s", rounds, units.Duration(e.RoundSeconds), units.Duration(e.Seconds))
	}
	if e.BudgetSeconds > 0 {
		text += "; no round begins that would not end within the budget of " + units.Duration(e.BudgetSeconds)
		if e.RoundSeconds > 0 && e.Seconds > e.BudgetSeconds {
			text += ", which is enough for " + units.Things(int(e.BudgetSeconds/e.RoundSeconds), "round")
		}
	}
	if e.BaselineSeconds > 0 {
		text += ". One process of the baseline took " + units.Duration(e.BaselineSeconds) + ", with its start and warm-up"
	}
	return term.Paragraph("time  ", text+".", opts.Columns())
}

// sharesTable lists the CPUs in the order of the plan; runs of CPUs on one LLC with the same share take one row.
func sharesTable(plan *result.Plan) []table.Table {
	var runs [][]result.PlanShare
	for _, next := range plan.Shares {
		if n := len(runs); n > 0 {
			last := runs[n-1][len(runs[n-1])-1]
			if next.CPU == last.CPU+1 && next.LLC == last.LLC && next.Node == last.Node && next.Workers == last.Workers {
				runs[n-1] = append(runs[n-1], next)
				continue
			}
		}
		runs = append(runs, []result.PlanShare{next})
	}
	return []table.Table{table.Of(runs).
		With("CPU", func(run []result.PlanShare) table.Value {
			return table.CPUs(cpuset.Range(run[0].CPU, run[len(run)-1].CPU).String())
		}).
		With("LLC", func(run []result.PlanShare) table.Value { return table.Count(run[0].LLC) }).
		With("node", func(run []result.PlanShare) table.Value { return table.Count(run[0].Node) }).
		With("workers each", func(run []result.PlanShare) table.Value { return table.Count(run[0].Workers) }).
		Table("", "")}
}
