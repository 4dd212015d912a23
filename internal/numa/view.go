package numa

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"gorun/internal/experiment"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// shown is the view of `gorun numa` runs, whose rows have their own table. The cells of a matrix do not use it.
var shown = experiment.View{
	Answer: answer, Title: title, Blocks: blocks, Plan: planBlock,
	Options: []string{
		"load", "buffer", "pages", "access", "accesses", "repetitions", "settle_seconds", "preferred_node_by",
	},
	Drawings: []experiment.Drawing{
		{Anchor: "nodes", Draw: drawMaps}, {Anchor: "latency", Draw: drawLatency},
	},
	Compared: view.Compared{
		Figure: perAccess, Heading: "an access",
		Name: func(s *result.Sample) (string, int) {
			row := 0
			if n, ok := result.Typed[result.Numa](s); ok {
				row = n.Row
			}
			return view.RowName(row), row
		},
	},
	OwnCells:    func(run *result.Run) bool { return len(run.NumaRows) > 0 },
	Unsupported: unsupportedRows,
}

// measuredRow is a row of `gorun numa` and its good samples.
type measuredRow struct {
	result.NumaRow
	cell    int       // index in the run's cells; -1: none
	seconds []float64 // of each sample
	samples []result.Numa
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
		v, ok := result.Typed[result.Numa](s)
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

// name returns the row's displayed number.
func (p *measuredRow) name() string { return view.RowName(p.Row) }

// rowAxes are the values in which rows can differ. Those from extraAxes on are shown only if they do.
var rowAxes = [...]struct {
	key  string
	part func(text string) string // part of the heading if it is the same in all rows; nil: none
	of   func(row *result.NumaRow) string
}{
	{"PNID", nil, func(row *result.NumaRow) string { return strconv.Itoa(row.PreferredNode) }},
	{"NB", nil, func(row *result.NumaRow) string { return orWord(row.NUMABalancing, "keep") }},
	{"Mem", nil, func(row *result.NumaRow) string { return orWord(row.Mem, "F") }},
	{"CPU", nil, func(row *result.NumaRow) string { return orWord(row.CPU, "F") }},
	{
		accessAxis, func(text string) string { return text + " access" },
		func(row *result.NumaRow) string { return term.Snip(row.Access, 16) },
	},
	{
		"Pages", func(text string) string { return text + " pages" },
		func(row *result.NumaRow) string { return term.Snip(row.Pages, 16) },
	},
	{"Bind", nil, func(row *result.NumaRow) string { return term.Snip(cmp.Or(row.MemPolicy, memPolicies[0]), 16) }},
	{"Touch", nil, func(row *result.NumaRow) string { return term.Snip(cmp.Or(row.FirstTouch, TouchNear), 16) }},
	{
		"Scan", func(text string) string { return "scan delay " + text },
		func(row *result.NumaRow) string { return orKeep(row.ScanDelay) },
	},
	{
		"Cost", func(text string) string { return "migration cost " + text },
		func(row *result.NumaRow) string { return orKeep(row.MigrationCost) },
	},
	{
		bufferAxis, func(text string) string { return "buffer of " + text },
		func(row *result.NumaRow) string { return units.Bytes(row.BufferBytes) },
	},
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

// rowColumns returns the columns of the rows' numbers and parameters: the first ones always, the others if they differ.
func rowColumns(rows []result.NumaRow, always int) (columns []term.Column, cells [][]string) {
	columns, cells = []term.Column{term.Left("row")}, make([][]string, len(rows))
	for i := range rows {
		cells[i] = []string{view.RowName(rows[i].Row)}
	}
	differ := differing(rows)
	for n, axis := range rowAxes {
		if n >= always && !differ[n] {
			continue
		}
		columns = append(columns, term.Right(axis.key))
		for i := range rows {
			cells[i] = append(cells[i], axis.of(&rows[i]))
		}
	}
	return columns, cells
}

// title returns the heading of `gorun numa`: the values that are the same in all rows.
func title(run *result.Run, options view.Spec) (title string, parts []string) {
	rows := measuredRows(run)
	if len(rows) == 0 {
		return view.OptionsTitle(run, options)
	}
	title = "gorun numa: the cost of the placement of a process and its memory"
	count, unsupported := units.Things(len(rows), "row"), 0
	by := ""
	for _, row := range rows {
		if row.Unsupported != "" {
			unsupported++
		}
		by = cmp.Or(by, row.PreferredBy)
	}
	if unsupported > 0 {
		count += fmt.Sprintf(" (%d unsupported)", unsupported)
	}
	parts = []string{count}
	plain := plainRows(rows)
	for i, differ := range differing(plain) {
		if part := rowAxes[i].part; part != nil && !differ && rowAxes[i].of(&plain[0]) != keep {
			parts = append(parts, part(rowAxes[i].of(&plain[0])))
		}
	}
	if some := withSamples(rows); len(some) > 0 {
		v := some[0].samples[0]
		parts = append(parts,
			units.Large(float64(v.Accesses))+" accesses in "+units.Things(v.Repetitions, "repetition")+" a sample")
		if v.SettledSeconds > 0 {
			parts = append(parts, units.Seconds(v.SettledSeconds)+" before do not count")
		}
	}
	if by != "" {
		parts = append(parts, "nodes preferred by "+term.Snip(by, 16))
	}
	if m := run.Matrix; m != nil && !unjudged(run) {
		parts = append(parts, "margin "+units.Share(m.Margin), "alpha "+units.Share(m.Alpha))
	}
	return title, parts
}

// unjudged reports whether the rows are not compared.
func unjudged(run *result.Run) bool {
	return run.Matrix == nil || run.Matrix.Order.Design == result.Rows
}

// blocks returns the table in the form of the RFC, the verdicts, and notes on how the figures were measured.
func blocks(run *result.Run, options view.Spec, opts term.Options) []string {
	rows := measuredRows(run)
	if len(rows) == 0 {
		return []string{view.DoubtsBlock(run, opts)}
	}
	some := withSamples(rows)
	if isCurve(some) && !opts.Verbose {
		return []string{
			rowLimits(plainRows(rows), opts), latencyBlock(some, run.Caches, opts), loadBlock(some, opts), view.DoubtsBlock(run, opts),
		}
	}
	blocks := []string{
		rfcBlock(run, rows, options, opts), rowLimits(plainRows(rows), opts), verdictsBlock(run, rows, options, opts),
	}
	if !unjudged(run) {
		blocks = append(blocks, view.ControlBlock(run, opts))
	}
	return append(blocks, latencyBlock(some, run.Caches, opts), movesBlock(some, opts), nodeMovesBlock(some, opts),
		migrations(ofLife).block("Migrations in the probe's whole life, mean", some, opts), balancingBlock(some, opts), pagesBlock(some, opts), loadBlock(some, opts),
		rowNotes(some, opts), view.DoubtsBlock(run, opts))
}

// verdictsBlock has a line for each measured row: the time of an access, and the verdict against the baseline.
func verdictsBlock(run *result.Run, rows []measuredRow, options view.Spec, opts term.Options) string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(row measuredRow) bool {
		return row.Unsupported != "" || row.cell < 0 && len(row.samples) == 0
	})
	if len(rows) == 0 {
		return ""
	}
	columns, cells := rowColumns(plainRows(rows), 0)
	columns = append(columns, term.Right("ns/access"))
	lines := make([]term.Judged, len(rows))
	judged := !unjudged(run)
	for i, row := range rows {
		ns := units.None
		if len(row.samples) > 0 {
			ns = strconv.FormatFloat(row.nsPerAccess().Median, 'f', 2, 64)
		}
		cells[i] = append(cells[i], ns)
		if judged {
			lines[i].Words = []term.Phrase{{Text: "no verdict", Colour: term.Dim}}
			if row.cell >= 0 {
				lines[i].Words = view.CellPhrases(run, row.cell, opts)
			}
		}
	}
	if term.GridWidth(columns, cells)+2+min(term.LeastWords, term.LongestPhrase(lines)) > opts.Columns() {
		// If the columns do not fit, only the rows' numbers stay; the table above explains them.
		last := len(columns) - 1
		columns = []term.Column{columns[0], columns[last]}
		for i, line := range cells {
			cells[i] = []string{line[0], line[last]}
		}
	}
	if judged {
		for i := range lines {
			lines[i].Cells = cells[i]
		}
		return term.JudgedGrid(columns, "verdict", lines, opts)
	}
	block := term.Grid(columns, cells)
	if run.Matrix != nil && run.Matrix.Order.Design == result.Rows {
		block += term.Paragraph("  ", "Nothing is judged: with --blocks all samples of a row are consecutive, so a change"+
			" during the run looks like a difference between rows.", opts.Columns()-2)
	}
	return block
}

