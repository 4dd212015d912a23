package render

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// bindTrials are the good samples of `gorun bind`: the milliseconds of each sum.
type bindTrials struct {
	processes, trials []int // ascending
	at                map[bindPlace]float64
}

type bindPlace struct {
	process, trial int
	bound          bool
}

func bindTrialsOf(run *result.Run) bindTrials {
	b := bindTrials{at: map[bindPlace]float64{}}
	processes, trials := map[int]bool{}, map[int]bool{}
	for i := range run.Samples {
		s := &run.Samples[i]
		v, ok := result.Typed[result.BindProcess](s)
		if !ok || !s.Good() {
			continue
		}
		at := bindPlace{v.Process, v.Trial, v.Bound}
		b.at[at] = 1e3 * s.Seconds
		processes[at.process], trials[at.trial] = true, true
	}
	b.processes, b.trials = slices.Sorted(maps.Keys(processes)), slices.Sorted(maps.Keys(trials))
	return b
}

// bindColumn is a column of the table: a trial, or some that follow each other.
type bindColumn struct {
	name  string
	bound bool
	at    []float64 // by row; NaN: not known
	mean  float64   // over all processes
}

// bindMap is the table of `gorun bind`: rows are processes, columns are trials, unbound first.
type bindMap struct {
	rows          []string
	columns       []bindColumn
	perRow, perCo int // processes of a row and trials of a column, at most
	scale         chart.HeatScale
}

// mostBindRows and mostBindColumns (of bound trials, and of unbound ones) are how large a table can be read, 80 columns
// of the screen wide. Beyond them, neighbours are joined.
const (
	mostBindRows    = 40
	mostBindColumns = 15
)

// table joins what is too much, by the mean. False without any figure.
func (b bindTrials) table() (m bindMap, ok bool) {
	rows, columns := chunked(b.processes, mostBindRows), chunked(b.trials, mostBindColumns)
	if len(b.at) == 0 {
		return m, false
	}
	m.perRow, m.perCo = len(rows[0]), len(columns[0])
	for _, row := range rows {
		m.rows = append(m.rows, "P"+strconv.Itoa(row[0]+1))
	}
	m.scale = chart.HeatScale{Lo: math.Inf(1), Hi: math.Inf(-1)}
	for _, bound := range []bool{false, true} {
		letter := map[bool]string{false: "A", true: "B"}[bound]
		for _, trials := range columns {
			c := bindColumn{
				name: letter + strconv.Itoa(trials[0]+1), bound: bound, mean: b.mean(b.processes, trials, bound),
			}
			if math.IsNaN(c.mean) {
				continue // the run ended before it
			}
			for _, row := range rows {
				x := b.mean(row, trials, bound)
				c.at = append(c.at, x)
				if !math.IsNaN(x) {
					m.scale.Lo, m.scale.Hi = min(m.scale.Lo, x), max(m.scale.Hi, x)
				}
			}
			m.columns = append(m.columns, c)
		}
	}
	return m, true
}

// chunked cuts a list into at most so many parts of the same length; the last may be shorter.
func chunked(list []int, most int) [][]int {
	return slices.Collect(slices.Chunk(list, max(1, (len(list)+most-1)/most)))
}

// mean is NaN where nothing is known.
func (b bindTrials) mean(processes, trials []int, bound bool) float64 {
	sum, n := 0.0, 0.0
	for _, process := range processes {
		for _, trial := range trials {
			if ms, known := b.at[bindPlace{process, trial, bound}]; known {
				sum, n = sum+ms, n+1
			}
		}
	}
	return sum / n
}

// show has as many decimals as the greatest figure needs for three digits.
func (m bindMap) show(ms float64) string {
	if math.IsNaN(ms) {
		return "·"
	}
	decimals := 0
	for bound := 99.95; decimals < 3 && m.scale.Hi < bound; bound /= 10 {
		decimals++
	}
	return strconv.FormatFloat(ms, 'f', decimals, 64)
}

// legend says what stands where.
func (m bindMap) legend() string {
	text := "A is unbound, B is bound; P1 is process 0 of the data"
	if m.perRow > 1 {
		text += fmt.Sprintf("; a row is the mean of up to %d processes, by the first", m.perRow)
	}
	if m.perCo > 1 {
		text += fmt.Sprintf("; a column is the mean of up to %d trials, by the first", m.perCo)
	}
	return text + "."
}

// bindMean is the name of the last row.
const bindMean = "mean"

