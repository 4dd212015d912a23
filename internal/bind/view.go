package bind

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/table"
)

// shown is how runs of `gorun bind` are shown.
var shown = experiment.View{
	Drawn: mapBlock, Tables: tables, Plan: planTable, Parts: &experiment.Parts{Of: parts, Columns: partColumns},
	Options:  []string{"processes", "checks", "array_bytes", "passes", "trials", "masks", "cold"},
	Drawings: []experiment.Drawing{{Anchor: "trials", Draw: Trials}},
	Derived: func(run *result.Run) ([]result.Finding, []result.Warning) {
		return Deviations(run.Samples), nil
	},
	Found: "Where the processes were",
}

// tables are those of any experiment; those of a run of its own say what is compared.
func tables(run *result.Run, shape view.Shape) []table.Table {
	tables := shape.Tables(run)
	if run.Matrix != nil && run.Matrix.Order.Design == result.Pairs && len(tables) > 0 {
		tables[0].Notes = append(tables[0].Notes, "A trial's time is the mean of its processes'; the two trials of a number are"+
			" compared. No control guards the verdict.")
	}
	return tables
}

// trials holds the times of the processes' sums in the good samples, in milliseconds.
type trials struct {
	processes, rounds []int // ascending
	at                map[place]float64
}

type place struct {
	process, round int
	bound          bool
}

func trialsOf(run *result.Run) trials {
	t := trials{at: map[place]float64{}}
	processes, rounds := map[int]bool{}, map[int]bool{}
	for i := range run.Samples {
		s := &run.Samples[i]
		v, ok := result.Typed[Figures](s)
		if !ok || s.Slot == nil || !s.Good() {
			continue
		}
		for _, p := range v.Processes {
			t.at[place{p.Process, s.Round, v.Bound}] = 1e3 * p.Seconds
			processes[p.Process], rounds[s.Round] = true, true
		}
	}
	t.processes, t.rounds = slices.Sorted(maps.Keys(processes)), slices.Sorted(maps.Keys(rounds))
	return t
}

// parts returns a sample for each process of a trial.
func parts(sample result.Sample) []result.Sample {
	v, ok := result.Typed[Figures](&sample)
	if !ok {
		return []result.Sample{sample}
	}
	trial := 0
	if sample.Slot != nil {
		trial = sample.Round
	}
	out := make([]result.Sample, len(v.Processes))
	for i, p := range v.Processes {
		out[i] = sample
		out[i].Seconds, out[i].UserSeconds, out[i].SystemSeconds = p.Seconds, p.UserSeconds, p.SystemSeconds
		out[i].Values = result.FiguresOf(&part{
			v.Bound, p.Process, p.CPU, p.CPUs, trial, p.Checks, p.Deviations, p.MovedTo, v.ArrayBytes, v.Passes,
		})
	}
	return out
}

// trialsColumn is a column of the table: the mean of one or several consecutive trials.
type trialsColumn struct {
	name  string
	bound bool
	at    []float64 // by row; NaN: unknown
	mean  float64   // over all processes
}

// heat is the map of a run of `gorun bind`: rows are processes, columns are trials, unbound first.
type heat struct {
	rows              []string
	columns           []trialsColumn
	perRow, perColumn int // the most processes in a row and trials in a column
	scale             chart.HeatScale
}

// mostRows and mostColumns (bound and unbound each) limit the size of the table, for a screen of 80 columns and 24 lines. In
// a larger run, adjacent processes or trials are merged.
const (
	mostRows    = 20
	mostColumns = 15
)

