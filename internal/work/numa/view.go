package numa

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

// shown is how runs of `gorun numa` are shown.
var shown = experiment.View{
	Drawn: rfcBlock, Tables: tables, Plan: planTable,
	Options: []string{
		"load", "buffer", "pages", "access", "accesses", "repetitions", "settle_seconds", "preferred_node_by",
	},
	Drawings: []experiment.Drawing{
		{Anchor: "nodes", Draw: drawMaps},
	},
}

// measuredRow is a row of `gorun numa`, with the time of each good sample and that of an access in it.
type measuredRow struct {
	result.NumaRow
	seconds, ns []float64
}

// measuredRows returns the rows of a run in order; none for a matrix. The samples of the control are the baseline's.
func measuredRows(run *result.Run) []measuredRow {
	rows := withoutSamples(run.NumaRows)
	for _, s := range run.Samples.All() {
		v, ok := result.Typed[Figures](s)
		if !ok || !s.Good() || v.Accesses == 0 || v.Row < 0 || v.Row >= len(rows) {
			continue
		}
		row := &rows[v.Row]
		row.seconds, row.ns = append(row.seconds, s.Seconds), append(row.ns, v.NsPerAccess)
	}
	return rows
}

// withoutSamples returns the rows of a plan, or of a run that has not begun.
func withoutSamples(of []result.NumaRow) []measuredRow {
	rows := make([]measuredRow, len(of))
	for i, row := range of {
		rows[i].NumaRow = row
	}
	return rows
}

// group is what rows have in common that differ only in the nodes of the memory and the CPUs.
func group(row result.NumaRow) result.NumaRow {
	row.Row, row.Mem, row.CPU, row.PreferredBy, row.Unsupported, row.NoEffect = 0, 0, 0, "", "", ""
	return row
}

// rowAxes are the values in which rows can differ. Those from extraAxes on are shown only if they do.
var rowAxes = [...]struct {
	key string
	of  func(row measuredRow) string
}{
	{"PNID", func(row measuredRow) string { return strconv.Itoa(row.PreferredNode) }},
	{"NB", func(row measuredRow) string { return orWord(row.NUMABalancing, "keep") }},
	{"Mem", func(row measuredRow) string { return orWord(row.Mem, "F") }},
	{"CPU", func(row measuredRow) string { return orWord(row.CPU, "F") }},
	{"Access", func(row measuredRow) string { return row.Access }},
	{"Pages", func(row measuredRow) string { return row.Pages }},
	{"Bind", func(row measuredRow) string { return cmp.Or(row.MemPolicy, memPolicies[0]) }},
	{"Touch", func(row measuredRow) string { return cmp.Or(row.FirstTouch, TouchNear) }},
	{"Scan", func(row measuredRow) string { return orKeep(row.ScanDelay) }},
	{"Cost", func(row measuredRow) string { return orKeep(row.MigrationCost) }},
	{"Buffer", func(row measuredRow) string { return units.Bytes(row.BufferBytes) }},
}

const extraAxes = 4

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
func differing(rows []measuredRow) (differ [len(rowAxes)]bool) {
	for i, axis := range rowAxes {
		differ[i] = slices.ContainsFunc(rows, func(row measuredRow) bool { return axis.of(row) != axis.of(rows[0]) })
	}
	return differ
}

// tables are those of any experiment, with the load and, below the first, why rows have no figures.
func tables(run *result.Run, shape view.Shape) []table.Table {
	tables := shape.Tables(run)
	if load := loadTable(run.Samples); len(load.Rows) > 0 && shape.Verbose {
		tables = append(tables, load)
	}
	if len(tables) == 0 {
		return nil
	}
	first := &tables[0]
	first.Notes = append(first.Notes, limits(run.NumaRows)...)
	if run.Matrix != nil && run.Matrix.Order.Design == result.Rows {
		first.Notes = append(first.Notes, "Nothing is judged: with --blocks all samples of a row are consecutive, so a change during the run"+
			" looks like a difference between rows.")
	}
	return tables
}

// planTable lists the rows, with the reasons why some cannot be measured.
func planTable(plan *result.Plan) []table.Table {
	rows := withoutSamples(plan.NumaRows)
	t := table.Of(rows).With("row", func(row measuredRow) table.Value { return table.Text(rowName(row.Row)) })
	differ := differing(rows)
	for n, axis := range rowAxes {
		if n < extraAxes || differ[n] {
			t.With(axis.key, func(row measuredRow) table.Value { return table.Text(axis.of(row)) })
		}
	}
	t.With("", func(row measuredRow) table.Value {
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
