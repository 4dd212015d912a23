package numa

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gorun/internal/column"
	"gorun/internal/experiment"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/table"
	"gorun/internal/units"
)

// shown is how runs of `gorun numa` are shown.
var shown = experiment.View{
	Answer: answer, Drawn: rfcBlock, Tables: tables, Plan: planTable,
	Options: []string{
		"load", "buffer", "pages", "access", "accesses", "repetitions", "settle_seconds", "preferred_node_by",
	},
	Drawings: []experiment.Drawing{
		{Anchor: "nodes", Draw: drawMaps}, {Anchor: "latency", Draw: drawLatency},
	},
}

// measuredRow is a row of `gorun numa` and its good samples.
type measuredRow struct {
	result.NumaRow
	cell    int       // index in the run's cells; -1: none
	seconds []float64 // of each sample
	samples []Figures
}

// measuredRows returns the rows of a run in order; none for a matrix. The samples of the control duplicate the baseline's,
// and are left out.
func measuredRows(run *result.Run) []measuredRow {
	rows := make([]measuredRow, len(run.NumaRows))
	for i, row := range run.NumaRows {
		rows[i] = measuredRow{NumaRow: row, cell: -1}
	}
	for i := range run.Samples {
		s := &run.Samples[i]
		v, ok := result.Typed[Figures](s)
		if !ok || !s.Good() || s.Slot != nil && s.Control || v.Accesses == 0 || v.Row < 0 || v.Row >= len(rows) {
			continue
		}
		row := &rows[v.Row]
		row.seconds, row.samples = append(row.seconds, s.Seconds), append(row.samples, *v)
	}
	for i, cell := range run.Cells {
		if n, err := strconv.Atoi(cell.Flags["row"]); err == nil && n >= 0 && n < len(rows) {
			rows[n].cell = i
		}
	}
	return rows
}

// withSamples returns the rows with a good sample.
func withSamples(rows []measuredRow) []measuredRow {
	return slices.DeleteFunc(slices.Clone(rows), func(row measuredRow) bool { return len(row.samples) == 0 })
}

// nsPerAccess returns the distribution over the row's samples.
func (p *measuredRow) nsPerAccess() result.Distribution {
	ns := make([]float64, len(p.samples))
	for i := range p.samples {
		ns[i] = p.samples[i].NsPerAccess
	}
	return result.Distribute(ns)
}

// rowAxes are the values in which rows can differ. Those from extraAxes on are shown only if they do.
var rowAxes = [...]struct {
	key string
	of  func(row *result.NumaRow) string
}{
	{"PNID", func(row *result.NumaRow) string { return strconv.Itoa(row.PreferredNode) }},
	{"NB", func(row *result.NumaRow) string { return orWord(row.NUMABalancing, "keep") }},
	{"Mem", func(row *result.NumaRow) string { return orWord(row.Mem, "F") }},
	{"CPU", func(row *result.NumaRow) string { return orWord(row.CPU, "F") }},
	{accessAxis, func(row *result.NumaRow) string { return term.Snip(row.Access, 16) }},
	{"Pages", func(row *result.NumaRow) string { return term.Snip(row.Pages, 16) }},
	{"Bind", func(row *result.NumaRow) string { return term.Snip(cmp.Or(row.MemPolicy, memPolicies[0]), 16) }},
	{"Touch", func(row *result.NumaRow) string { return term.Snip(cmp.Or(row.FirstTouch, TouchNear), 16) }},
	{"Scan", func(row *result.NumaRow) string { return orKeep(row.ScanDelay) }},
	{"Cost", func(row *result.NumaRow) string { return orKeep(row.MigrationCost) }},
	{bufferAxis, func(row *result.NumaRow) string { return units.Bytes(row.BufferBytes) }},
}

const (
	extraAxes  = 4
	accessAxis = "Access"
	bufferAxis = "Buffer"
)

// orKeep formats a time that a row sets.
func orKeep(seconds float64) string {
	if seconds == 0 {
		return keep
	}
	return units.Seconds(seconds)
}

// orWord formats a number, or the word for -1.
func orWord(number int, word string) string {
	if number == -1 {
		return word
	}
	return strconv.Itoa(number)
}

// differing reports which axes differ between rows.
func differing(rows []result.NumaRow) (differ [len(rowAxes)]bool) {
	for i, axis := range rowAxes {
		differ[i] = slices.ContainsFunc(rows, func(row result.NumaRow) bool { return axis.of(&row) != axis.of(&rows[0]) })
	}
	return differ
}

func plainRows(rows []measuredRow) []result.NumaRow {
	plain := make([]result.NumaRow, len(rows))
	for i := range rows {
		plain[i] = rows[i].NumaRow
	}
	return plain
}

