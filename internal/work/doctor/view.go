package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/publish/metrics"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

// answer says whether the machine is ready or why not, how much a run would suffer, and what else does not work.
func (r *Report) answer() []view.Statement {
	var reasons, others []string
	for _, area := range r.Areas {
		switch {
		case area.Ready:
		case slices.Contains(needed, area.Area):
			reasons = append(reasons, area.Reason)
		default:
			others = append(others, fmt.Sprintf("Not ready for %s: %s.", area.Area.title(), area.Reason))
		}
	}
	t := r.Trial
	lines := []string{"Ready, as far as files show: no runs were compared."}
	if t != nil {
		lines[0] = fmt.Sprintf("Ready: a run of %s can find differences from %s on.", units.Duration(t.PromisedSeconds), percent(t.Resolution))
		equal := fmt.Sprintf("The same %s task varies by %s here", units.Seconds(t.RunSeconds), percent(t.Differs))
		if t.Resolution > 0 && !r.Ready {
			equal += ": " + t.expectation()
		}
		lines = append(lines, equal+".")
	}
	if !r.Ready {
		lines[0] = "Not ready: " + strings.Join(reasons, "; ") + "."
	}
	var statements []view.Statement
	for _, line := range append(lines, others...) {
		statements = append(statements, view.Statement{Text: line})
	}
	return statements
}

// title returns an area as people write it.
func (a Area) title() string {
	if a == NUMA {
		return "NUMA"
	}
	return string(a)
}

// tables have a row for each condition of an area, with what it means and what can be done.
func (r *Report) tables() (tables []table.Table) {
	for _, area := range Areas {
		of := slices.DeleteFunc(slices.Clone(r.Conditions), func(c Condition) bool { return c.Area != area })
		tables = append(tables, table.Of(of).
			With("level", func(c Condition) table.Value { return table.Text(c.Level) }).
			With("condition", func(c Condition) table.Value { return table.Text(c.Name) }).
			With("value", func(c Condition) table.Value {
				text := c.Value
				if c.Effect != "" {
					text += ": " + c.Effect
				}
				if c.Remedy != "" {
					text += "; " + c.Remedy
				}
				return table.Phrases{{Text: text}}
			}).
			Table(string(area), area.title()))
	}
	return tables
}

// Page implements document.Document: the answer, then the conditions.
func (r *Report) Page(bool) view.Page {
	return view.Page{Answer: r.answer(), Tables: r.tables(), Warnings: view.Warnings(r.Warnings)}
}

// Brief implements document.Summarised.
func (r *Report) Brief() view.Page { return r.Page(false) }

// Fixes writes the commands that change conditions above OK, each with its undo.
func (r *Report) Fixes(w io.Writer) error {
	var page strings.Builder
	for _, c := range r.Conditions {
		if c.Fix == nil || c.Level == OK {
			continue
		}
		fmt.Fprintf(&page, "# %s: %s\n%s\n# undo: %s\n", c.Name, c.Value, c.Fix.Do, c.Fix.Undo)
	}
	if page.Len() == 0 {
		page.WriteString("# no command changes what was found\n")
	}
	_, err := io.WriteString(w, page.String())
	return err
}

// Gauges implements document.Metered.
func (r *Report) Gauges() []metrics.Metric {
	ready := metrics.Metric{
		Name: "gorun_doctor_ready", Help: "Whether the machine is ready for measurements of an area: 1 or 0.", Labels: []string{"area"},
	}
	for _, area := range r.Areas {
		value := map[bool]float64{true: 1}[area.Ready]
		ready.Points = append(ready.Points, metrics.Point{Labels: []string{string(area.Area)}, Value: value})
	}
	counts := metrics.Metric{Name: "gorun_doctor_conditions", Help: "The number of conditions of each level.", Labels: []string{"level"}}
	for _, level := range levels {
		of := slices.DeleteFunc(slices.Clone(r.Conditions), func(c Condition) bool { return c.Level != level })
		counts.Points = append(counts.Points, metrics.Point{Labels: []string{string(level)}, Value: float64(len(of))})
	}
	gauges := []metrics.Metric{ready, counts}
	gauge := func(name, help string, x float64) {
		gauges = append(gauges, metrics.Metric{Name: name, Help: help, Points: []metrics.Point{{Value: x}}})
	}
	if t := r.Trial; t != nil {
		gauge("gorun_doctor_equal_runs_difference_ratio", "The median difference of two equal runs, one after the other: 0.02 is 2%.", t.Differs)
		if t.Resolution > 0 {
			gauge("gorun_doctor_resolution_ratio",
				"The least difference that a run of 30 seconds is expected to find: 0.02 is 2%.", t.Resolution)
		}
	}
	return gauges
}
