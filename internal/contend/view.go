package contend

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/experiment"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// shown is the view of `gorun contend` runs.
var shown = experiment.View{
	Title: title, Answer: answer, Blocks: blocks, Plan: planBlock,
	Options:  []string{"op", "load", "nodes", "mem_node", "dist_bytes", "mode"},
	Drawings: []experiment.Drawing{{Anchor: "curves", Draw: drawCurves}},
	Compared: view.Compared{Figure: perOperation, Name: series},
}

// measuredRow is a row of `gorun contend` and its good samples, or all samples if none is good.
type measuredRow struct {
	result.ContendRow
	variant, mode string
	samples       []Figures
	verdict       result.Verdict // the worst of the samples
}

// measuredRows groups the samples by row, in row order. Samples without a row are left out.
func measuredRows(samples []result.Sample) []measuredRow {
	type key struct {
		result.ContendRow
		variant, mode string
	}
	type taken struct {
		good, all      []Figures
		suspect, wrong bool // of the good; of all
	}
	byRow := map[key]*taken{}
	var order []key
	for i := range samples {
		c, ok := result.Typed[Figures](&samples[i])
		if !ok || c.CPUs <= 0 {
			continue
		}
		k := key{c.ContendRow, c.Variant, c.Mode}
		if byRow[k] == nil {
			byRow[k] = &taken{}
			order = append(order, k)
		}
		row, verdict := byRow[k], samples[i].Quality.Verdict
		row.all = append(row.all, *c)
		row.wrong = row.wrong || verdict == result.Invalid
		if samples[i].Good() {
			row.good = append(row.good, *c)
			row.suspect = row.suspect || verdict == result.Suspect
		}
	}
	slices.SortStableFunc(order, func(a, b key) int { return cmp.Compare(a.Row, b.Row) })
	rows := make([]measuredRow, len(order))
	for i, k := range order {
		row := byRow[k]
		rows[i] = measuredRow{ContendRow: k.ContendRow, variant: k.variant, mode: k.mode, samples: row.good}
		switch {
		case len(row.good) == 0 && row.wrong:
			rows[i].samples, rows[i].verdict = row.all, result.Invalid
		case len(row.good) == 0:
			rows[i].samples, rows[i].verdict = row.all, result.Suspect
		case row.suspect:
			rows[i].verdict = result.Suspect
		default:
			rows[i].verdict = result.Valid
		}
	}
	return rows
}

// spread returns the distribution of a figure over the row's samples that have it; false if none has, or if no
// operation was counted.
func (c *measuredRow) spread(of func(c *Figures) *float64) (result.Distribution, bool) {
	var figures []float64
	for i := range c.samples {
		if x := of(&c.samples[i]); x != nil && c.samples[i].Operations > 0 {
			figures = append(figures, *x)
		}
	}
	return result.Distribute(figures), len(figures) > 0
}

// groupNodes returns the nodes of the groups of a pattern; none if the options do not have them.
func groupNodes(options view.Spec) []int {
	nodes, err := cpuset.Parse(options.Text("nodes"))
	if err != nil {
		return nil
	}
	return nodes.List()
}

// listingForm is the form of rows' names.
type listingForm struct {
	drawn   bool
	lead    int // of a drawing: width of the words before it
	longest int // of a list: its width
}

var (
	fullListing  = listingForm{drawn: true, lead: 1}
	bareListing  = listingForm{drawn: true}
	listListing  = listingForm{longest: 24}
	shortListing = listingForm{longest: 12}
)