// tables are those of any experiment, with the times by the size of the buffer, the load and, below the first, why rows have no
// figures. Rows that differ only in their buffers and access patterns get no verdicts.
func tables(run *result.Run, shape view.Shape) (tables []table.Table) {
	rows := measuredRows(run)
	some := withSamples(rows)
	if shape.Verbose || !isCurve(some) {
		tables = shape.Tables(run)
	}
	if latency := latencyTable(some, run.Caches); len(latency.Rows) > 0 {
		tables = append(tables, latency)
	}
	if load := loadTable(some); len(load.Rows) > 0 && shape.Verbose {
		tables = append(tables, load)
	}
	if len(tables) == 0 {
		return nil
	}
	first := &tables[0]
	first.Notes = append(first.Notes, limits(plainRows(rows))...)
	if run.Matrix != nil && run.Matrix.Order.Design == result.Rows {
		first.Notes = append(first.Notes, "Nothing is judged: with --blocks all samples of a row are consecutive, so a change during the run"+
			" looks like a difference between rows.")
	}
	if note := indexNote(some); note != "" && shape.Verbose {
		first.Notes = append(first.Notes, note)
	}
	return tables
}

// loadTable has the requested load next to the CPUs' actual load.
func loadTable(rows []measuredRow) (t table.Table) {
	var achieved, expected []float64
	var requested float64
	var worst result.LoadCPU
	off := func(c result.LoadCPU) float64 { return max(c.Expected-c.Achieved, c.Achieved-requested) }
	for _, row := range rows {
		for _, v := range row.samples {
			if v.Load == nil {
				continue
			}
			requested = v.Load.Requested
			for _, c := range v.Load.CPUs {
				achieved, expected = append(achieved, c.Achieved), append(expected, c.Expected)
				if len(achieved) == 1 || off(c) > off(worst) {
					worst = c
				}
			}
		}
	}
	if len(achieved) == 0 {
		return t
	}
	t.Title = "Load next to the probe: " + units.Exact(requested) + "% requested of each CPU"
	t.Add("", "least", "mean", "greatest")
	add := func(name string, d result.Distribution) {
		row := []table.Value{table.Text(name)}
		for _, x := range []float64{d.Min, d.Mean, d.Max} {
			row = append(row, table.Number{X: x, Unit: column.Percent})
		}
		t.Rows = append(t.Rows, table.Row{Values: row})
	}
	add("achieved", result.Distribute(achieved))
	add("expected", result.Distribute(expected))
	note := fmt.Sprintf("Furthest from what was expected was CPU %d: %s%% instead of %s%%.", worst.CPU, units.Tenths(worst.Achieved),
		units.Tenths(min(worst.Expected, requested)))
	if expected[0] < requested {
		note = "Less is expected where the probe had the CPU. " + note
	}
	t.Notes = []string{note}
	return t
}

// indexNote returns the cost of random indices; "" if there were none.
func indexNote(rows []measuredRow) string {
	var ns, shares []float64
	for _, row := range rows {
		for _, v := range row.samples {
			if v.IndexNs > 0 && v.NsPerAccess > 0 {
				ns, shares = append(ns, v.IndexNs), append(shares, v.IndexNs/v.NsPerAccess)
			}
		}
	}
	if len(ns) == 0 {
		return ""
	}
	part, most := units.Percent(slices.Min(shares)), units.Percent(slices.Max(shares))
	if most != part {
		part += " to " + most
	}
	return "Of an access, making its random index takes " + strconv.FormatFloat(result.Distribute(ns).Median, 'f', 2, 64) +
		" ns, measured without memory: " + part + " of its time."
}

// planTable lists the rows, with the reasons why some cannot be measured.
func planTable(plan *result.Plan) []table.Table {
	t := table.Of(plan.NumaRows).With("row", func(row result.NumaRow) table.Value { return table.Text(rowName(row.Row)) })
	differ := differing(plan.NumaRows)
	for n, axis := range rowAxes {
		if n < extraAxes || differ[n] {
			t.With(axis.key, func(row result.NumaRow) table.Value { return table.Text(axis.of(&row)) })
		}
	}
	t.With("", func(row result.NumaRow) table.Value {
		switch {
		case row.Unsupported != "":
			return table.Text("unsupported")
		case row.NoEffect != "":
			return table.Text("no effect")
		}
		return table.Text("")
	})
	return []table.Table{t.Table("", "", limits(plan.NumaRows)...)}
}

// rowName is how a row is called, as in the RFC.
func rowName(row int) string { return fmt.Sprintf("[%02d]", row) }