// loadBlock shows the requested load next to the CPUs' actual load.
func loadBlock(rows []measuredRow, opts term.Options) string {
	var achieved, expected []float64
	var requested float64
	var worst result.NumaLoadCPU
	off := func(c result.NumaLoadCPU) float64 { return max(c.Expected-c.Achieved, c.Achieved-requested) }
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
		return ""
	}
	line := func(name string, d result.Distribution) []string {
		return []string{name, units.Tenths(d.Min), units.Tenths(d.Mean), units.Tenths(d.Max)}
	}
	cells := [][]string{line("achieved", result.Distribute(achieved)), line("expected", result.Distribute(expected))}
	instead := units.Tenths(requested)
	if worst.Expected < requested {
		instead = units.Tenths(worst.Expected) + " to " + instead
	}
	note := fmt.Sprintf("Furthest from what was expected was CPU %d: %s instead of %s.", worst.CPU, units.Tenths(worst.Achieved), instead)
	if slices.Min(expected) < requested {
		note = "Less is expected where the probe had the CPU. " + note
	}
	return term.Title("Load next to the probe, % of a CPU: "+units.Exact(requested)+" requested of each", opts) +
		term.Grid([]term.Column{term.Left(""), term.Right("min"), term.Right("mean"), term.Right("max")}, cells) +
		term.Paragraph("  ", note, opts.Columns()-2)
}