// listing names rows by a drawing of their CPUs, their number, and the operation:
//
//	Nodes N0   N1   CPUs operation
//	CPUs  **** *--- 5    cmpxchg
//
// The form shortens names that are too wide.
func listing(rows []result.ContendRow, nodes []int, form listingForm) (title string, lines []string) {
	const longest = 24 // of a name that is not ours
	heads, widest := []string{"CPUs", "list"}, 0
	if form.drawn {
		heads = []string{"Nodes"}[:form.lead]
		for _, row := range rows {
			widest = max(widest, len(strings.Fields(row.Pattern)))
		}
		for i := range widest {
			name := "N?"
			if i < len(nodes) {
				name = "N" + strconv.Itoa(nodes[i])
			}
			heads = append(heads, name)
		}
		heads = append(heads, "CPUs")
	}
	cells := [][]string{append(heads, "operation")}
	for _, row := range rows {
		number, op := strconv.Itoa(row.CPUs), term.Snip(row.Op, longest)
		if !form.drawn {
			cells = append(cells, []string{number, term.Shorten(row.CPUList, form.longest), op})
			continue
		}
		groups := strings.Fields(row.Pattern)
		groups = append(groups, make([]string, widest-len(groups))...)
		cells = append(cells, slices.Concat([]string{"CPUs"}[:form.lead], groups, []string{number, op}))
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], term.Width(cell))
		}
	}
	for _, line := range cells {
		for i, cell := range line {
			line[i] = term.Pad(cell, widths[i])
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return lines[0], lines[1:]
}

// title returns the heading of `gorun contend`: the values that are the same in all rows.
func title(run *result.Run, options view.Spec) (title string, parts []string) {
	rows := measuredRows(run.Samples)
	if len(rows) == 0 {
		return view.OptionsTitle(run, options)
	}
	var ops []string
	for _, row := range rows {
		if op := term.Snip(row.Op, 24); !slices.Contains(ops, op) {
			ops = append(ops, op)
		}
	}
	title = "gorun contend: " + strings.Join(ops, ", ")
	if len(ops) > 4 {
		title = "gorun contend: " + units.Things(len(ops), "operation")
	}
	title += ", ns an operation"
	for _, axis := range axes {
		if part := axis.part(axis.of(&rows[0])); part != "" && !differs(rows, axis.of) {
			parts = append(parts, term.Snip(part, 64))
		}
	}
	first := rows[0].samples[0]
	switch {
	case differs(rows, func(row *measuredRow) string { return row.mode }):
	case rows[0].mode == ByCount && first.CountPerCPU > 0:
		parts = append(parts, units.Things(int(first.CountPerCPU), "operation")+" a thread")
	case rows[0].mode == ByTime && first.WindowNs > 0:
		parts = append(parts, "windows of "+units.Seconds(first.WindowNs/1e9))
	}
	return title, parts
}

// blocks returns the rows, the meaning of their figures, and the samples.
func blocks(run *result.Run, options view.Spec, opts term.Options) []string {
	rows := measuredRows(run.Samples)
	if len(rows) == 0 {
		return []string{view.DoubtsBlock(run, opts)}
	}
	block := grid(run, rows, groupNodes(options), opts) + rowNotes(rows, opts)
	return []string{block, view.DoubtsBlock(run, opts)}
}

// verdictMarks follow a row whose figures are doubtful.
var verdictMarks = map[result.Verdict]string{result.Suspect: "?", result.Invalid: "!"}

// layouts are the possible layouts of the rows, best first: the form of their names, and the highest rank of the columns
// that stay.
var layouts = [...]struct {
	form listingForm
	rank int
}{
	{fullListing, 5},
	{fullListing, 4},
	{fullListing, 3},
	{bareListing, 3},
	{listListing, 3},
	{bareListing, 2},
	{listListing, 2},
	{shortListing, 2},
	{shortListing, 1},
	{shortListing, 0},
}

// grid lays out the rows in the best layout that fits, with the meaning of the columns. Operations are separated if
// each has several rows.
func grid(run *result.Run, rows []measuredRow, nodes []int, opts term.Options) string {
	plain, marks := make([]result.ContendRow, len(rows)), make([]string, len(rows))
	groups := 1
	for i, row := range rows {
		plain[i], marks[i] = row.ContendRow, opts.Paint(view.VerdictColour(row.verdict), verdictMarks[row.verdict])
		if i > 0 && startsGroup(rows, i) {
			groups++
		}
	}
	all := columnsOf(rows)
	var kept []tableColumn
	var columns []term.Column
	cells := make([][]string, len(rows))
	for _, fit := range layouts {
		title, lines := listing(plain, nodes, fit.form)
		kept = slices.DeleteFunc(slices.Clone(all), func(c tableColumn) bool { return c.rank > fit.rank })
		columns = []term.Column{term.Left(title)}
		for _, c := range kept {
			columns = append(columns, c.Column)
		}
		columns = append(columns, term.Left(""))
		for i := range rows {
			cells[i] = []string{lines[i]}
			for _, c := range kept {
				cells[i] = append(cells[i], c.show(&rows[i]))
			}
			cells[i] = append(cells[i], marks[i])
		}
		if term.GridWidth(columns, cells) <= opts.Columns() {
			break
		}
	}
	lines := slices.Collect(strings.Lines(term.Grid(columns, cells)))
	block := lines[0]
	for i, line := range lines[1:] {
		if i > 0 && groups < len(rows) && startsGroup(rows, i) {
			block += "\n"
		}
		block += line
	}
	var notes []string
	for _, c := range kept {
		if c.note != "" {
			notes = append(notes, c.note)
		}
	}
	if slices.ContainsFunc(marks, func(mark string) bool { return mark != "" }) {
		notes = append(notes, "?: suspect, !: invalid")
	}
	return block + "\n" + term.Paragraph("  ", strings.Join(notes, "; ")+".", opts.Columns()-2)
}

// startsGroup reports whether a row has a different operation or load from the previous one.
func startsGroup(rows []measuredRow, i int) bool {
	return rows[i].Op != rows[i-1].Op || rows[i].Load != rows[i-1].Load
}

// rowNotes explains how the figures were measured.
func rowNotes(rows []measuredRow, opts term.Options) string {
	block := ""
	for _, note := range []string{samplesNote(rows), countNote(rows), timeNote(rows)} {
		if note != "" {
			block += term.Paragraph("  ", note, opts.Columns()-2)
		}
	}
	return block
}

// samplesNote explains the figures of rows with several samples; "" if all have one.
func samplesNote(rows []measuredRow) string {
	least, most := len(rows[0].samples), 0
	for _, row := range rows {
		least, most = min(least, len(row.samples)), max(most, len(row.samples))
	}
	number := strconv.Itoa(most)
	switch {
	case most == 1:
		return ""
	case least < most:
		number = fmt.Sprintf("%d to %d", least, most)
	}
	return "Each figure is the median of its row's " + number + " samples."
}

// countNote explains the averages of fixed counts; "" if none was contended.
func countNote(rows []measuredRow) string {
	var shares []float64
	for i := range rows {
		row := &rows[i]
		if d, ok := row.spread(overlap); ok && row.mode == ByCount && row.CPUs > 1 {
			shares = append(shares, d.Median)
		}
	}
	if len(shares) == 0 {
		return ""
	}
	share := units.Percent(slices.Min(shares))
	if most := units.Percent(slices.Max(shares)); most != share {
		share += " to " + most
	}
	return "All threads of a row ran at the same time for " + share + " of its duration; the averages also hold the tail, in which" +
		" some had done their count and the others ran faster. --time counts only the windows in which all ran."
}

// timeNote explains which windows count; "" if there are none.
func timeNote(rows []measuredRow) string {
	counted, of := 0, 0
	for _, row := range rows {
		if row.mode == ByTime {
			for i := range row.samples {
				counted, of = counted+row.samples[i].Windows, of+row.samples[i].WindowsOf
			}
		}
	}
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s count (%s): those in which all threads of the row ran.", counted,
		units.Things(of, "window"), units.Percent(float64(counted)/float64(of)))
}

// planBlock lists the rows that would run.
func planBlock(plan *result.Plan, options view.Spec) string {
	if len(plan.ContendRows) == 0 {
		return ""
	}
	title, lines := listing(plan.ContendRows, groupNodes(options), fullListing)
	if term.Width(title)+2 > term.DefaultWidth {
		title, lines = listing(plan.ContendRows, nil, listListing)
	}
	cells := make([][]string, len(lines))
	for i, line := range lines {
		cells[i] = []string{line}
	}
	return term.Grid([]term.Column{term.Left(title)}, cells)
}

// series returns the name of a row: its operation, its CPUs, and the distance of its words.
func series(s *result.Sample) (name string, row int) {
	c, ok := result.Typed[Figures](s)
	if !ok {
		c = &Figures{}
	}
	name = fmt.Sprintf("%s on %s (%s)", c.Op, units.Things(c.CPUs, "CPU"), c.CPUList)
	if c.DistBy != "" {
		name += ", " + distance(c.ContendRow)
	} else if c.DistBytes > 0 {
		name += fmt.Sprintf(", words %d B apart", c.DistBytes)
	}
	return name, c.Row
}
