package render

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/result"
)

// probed is a row of `gorun numa` and its good samples.
type probed struct {
	result.NumaRow
	cell    int       // index in the run's cells; -1: none
	seconds []float64 // of each sample
	samples []result.Numa
}

// probedRows are all rows in order: those of the run, or where it has none, those that its samples tell. The samples of
// a matrix's control are the baseline's twice over, and are left out.
func probedRows(run *result.Run) []probed {
	rows, at := make([]probed, 0, len(run.NumaRows)), map[int]int{} // at: index by number
	add := func(row result.NumaRow) {
		if _, known := at[row.Row]; !known {
			at[row.Row] = len(rows)
			rows = append(rows, probed{NumaRow: row, cell: -1})
		}
	}
	for _, row := range run.NumaRows {
		add(row)
	}
	for i := range run.Samples {
		s := &run.Samples[i]
		var v result.Numa
		if !good(s) || s.Slot != nil && s.Control || s.Values.Decode(&v) != nil || v.Accesses == 0 {
			continue
		}
		if len(run.NumaRows) == 0 {
			add(v.NumaRow)
		}
		if n, known := at[v.Row]; known {
			rows[n].seconds, rows[n].samples = append(rows[n].seconds, s.Seconds), append(rows[n].samples, v)
		}
	}
	for i, cell := range run.Cells {
		number, err := strconv.Atoi(cell.Flags["row"])
		if n, known := at[number]; err == nil && known {
			rows[n].cell = i
		}
	}
	slices.SortStableFunc(rows, func(a, b probed) int { return cmp.Compare(a.Row, b.Row) })
	return rows
}

// measured are the rows with a good sample.
func measured(rows []probed) []probed {
	return slices.DeleteFunc(slices.Clone(rows), func(row probed) bool { return len(row.samples) == 0 })
}

// nsPerAccess is the median over the row's samples.
func (p *probed) nsPerAccess() float64 {
	ns := make([]float64, len(p.samples))
	for i := range p.samples {
		ns[i] = p.samples[i].NsPerAccess
	}
	return result.Distribute(ns).Median
}

// name is the row's number as people refer to it.
func (p *probed) name() string { return rowName(p.Row) }

func rowName(row int) string { return fmt.Sprintf("[%02d]", row) }

// numaAxes are in what rows can differ. Those from numaExtra on are only told where they do.
var numaAxes = [...]struct {
	key  string
	part func(text string) string // of the heading, where it is the same in all rows; nil: none
	of   func(row *result.NumaRow) string
}{
	{"PNID", nil, func(row *result.NumaRow) string { return strconv.Itoa(row.PreferredNode) }},
	{"NB", nil, func(row *result.NumaRow) string { return orWord(row.NUMABalancing, "keep") }},
	{"Mem", nil, func(row *result.NumaRow) string { return orWord(row.Mem, "F") }},
	{"CPU", nil, func(row *result.NumaRow) string { return orWord(row.CPU, "F") }},
	{
		"Access", func(text string) string { return text + " access" },
		func(row *result.NumaRow) string { return text.Snip(row.Access, 16, "…") },
	},
	{
		"Pages", func(text string) string { return text + " pages" },
		func(row *result.NumaRow) string { return text.Snip(row.Pages, 16, "…") },
	},
	{
		bufferAxis, func(text string) string { return "buffer of " + text },
		func(row *result.NumaRow) string { return size(row.BufferBytes) },
	},
}

const (
	numaExtra  = 4
	bufferAxis = "Buffer"
)

// orWord shows a number, and a word for the -1 that stands for none.
func orWord(number int, word string) string {
	if number == -1 {
		return word
	}
	return strconv.Itoa(number)
}

// numaDiffers tells which axes are not the same in all rows.
func numaDiffers(rows []result.NumaRow) (differ [len(numaAxes)]bool) {
	for i, axis := range numaAxes {
		differ[i] = slices.ContainsFunc(rows, func(row result.NumaRow) bool { return axis.of(&row) != axis.of(&rows[0]) })
	}
	return differ
}

func plainRows(rows []probed) []result.NumaRow {
	plain := make([]result.NumaRow, len(rows))
	for i := range rows {
		plain[i] = rows[i].NumaRow
	}
	return plain
}