// rowNotes returns notes on the part of an access that is not due to memory, and on rows that NUMA balancing looked at.
func rowNotes(rows []measuredRow, opts term.Options) string {
	block := ""
	if note := indexNote(rows); note != "" {
		block = term.Paragraph("  ", note, opts.Columns()-2)
	}
	var notes footnotes
	for i := range rows {
		notes.add(rows[i].Row, scansNote(&rows[i]))
	}
	return block + notes.text(opts)
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

// planBlock lists the rows, with the reasons why some cannot be measured.
func planBlock(plan *result.Plan, _ view.Spec) string {
	if len(plan.NumaRows) == 0 {
		return ""
	}
	columns, cells := rowColumns(plan.NumaRows, extraAxes)
	for i, row := range plan.NumaRows {
		state := ""
		switch {
		case row.Unsupported != "":
			state = "unsupported"
		case row.NoEffect != "":
			state = "no effect"
		}
		cells[i] = append(cells[i], state)
	}
	block := term.Grid(append(columns, term.Left("")), cells)
	if notes := rowLimits(plan.NumaRows, term.Options{}); notes != "" {
		block += "\n" + notes
	}
	return block
}

// unsupportedRows yields the rows that could not be measured, by name, with the reason.
func unsupportedRows(run *result.Run) iter.Seq2[string, string] {
	return func(yield func(name, why string) bool) {
		for _, row := range run.NumaRows {
			if row.Unsupported != "" && !yield(view.RowName(row.Row), row.Unsupported) {
				return
			}
		}
	}
}