// heat returns the map, with the mean of merged processes and trials. It returns false if there are no figures.
func (t trials) heat() (m heat, ok bool) {
	rows, columns := chunked(t.processes, mostRows), chunked(t.rounds, mostColumns)
	if len(t.at) == 0 {
		return m, false
	}
	m.perRow, m.perColumn = len(rows[0]), len(columns[0])
	for _, row := range rows {
		m.rows = append(m.rows, "P"+strconv.Itoa(row[0]+1))
	}
	m.scale = chart.HeatScale{Lo: math.Inf(1), Hi: math.Inf(-1)}
	for _, bound := range []bool{false, true} {
		letter := map[bool]string{false: "A", true: "B"}[bound]
		for _, rounds := range columns {
			c := trialsColumn{
				name: letter + strconv.Itoa(rounds[0]+1), bound: bound, mean: t.mean(t.processes, rounds, bound),
			}
			if math.IsNaN(c.mean) {
				continue // the run ended before it
			}
			for _, row := range rows {
				x := t.mean(row, rounds, bound)
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

// chunked divides a list into at most most parts of equal length; the last one may be shorter.
func chunked(list []int, most int) [][]int {
	return slices.Collect(slices.Chunk(list, max(1, (len(list)+most-1)/most)))
}

// mean returns the mean of the known times; NaN if there are none.
func (t trials) mean(processes, rounds []int, bound bool) float64 {
	sum, n := 0.0, 0.0
	for _, process := range processes {
		for _, round := range rounds {
			if ms, known := t.at[place{process, round, bound}]; known {
				sum, n = sum+ms, n+1
			}
		}
	}
	return sum / n
}

// show formats a time with as many decimals as give the greatest one three digits.
func (m heat) show(ms float64) string {
	if math.IsNaN(ms) {
		return "·"
	}
	decimals := 0
	for bound := 99.95; decimals < 3 && m.scale.Hi < bound; bound /= 10 {
		decimals++
	}
	return strconv.FormatFloat(ms, 'f', decimals, 64)
}

// legend describes the rows and columns.
func (m heat) legend() string {
	text := "A is unbound, B is bound; P1 is process 0 of the data"
	if m.perRow > 1 {
		text += fmt.Sprintf("; a row is the mean of up to %d processes, by the first", m.perRow)
	}
	if m.perColumn > 1 {
		text += fmt.Sprintf("; a column is the mean of up to %d trials, by the first", m.perColumn)
	}
	return text + "."
}

// meanName is the name of the last row.
const meanName = "mean"

// mapBlock renders the heat map, the bound trials to the right of the unbound ones: the times themselves where they
// fit, else a digit for each.
func mapBlock(run *result.Run, _ view.Spec, opts term.Options) string {
	m, ok := trialsOf(run).heat()
	if !ok || run.Matrix == nil || run.Matrix.Order.Design != result.Pairs {
		return ""
	}
	label, cell := len(meanName), 0
	for _, row := range m.rows {
		label = max(label, len(row))
	}
	for _, c := range m.columns {
		cell = max(cell, len(c.name)+1, len(m.show(m.scale.Hi))+1)
	}
	const gap = 2 // between the unbound and the bound
	show, scale := m.show, ""
	width := func() int { return 2 + label + len(m.columns)*cell + gap }
	if width() > opts.Columns() {
		show = func(ms float64) string { return strconv.Itoa(m.scale.Level(ms)) }
		scale = chart.ScaleLine("ms", m.scale, opts)
		if cell = 2; width() > opts.Columns() {
			cell = 1
		}
	}
	var block strings.Builder
	block.WriteString(term.Title("Time of each process's sum in each trial, in ms", opts))
	line := func(name string, of func(n int, c trialsColumn) (string, term.Colour)) {
		fmt.Fprintf(&block, "  %s%s", opts.Paint(term.Dim, name), strings.Repeat(" ", label-len(name)))
		for n, c := range m.columns {
			if n > 0 && c.bound != m.columns[n-1].bound {
				block.WriteString(strings.Repeat(" ", gap))
			}
			text, ink := of(n, c)
			block.WriteString(opts.Paint(ink, fmt.Sprintf("%*s", cell, text)))
		}
		block.WriteByte('\n')
	}
	line("", func(n int, c trialsColumn) (string, term.Colour) {
		switch {
		case scale == "":
			return c.name, term.Dim
		case n == 0 || c.bound != m.columns[n-1].bound:
			return c.name[:1], term.Dim
		}
		return "", ""
	})
	for row, name := range m.rows {
		line(name, func(_ int, c trialsColumn) (string, term.Colour) {
			if math.IsNaN(c.at[row]) {
				return m.show(c.at[row]), ""
			}
			return show(c.at[row]), chart.Shades[m.scale.Level(c.at[row])].Terminal()
		})
	}
	line(meanName, func(_ int, c trialsColumn) (string, term.Colour) { return show(c.mean), term.Bold })
	return term.TrimLines(block.String()) + scale + term.Paragraph("  ", m.legend(), opts.Columns()-2)
}

// planTable lists the processes of each CPU, and the order of the trials.
func planTable(plan *result.Plan) []table.Table {
	if plan.Bind == nil {
		return nil
	}
	processes, masks := map[string][]string{}, []string{}
	for i, cpu := range plan.Bind.CPUs {
		mask := strconv.Itoa(cpu)
		if i < len(plan.Bind.Masks) {
			mask = plan.Bind.Masks[i]
		}
		if processes[mask] == nil {
			masks = append(masks, mask)
		}
		processes[mask] = append(processes[mask], "P"+strconv.Itoa(i+1))
	}
	t := table.Of(masks).
		With("CPUs", func(mask string) table.Value { return table.CPUs(mask) }).
		With("processes", func(mask string) table.Value { return table.Words{{Text: strings.Join(processes[mask], " ")}} }).
		Table("", "")
	var order []string
	for i, bound := range plan.Bind.Order {
		order = append(order, map[bool]string{false: "A", true: "B"}[bound]+strconv.Itoa(i/2+1))
	}
	t.Notes = []string{"The order of the trials; A is unbound, B is bound: " + strings.Join(order, " ")}
	return []table.Table{t}
}