// bindTable is the table as a heat map: the bound trials beside the unbound ones where there is room, else below.
func bindTable(run *result.Run, opts term.Options) string {
	m, ok := bindTrialsOf(run).table()
	if !ok {
		return ""
	}
	label, cell := len(bindMean), 0
	for _, row := range m.rows {
		label = max(label, len(row))
	}
	for _, c := range m.columns {
		cell = max(cell, len(c.name)+1, len(m.show(m.scale.Hi))+1)
	}
	const gap = 2 // between the unbound and the bound
	fits := max(1, (opts.Columns()-2-label)/cell)
	bands := [][]bindColumn{m.columns}
	if 2+label+len(m.columns)*cell+gap > opts.Columns() {
		bands = nil
		split := slices.IndexFunc(m.columns, func(c bindColumn) bool { return c.bound })
		if split < 0 {
			split = len(m.columns)
		}
		for _, part := range [][]bindColumn{m.columns[:split], m.columns[split:]} {
			bands = slices.AppendSeq(bands, slices.Chunk(part, fits))
		}
	}
	var block strings.Builder
	block.WriteString(term.Title("Time of each process's sum in each trial, in ms", opts))
	for i, band := range bands {
		if i > 0 {
			block.WriteByte('\n')
		}
		line := func(name string, of func(c bindColumn) (string, term.Colour)) {
			fmt.Fprintf(&block, "  %s%s", opts.Paint(term.Dim, name), strings.Repeat(" ", label-len(name)))
			for n, c := range band {
				if n > 0 && c.bound != band[n-1].bound {
					block.WriteString(strings.Repeat(" ", gap))
				}
				text, ink := of(c)
				block.WriteString(strings.Repeat(" ", cell-len([]rune(text))))
				block.WriteString(opts.Paint(ink, text))
			}
			block.WriteByte('\n')
		}
		line("", func(c bindColumn) (string, term.Colour) { return c.name, term.Dim })
		for row, name := range m.rows {
			line(name, func(c bindColumn) (string, term.Colour) {
				if math.IsNaN(c.at[row]) {
					return m.show(c.at[row]), ""
				}
				return m.show(c.at[row]), chart.Shades[m.scale.Level(c.at[row])].Terminal()
			})
		}
		line(bindMean, func(c bindColumn) (string, term.Colour) { return m.show(c.mean), term.Bold })
	}
	return term.TrimLines(block.String()) + "\n" + term.Paragraph("  ", m.legend(), opts.Columns()-2)
}

// bindTitle is the heading of `gorun bind`.
func bindTitle(run *result.Run, options view.Spec) (title string, parts []string) {
	title = "gorun bind: " + options.Text("processes") + " processes, bound to CPUs and not"
	parts = []string{options.Text("checks") + " looks at the CPU each"}
	if bytes, err := strconv.ParseUint(options.Text("array_bytes"), 10, 64); err == nil {
		parts = append(parts, "an array of "+units.Bytes(bytes)+" each, added up "+options.Text("passes")+" times")
	}
	parts = append(parts, options.Text("trials")+" trials unbound and as many bound")
	if m := run.Matrix; m != nil {
		parts = append(parts, "margin "+units.Share(m.Margin), "alpha "+units.Share(m.Alpha))
	}
	return title, parts
}

// bindBlocks are the table of processes and trials, what is found of bound against unbound, and how good the samples
// are.
func bindBlocks(run *result.Run, _ view.Spec, opts term.Options) []string {
	blocks := []string{bindTable(run, opts)}
	if run.Matrix != nil {
		blocks = append(blocks,
			view.CellsBlock(run, opts)+term.Paragraph("  ", "A trial's time is the mean of its processes'; the"+
				" two trials of a number are compared. No control guards the verdict.", opts.Columns()-2))
	}
	return append(blocks, view.DoubtsBlock(run, opts))
}

// bindPlan lists the processes of each CPU, and the order of the trials.
func bindPlan(plan *result.Plan, _ view.Spec) string {
	if plan.Bind == nil {
		return ""
	}
	processes, cpus := map[int][]string{}, []int{}
	for i, cpu := range plan.Bind.CPUs {
		if processes[cpu] == nil {
			cpus = append(cpus, cpu)
		}
		processes[cpu] = append(processes[cpu], "P"+strconv.Itoa(i+1))
	}
	block := ""
	for _, cpu := range cpus {
		block += term.Paragraph(fmt.Sprintf("  CPU %-4d ", cpu), strings.Join(processes[cpu], " "), term.DefaultWidth)
	}
	var order []string
	for i, bound := range plan.Bind.Order {
		order = append(order, map[bool]string{false: "A", true: "B"}[bound]+strconv.Itoa(i/2+1))
	}
	return block + "\n" + term.Paragraph("  trials   ", strings.Join(order, " "), term.DefaultWidth) +
		term.Paragraph("  ", "A is unbound, B is bound.", term.DefaultWidth)
}

// bindBench is of a process's sum.
var bindBench = view.Bench{
	Names: []view.BenchPart{
		{Key: "bound", Value: "bound"},
		{Key: "process", Value: "process"},
		{Key: "cpu", Value: "cpu"},
	},
	Words: map[string]string{"cpu": "any"},
	Units: []view.BenchUnit{
		{Unit: "ns/op", Better: "lower", Of: func(s *result.Sample) (float64, bool) { return s.Seconds * 1e9, true }},
		{Unit: "deviations/op", Better: "", Of: view.Value("deviations")},
	},
}