// numaColumns are the rows' numbers and parameters: the first so many, and of the others those that differ.
func numaColumns(rows []result.NumaRow, always int) (columns []column, cells [][]string) {
	columns, cells = []column{left("row")}, make([][]string, len(rows))
	for i := range rows {
		cells[i] = []string{rowName(rows[i].Row)}
	}
	differ := numaDiffers(rows)
	for n, axis := range numaAxes {
		if n >= always && !differ[n] {
			continue
		}
		columns = append(columns, right(axis.key))
		for i := range rows {
			cells[i] = append(cells[i], axis.of(&rows[i]))
		}
	}
	return columns, cells
}

// numaTitle is the heading of `gorun numa`: what is the same in all rows.
func numaTitle(run *result.Run, options spec) (title string, parts []string) {
	rows := probedRows(run)
	if len(rows) == 0 {
		return otherTitle(run, options)
	}
	title = "gorun numa: what the places of a process and of its memory cost"
	count, unsupported := things(len(rows), "row"), 0
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
	for i, differ := range numaDiffers(plain) {
		if part := numaAxes[i].part; part != nil && !differ {
			parts = append(parts, part(numaAxes[i].of(&plain[0])))
		}
	}
	if some := measured(rows); len(some) > 0 {
		v := some[0].samples[0]
		parts = append(parts, large(float64(v.Accesses))+" accesses in "+things(v.Repetitions, "repetition")+" a sample")
	}
	if by != "" {
		parts = append(parts, "nodes preferred by "+text.Snip(by, 16, "…"))
	}
	if m := run.Matrix; m != nil && !numaUnjudged(run, options) {
		parts = append(parts, "margin "+share(m.Margin), "alpha "+share(m.Alpha))
	}
	return title, parts
}

// numaUnjudged tells whether the rows are not to be compared.
func numaUnjudged(run *result.Run, options spec) bool {
	return run.Matrix == nil || options.text("blocks") != ""
}

// numaBlocks are the table as the RFC has it, what is found of each row, and how the figures came about.
func numaBlocks(run *result.Run, options spec, opts Options) []string {
	rows := probedRows(run)
	if len(rows) == 0 {
		return []string{doubtsBlock(run, opts)}
	}
	blocks := []string{
		rfcBlock(run, rows, options, opts),
		unsupportedNotes(plainRows(rows), opts),
		numaVerdicts(run, rows, options, opts),
	}
	if !numaUnjudged(run, options) {
		blocks = append(blocks, controlBlock(run, opts))
	}
	some := measured(rows)
	return append(blocks, latencyBlock(some, run.Caches, opts), movesBlock(some, opts), nodeMovesBlock(some, opts),
		loadBlock(some, opts), numaNotes(some, opts), doubtsBlock(run, opts))
}

// numaForm is how a table of rows is written.
type numaForm struct {
	title   string
	rule    int // dashes below the title
	figures string
	between string
	params  string
}

// The forms of the two postings of "How effective is numa_preferred_nid w.r.t. NUMA performance?" (linux-kernel,
// 2023-12-16 and 2024-02-27): for programs, and in columns for people.
var (
	postedForm = numaForm{
		"Avg max min stdv | Test Parameters", 70, "%s %s %s %s", " | ", "PNID: %s NB: %s Mem: %s CPU: %s",
	}
	alignedForm = numaForm{
		"      Avg     max     min     stdv        Test Parameters", 65, "%6s  %6s  %6s  %5s", "  |  ",
		"PNID: %2s NB: %s Mem: %s CPU %s",
	}
)

// rfcRow is a line of the table.
type rfcRow struct {
	result.NumaRow
	avg, max, min, stdv float64 // seconds
	instead             string  // what is said where there are no figures
}

// rfcLines are the table: the head, the title, a rule, and a line a row, with an empty line between groups. Times are
// in seconds, or where they are smaller, in a unit that the head names.
func rfcLines(head [][2]string, rows []rfcRow, form numaForm) []string {
	var averages []float64
	plain := make([]result.NumaRow, len(rows))
	for i, row := range rows {
		plain[i] = row.NumaRow
		if row.instead == "" {
			averages = append(averages, row.avg)
		}
	}
	factor, unit := wholeUnit(averages)
	var lines []string
	for _, line := range head {
		lines = append(lines, line[0]+": "+line[1])
	}
	if unit != "s" {
		lines = append(lines, "Unit: "+unit)
	}
	lines = append(lines, "", form.title, strings.Repeat("-", form.rule))

	show := func(x float64) string { return strconv.FormatFloat(x*factor, 'f', 2, 64) }
	room := len(fmt.Sprintf(form.figures, "", "", "", ""))
	differ, begins := numaDiffers(plain), groups(plain)
	for i := range rows {
		row, params := &rows[i], make([]string, len(numaAxes))
		for n, axis := range numaAxes {
			params[n] = axis.of(&row.NumaRow)
		}
		if begins[i] {
			lines = append(lines, "")
		}
		figures := text.Pad(row.instead, room, ' ')
		if row.instead == "" {
			figures = fmt.Sprintf(form.figures, show(row.avg), show(row.max), show(row.min), show(row.stdv))
		}
		line := rowName(row.Row) + " " + figures + form.between
		line += fmt.Sprintf(form.params, params[0], params[1], params[2], params[3])
		for n, axis := range numaAxes {
			if n >= numaExtra && differ[n] {
				line += " " + axis.key + ": " + strings.ReplaceAll(params[n], " ", "") // 1MiB, as the flag has it
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// groups tells before which rows another group begins: one whose rows differ from those above in more than their nodes.
// Where every row would be a group, there is none.
func groups(rows []result.NumaRow) []bool {
	begins, n := make([]bool, len(rows)), 1
	for i := range rows[min(1, len(rows)):] {
		above, row := rows[i], rows[i+1]
		row.Row, row.Mem, row.CPU, row.PreferredBy, row.Unsupported = above.Row, above.Mem, above.CPU, above.PreferredBy,
			above.Unsupported
		if row != above {
			begins[i+1] = true
			n++
		}
	}
	if n == len(rows) {
		clear(begins)
	}
	return begins
}

// wholeUnit is the largest unit in which the least of the times has a whole part, and seconds for times like those of
// the RFC.
func wholeUnit(times []float64) (factor float64, unit string) {
	least := math.Inf(1)
	for _, x := range times {
		if x > 0 {
			least = min(least, x)
		}
	}
	for _, u := range timeUnits {
		if least*u.factor >= 1 {
			factor, unit = u.factor, u.name
		}
	}
	if unit == "" {
		return timeUnits[0].factor, timeUnits[0].name
	}
	return factor, unit
}

// rfcBlock is the table of a run.
func rfcBlock(run *result.Run, rows []probed, options spec, opts Options) string {
	least, most := math.MaxInt, 0
	lines := make([]rfcRow, len(rows))
	for i, row := range rows {
		n := len(row.seconds)
		line := rfcRow{NumaRow: row.NumaRow}
		switch {
		case row.Unsupported != "":
			line.instead = "unsupported"
		case n == 0:
			line.instead = "no good sample"
		default:
			d := result.Distribute(slices.Clone(row.seconds))
			line.avg, line.max, line.min, line.stdv = d.Mean, d.Max, d.Min, deviation(row.seconds)
		}
		if row.Unsupported == "" {
			least, most = min(least, n), max(most, n)
		}
		lines[i] = line
	}
	samples := strconv.Itoa(most)
	if least < most {
		samples = fmt.Sprintf("%d to %d", least, most)
	}
	asked := orZero(options.text("load"))
	if load := loadOf(rows); load != nil {
		asked = exact(load.Requested)
	}
	head := slices.DeleteFunc([][2]string{
		{"NumSamples", samples},
		{"Kernel", run.Host.Kernel},
		{"Load", asked},
		{"CPU_Model", strings.Join(strings.Fields(run.Host.CPUModel), " ")},
		{"NUM_CPUS", strconv.Itoa(run.Host.CPUs)},
	}, func(line [2]string) bool { return line[1] == "" })
	form := postedForm
	if opts.Terminal {
		form = alignedForm
	}
	block := ""
	for _, line := range rfcLines(head, lines, form) {
		if text.StringWidth(line) <= opts.columns() {
			block += line + "\n"
			continue
		}
		words := strings.Fields(line)
		for i, word := range words {
			words[i] = text.Snip(word, opts.columns()-5, "…")
		}
		block += flow(words, " ", "     ", opts.columns())
	}
	return block
}

// deviation is the standard deviation of the population that the figures are a sample of.
func deviation(figures []float64) float64 {
	if len(figures) < 2 {
		return 0
	}
	mean := result.Distribute(slices.Clone(figures)).Mean
	squares := 0.0
	for _, x := range figures {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares / float64(len(figures)-1))
}

// unsupportedNotes say why rows cannot be measured.
func unsupportedNotes(rows []result.NumaRow, opts Options) string {
	var notes footnotes
	for _, row := range rows {
		if row.Unsupported != "" {
			notes.add(row.Row, "unsupported: "+row.Unsupported)
		}
	}
	return notes.text(opts)
}

// footnotes are said of rows: each once, after the numbers of its rows.
type footnotes struct {
	order []string
	rows  map[string]cpuset.Set
}

func (f *footnotes) add(row int, note string) {
	if note == "" || row < 0 || row > cpuset.Max {
		return
	}
	if f.rows == nil {
		f.rows = map[string]cpuset.Set{}
	}
	if _, known := f.rows[note]; !known {
		f.order = append(f.order, note)
	}
	f.rows[note] = f.rows[note].With(row)
}

func (f *footnotes) text(opts Options) string {
	block := ""
	for _, note := range f.order {
		rows := f.rows[note].String()
		if f.rows[note].Len() == 1 {
			rows = fmt.Sprintf("%02d", f.rows[note].First())
		}
		block += paragraph("  ", "["+shorten(rows, 32)+"] "+snipWords(note, opts), opts.columns()-2)
	}
	return block
}

// snipWords makes a text fit that holds words of any length.
func snipWords(sentence string, opts Options) string {
	words := strings.Fields(sentence)
	for i, word := range words {
		words[i] = text.Snip(word, opts.columns()-8, "…")
	}
	return strings.Join(words, " ")
}

// numaVerdicts has a line a measured row: what an access takes, and what is found of the row against the baseline.
func numaVerdicts(run *result.Run, rows []probed, options spec, opts Options) string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(row probed) bool {
		return row.Unsupported != "" || row.cell < 0 && len(row.samples) == 0
	})
	if len(rows) == 0 {
		return ""
	}
	columns, cells := numaColumns(plainRows(rows), 0)
	columns = append(columns, right("ns/access"))
	lines := make([]judged, len(rows))
	unjudged := numaUnjudged(run, options)
	for i, row := range rows {
		ns := none
		if len(row.samples) > 0 {
			ns = strconv.FormatFloat(row.nsPerAccess(), 'f', 2, 64)
		}
		cells[i] = append(cells[i], ns)
		if !unjudged {
			lines[i].words = []remark{{"no verdict", dim}}
			if row.cell >= 0 {
				lines[i].words[0] = cellWords(run, row.cell)
			}
		}
	}
	if gridWidth(columns, cells)+2+min(leastWords, longest(lines)) > opts.columns() {
		// The numbers must do; the table above tells what they stand for.
		last := len(columns) - 1
		columns = []column{columns[0], columns[last]}
		for i, line := range cells {
			cells[i] = []string{line[0], line[last]}
		}
	}
	if !unjudged {
		for i := range lines {
			lines[i].cells = cells[i]
		}
		return judgedGrid(columns, "verdict", lines, opts)
	}
	block := grid(columns, cells)
	if options.text("blocks") != "" {
		block += paragraph("  ", "Nothing is judged: with --blocks all samples of a row follow each other, and what"+
			" changes while the run goes on cannot be told from a difference between rows.", opts.columns()-2)
	}
	return block
}

// boldTitle stands above a block.
func boldTitle(title string, opts Options) string {
	return strings.Join(sayings([]remark{{title, bold}}, opts.columns(), opts), "\n") + "\n"
}

// foldedGrid is a grid whose columns are set below each other where they do not fit, with the first before each part.
func foldedGrid(columns []column, rows [][]string, opts Options) string {
	part := func(from, to int) ([]column, [][]string) {
		some := append([]column{columns[0]}, columns[from:to]...)
		cells := make([][]string, len(rows))
		for i, row := range rows {
			cells[i] = append([]string{row[0]}, row[from:to]...)
		}
		return some, cells
	}
	var blocks []string
	for from := 1; from < len(columns); {
		to := from + 1
		for to < len(columns) && gridWidth(part(from, to+1)) <= opts.columns() {
			to++
		}
		blocks = append(blocks, grid(part(from, to)))
		from = to
	}
	return page(blocks)
}

// series are rows that differ in nothing but the size of their buffers.
type series struct {
	name string
	ns   map[uint64]float64 // an access, by bytes
}

// latencySeries are the series of rows with several buffers, and the buffers' sizes; none where all are the same.
func latencySeries(rows []probed) (all []series, sizes []uint64) {
	differ := numaDiffers(plainRows(rows))
	at := map[string]int{}
	for i := range rows {
		row := &rows[i]
		var words []string
		for n, axis := range numaAxes {
			if differ[n] && axis.key != bufferAxis {
				words = append(words, axis.key+" "+axis.of(&row.NumaRow))
			}
		}
		name := strings.Join(words, " ")
		if _, known := at[name]; !known {
			at[name] = len(all)
			all = append(all, series{cmp.Or(name, "ns/access"), map[uint64]float64{}})
		}
		all[at[name]].ns[row.BufferBytes] = row.nsPerAccess()
		sizes = append(sizes, row.BufferBytes)
	}
	slices.Sort(sizes)
	if sizes = slices.Compact(sizes); len(sizes) < 2 {
		return nil, nil
	}
	return all, sizes
}

// latencyBlock is what an access takes by the size of the buffer.
func latencyBlock(rows []probed, caches []result.Cache, opts Options) string {
	all, sizes := latencySeries(rows)
	if len(all) == 0 {
		return ""
	}
	columns, cells := []column{right("buffer")}, make([][]string, len(sizes))
	if len(caches) > 0 {
		columns = append(columns, left("fits in"))
	}
	for _, s := range all {
		columns = append(columns, right(text.Snip(s.name, max(16, opts.columns()-16), "…")))
	}
	for i, bytes := range sizes {
		cells[i] = []string{size(bytes)}
		if len(caches) > 0 {
			cells[i] = append(cells[i], fits(bytes, caches))
		}
		for _, s := range all {
			ns, ok := s.ns[bytes]
			if !ok {
				cells[i] = append(cells[i], none)
				continue
			}
			cells[i] = append(cells[i], strconv.FormatFloat(ns, 'f', 2, 64))
		}
	}
	return boldTitle("ns an access by the buffer", opts) + foldedGrid(columns, cells, opts)
}

// fits is the smallest cache that holds so many bytes.
func fits(bytes uint64, caches []result.Cache) string {
	for _, cache := range caches {
		if bytes <= cache.Bytes {
			return fmt.Sprintf("L%d (%s)", cache.Level, size(cache.Bytes))
		}
	}
	return "no cache"
}

// moved are the rows whose migrations were seen.
func moved(rows []probed) []probed {
	return slices.DeleteFunc(slices.Clone(rows), func(row probed) bool {
		return !slices.ContainsFunc(row.samples, func(v result.Numa) bool { return v.Migrations != nil })
	})
}

// meanMoves is how often the probe moved in a sample of the row, on the mean of those that tell.
func (p *probed) meanMoves(of func(m *result.NumaMigrations) uint64) string {
	sum, n := 0.0, 0
	for i := range p.samples {
		if m := p.samples[i].Migrations; m != nil {
			sum, n = sum+float64(of(m)), n+1
		}
	}
	return count(math.Round(10*sum/float64(n)) / 10)
}

// movesBlock counts migrations by how near the CPUs are, as the RFC does.
func movesBlock(rows []probed, opts Options) string {
	if rows = moved(rows); len(rows) == 0 {
		return ""
	}
	kinds := [...]struct {
		title string
		of    func(m *result.NumaMigrations) uint64
	}{
		{"same core", func(m *result.NumaMigrations) uint64 { return m.SameCore }},
		{"same LLC", func(m *result.NumaMigrations) uint64 { return m.SameLLC }},
		{"same node", func(m *result.NumaMigrations) uint64 { return m.SameNode }},
		{"cross node", func(m *result.NumaMigrations) uint64 { return m.CrossNode }},
		{"total", func(m *result.NumaMigrations) uint64 { return m.Total }},
	}
	columns, cells := []column{left("row")}, make([][]string, len(rows))
	for _, kind := range kinds {
		columns = append(columns, right(kind.title))
	}
	seen := map[string]int{}
	lost, losing := uint64(0), 0
	for i := range rows {
		row := &rows[i]
		cells[i] = []string{row.name()}
		for _, kind := range kinds {
			cells[i] = append(cells[i], row.meanMoves(kind.of))
		}
		for _, v := range row.samples {
			if m := v.Migrations; m != nil {
				seen[m.By]++
				if m.Lost > 0 {
					lost, losing = lost+m.Lost, losing+1
				}
			}
		}
	}
	var ways []string
	for _, by := range slices.Sorted(maps.Keys(seen)) {
		ways = append(ways, fmt.Sprintf("by %s in %s", by, things(seen[by], "sample")))
	}
	note := "Seen " + strings.Join(ways, ", ") + "; no record was lost."
	if losing > 0 {
		note = fmt.Sprintf("Seen %s; %s lost in %s, whose figures are too low.", strings.Join(ways, ", "),
			things(int(min(lost, math.MaxInt32)), "record"), things(losing, "sample"))
	}
	return boldTitle("Migrations a sample, mean", opts) + foldedGrid(columns, cells, opts) +
		paragraph("  ", snipWords(note, opts), opts.columns()-2)
}

// nodeMovesBlock counts the moves to and from each node, where there are several.
func nodeMovesBlock(rows []probed, opts Options) string {
	nodes := map[string]struct{}{}
	for _, row := range rows {
		for _, v := range row.samples {
			if m := v.Migrations; m != nil {
				for node := range m.ToNode {
					nodes[node] = struct{}{}
				}
				for node := range m.FromNode {
					nodes[node] = struct{}{}
				}
			}
		}
	}
	if len(nodes) == 0 {
		return ""
	}
	order := slices.SortedFunc(maps.Keys(nodes), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // 10 after 9
	})
	rows = slices.DeleteFunc(moved(rows), func(row probed) bool {
		return !slices.ContainsFunc(row.samples, func(v result.Numa) bool {
			return v.Migrations != nil && v.Migrations.CrossNode > 0
		})
	})
	columns, cells := []column{left("row")}, make([][]string, len(rows))
	for i := range rows {
		cells[i] = []string{rows[i].name()}
	}
	for _, node := range order {
		columns = append(columns, right("node "+text.Snip(node, 8, "…")))
		for i := range rows {
			cells[i] = append(cells[i], rows[i].meanMoves(func(m *result.NumaMigrations) uint64 { return m.ToNode[node] })+"/"+
				rows[i].meanMoves(func(m *result.NumaMigrations) uint64 { return m.FromNode[node] }))
		}
	}
	return boldTitle("Cross-node migrations a sample, mean: to/from", opts) + foldedGrid(columns, cells, opts)
}

// loadOf is the load of the first sample that has one; nil: there was none.
func loadOf(rows []probed) *result.NumaLoad {
	for _, row := range rows {
		for i := range row.samples {
			if load := row.samples[i].Load; load != nil {
				return load
			}
		}
	}
	return nil
}

// loadBlock sets the load that was asked for beside what the CPUs had.
func loadBlock(rows []probed, opts Options) string {
	load := loadOf(rows)
	if load == nil {
		return ""
	}
	var achieved, expected []float64
	var worst result.NumaLoadCPU
	off := func(c result.NumaLoadCPU) float64 { return math.Abs(c.Achieved - c.Expected) }
	for _, row := range rows {
		for i := range row.samples {
			if row.samples[i].Load == nil {
				continue
			}
			for _, c := range row.samples[i].Load.CPUs {
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
		return []string{name, tenths(d.Min), tenths(d.Mean), tenths(d.Max)}
	}
	cells := [][]string{line("achieved", result.Distribute(achieved)), line("expected", result.Distribute(expected))}
	note := fmt.Sprintf("Furthest from what was expected was CPU %d: %s instead of %s.", worst.CPU, tenths(worst.Achieved),
		tenths(worst.Expected))
	if slices.Min(expected) < load.Requested {
		note = "Less is expected where the probe had the CPU. " + note
	}
	return boldTitle("Load beside the probe, % of a CPU: "+exact(load.Requested)+" asked of each", opts) +
		grid([]column{left(""), right("min"), right("mean"), right("max")}, cells) +
		paragraph("  ", note, opts.columns()-2)
}

// numaNotes say how much of an access is not memory's, and what rows got that is not what they asked for.
func numaNotes(rows []probed, opts Options) string {
	block := ""
	if note := indexNote(rows); note != "" {
		block = paragraph("  ", note, opts.columns()-2)
	}
	var notes footnotes
	for i := range rows {
		notes.add(rows[i].Row, pagesNote(&rows[i]))
		notes.add(rows[i].Row, nodesNote(&rows[i]))
	}
	return block + notes.text(opts)
}

// indexNote tells the cost of random indices; "" where none were made.
func indexNote(rows []probed) string {
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
	part, most := percent(slices.Min(shares)), percent(slices.Max(shares))
	if most != part {
		part += " to " + most
	}
	return "Of an access, making its random index takes " + strconv.FormatFloat(result.Distribute(ns).Median, 'f', 2, 64) +
		" ns, measured without memory: " + part + " of its time."
}

// pageSizes tell whether pages of so many bytes are of a kind. Base pages are 4 to 64 KiB, by architecture.
var pageSizes = map[string]func(bytes uint64) bool{
	"4k":  func(bytes uint64) bool { return bytes <= 64<<10 },
	"thp": func(bytes uint64) bool { return bytes > 64<<10 },
	"2m":  func(bytes uint64) bool { return bytes == 2<<20 },
	"1g":  func(bytes uint64) bool { return bytes == 1<<30 },
}

// pagesNote says how much of the buffer has other pages than were asked for; "" where none has.
func pagesNote(row *probed) string {
	is, known := pageSizes[row.Pages]
	if !known {
		return ""
	}
	var all, other float64
	for _, v := range row.samples {
		for name, bytes := range v.PageBytes {
			all += float64(bytes)
			if each, err := strconv.ParseUint(name, 10, 64); err == nil && !is(each) {
				other += float64(bytes)
			}
		}
	}
	if other == 0 {
		return ""
	}
	return percent(other/all) + " of the buffer is not in " + row.Pages + " pages"
}

// nodesNote says how much of the buffer is on another node than it was bound to; "" where nothing is.
func nodesNote(row *probed) string {
	if row.Mem < 0 {
		return ""
	}
	all, other := 0.0, 0.0
	for _, v := range row.samples {
		for node, pages := range v.NodePages {
			all += float64(pages)
			if node != strconv.Itoa(row.Mem) {
				other += float64(pages)
			}
		}
	}
	if other == 0 {
		return ""
	}
	return fmt.Sprintf("%s of the buffer's pages are not on node %d", percent(other/all), row.Mem)
}

// numaPlan lists the rows, and why some cannot be measured.
func numaPlan(plan *result.Plan, _ spec) string {
	if len(plan.NumaRows) == 0 {
		return ""
	}
	columns, cells := numaColumns(plan.NumaRows, numaExtra)
	for i, row := range plan.NumaRows {
		state := ""
		if row.Unsupported != "" {
			state = "unsupported"
		}
		cells[i] = append(cells[i], state)
	}
	block := grid(append(columns, left("")), cells)
	if notes := unsupportedNotes(plan.NumaRows, Options{}); notes != "" {
		block += "\n" + notes
	}
	return block
}

// NumaSVG writes what the rows took as an SVG file that needs nothing else: where there are several buffers, curves of
// the time of an access, and else a map of seconds by the nodes of the memory and of the CPUs.
func NumaSVG(w io.Writer, run *result.Run) error {
	run = clean(run)
	rows := measured(probedRows(run))
	if len(rows) == 0 {
		return hint.With(errors.New("cannot draw the run: no row has a good sample"), "--format table says why")
	}
	model := ""
	if run.Host.CPUModel != "" {
		model = ", " + strings.Join(strings.Fields(run.Host.CPUModel), " ")
	}
	drawn := numaMap(rows, model)
	if all, sizes := latencySeries(rows); len(all) > 0 {
		drawn = numaCurves(all, sizes, model)
	}
	if _, err := io.WriteString(w, drawn); err != nil {
		return fmt.Errorf("cannot write the picture as SVG: %w", err)
	}
	return nil
}

// numaCurves draws the time of an access over the buffer's size.
func numaCurves(all []series, sizes []uint64, model string) string {
	var curves []curve
	var about []string
	for _, s := range all {
		c := curve{name: s.name}
		for _, bytes := range sizes {
			if ns, ok := s.ns[bytes]; ok {
				c.points = append(c.points, [2]float64{float64(bytes), ns})
			}
		}
		first, last := c.points[0], c.points[len(c.points)-1]
		about = append(about, fmt.Sprintf("%s: %s ns in %s, %s ns in %s.", s.name, digits(first[1]), size(uint64(first[0])),
			digits(last[1]), size(uint64(last[0]))))
		curves = append(curves, c)
	}
	return chartSVG([]panel{{"ns an access", curves}}, byBytes, "Memory access by the buffer"+model,
		strings.Join(about, " "))
}

// numaMap draws the mean seconds of the rows that differ from the first in nothing but their nodes.
func numaMap(rows []probed, model string) string {
	first := rows[0].NumaRow
	alike := func(row result.NumaRow) bool {
		row.Row, row.Mem, row.CPU = first.Row, first.Mem, first.CPU
		return row == first
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(row probed) bool { return !alike(row.NumaRow) })
	var nodes []int
	var means []float64
	for _, row := range rows {
		nodes = append(nodes, row.Mem, row.CPU)
		means = append(means, result.Distribute(slices.Clone(row.seconds)).Mean)
	}
	// The one that floats comes last, as in the table.
	slices.SortFunc(nodes, func(a, b int) int { return cmp.Compare(uint(a), uint(b)) })
	nodes = slices.Compact(nodes)
	factor, unit := wholeUnit(means)
	h := &heat{unit: unit, at: make([][]float64, len(nodes))}
	for i, node := range nodes {
		h.seat = append(h.seat, seat{cpu: i})
		h.names = append(h.names, orWord(node, "F"))
		h.at[i] = slices.Repeat([]float64{math.NaN()}, len(nodes))
	}
	for i, row := range rows {
		h.at[slices.Index(nodes, row.Mem)][slices.Index(nodes, row.CPU)] = means[i] * factor
	}
	var under []string
	for n, axis := range numaAxes {
		if axis.key != "Mem" && axis.key != "CPU" {
			under = append(under, numaAxes[n].key+": "+axis.of(&first))
		}
	}
	return heatSVG(h, "Mean time by the node of memory (down) and CPUs (across)"+model,
		"A row is a node that the memory is bound to, a column one that the process is bound to; F floats. "+
			strings.Join(under, ", ")+".")
}

// burned is what one CPU of `gorun numa --load-only` had, in percent, second by second.
type burned struct {
	cpu      int
	achieved []float64
	worst    float64 // furthest from what was asked, with its sign
}

// burnedCPUs gathers the samples' loads by CPU.
func burnedCPUs(samples []result.Sample) (cpus []*burned, requested float64) {
	at := map[int]*burned{}
	for i := range samples {
		load := loadOfSample(&samples[i])
		if !good(&samples[i]) || load == nil {
			continue
		}
		for _, c := range load.CPUs {
			if at[c.CPU] == nil {
				at[c.CPU] = &burned{cpu: c.CPU}
				cpus = append(cpus, at[c.CPU])
			}
			b := at[c.CPU]
			b.achieved = append(b.achieved, c.Achieved)
			if off := c.Achieved - load.Requested; math.Abs(off) > math.Abs(b.worst) {
				b.worst = off
			}
			requested = load.Requested
		}
	}
	slices.SortFunc(cpus, func(a, b *burned) int { return cmp.Compare(a.cpu, b.cpu) })
	return cpus, requested
}

// loadOfSample is nil where a sample has no load.
func loadOfSample(s *result.Sample) *result.NumaLoad {
	var v result.Numa
	if s.Values.Decode(&v) != nil {
		return nil
	}
	return v.Load
}

// meanLoad is that of all CPUs, in percent.
func meanLoad(s *result.Sample) (float64, bool) {
	load := loadOfSample(s)
	if load == nil || len(load.CPUs) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, c := range load.CPUs {
		sum += c.Achieved
	}
	return sum / float64(len(load.CPUs)), true
}

// loadTitle is the heading of the generator alone.
func loadTitle(run *result.Run, options spec) (title string, parts []string) {
	cpus, requested := burnedCPUs(run.Samples)
	if len(cpus) == 0 {
		return otherTitle(run, options)
	}
	return fmt.Sprintf("gorun numa --load-only: %s%% of each of %s", exact(requested), things(len(cpus), "CPU")),
		[]string{things(len(run.Samples), "sample")}
}

// loadBlocks has a line a CPU.
func loadBlocks(run *result.Run, _ spec, opts Options) []string {
	cpus, requested := burnedCPUs(run.Samples)
	if len(cpus) == 0 {
		return []string{doubtsBlock(run, opts)}
	}
	cells := make([][]string, len(cpus))
	for i, b := range cpus {
		d := result.Distribute(b.achieved)
		cells[i] = []string{strconv.Itoa(b.cpu), exact(requested)}
		for _, x := range []float64{d.Mean, d.Min, d.Max} {
			cells[i] = append(cells[i], strconv.FormatFloat(x, 'f', 2, 64))
		}
		cells[i] = append(cells[i], fmt.Sprintf("%+.2f", b.worst))
	}
	block := boldTitle("Load, % of a CPU", opts) + foldedGrid([]column{
		right("CPU"), right("requested"), right("mean"), right("min"), right("max"), right("worst"),
	}, cells, opts)
	return []string{block, doubtsBlock(run, opts)}
}
