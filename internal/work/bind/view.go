package bind

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// shown is how runs of `gorun bind` are shown.
var shown = experiment.View{
	Drawn: mapBlock, Tables: tables, Plan: planTable, Parts: &experiment.Parts{Of: parts, Columns: partColumns},
	Options:  []string{"processes", "checks", "array_bytes", "passes", "trials", "masks", "cold"},
	Drawings: []experiment.Drawing{{Anchor: "trials", Draw: drawTrials}},
	Derived:  func(run *result.Run) ([]result.Finding, []result.Warning) { return deviations(run.Samples), nil },
	Found:    "Where the processes were",
}

// tables are the tables of any experiment. If the run is not a matrix, they say what is compared.
func tables(run *result.Run, shape view.Shape) []table.Table {
	tables := shape.Tables(run)
	if run.Matrix != nil && run.Matrix.Order.Design == result.Pairs && len(tables) > 0 {
		tables[0].Notes = append(tables[0].Notes, "A trial's time is the mean of its processes'; the two trials of a number are"+
			" compared. No control guards the verdict.")
	}
	return tables
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
		out[i].Values = result.FiguresOf(&part{v.Bound, p, trial, v.ArrayBytes, v.Passes})
	}
	return out
}

// mostRows and mostColumns (bound and unbound each) limit the size of the map, for a screen of 80 columns and 24 lines. In
// a larger run, adjacent processes or trials are merged.
const (
	mostRows    = 20
	mostColumns = 15
)

// heat returns the map of a run's good samples: rows are processes, and at last the mean of all; columns are trials, unbound first.
// Processes and trials that are merged have their mean. It returns false if there are no figures.
func heat(run *result.Run) (h *chart.Heat, legend string, ok bool) {
	type place struct {
		process, round int
		bound          bool
	}
	ms := map[place]float64{}
	var processes, rounds []int
	for _, s := range run.Samples.All() {
		v, ok := result.Typed[Figures](s)
		if !ok || s.Slot == nil || !s.Good() {
			continue
		}
		for _, p := range v.Processes {
			ms[place{p.Process, s.Round, v.Bound}] = 1e3 * p.Seconds
			processes, rounds = append(processes, p.Process), append(rounds, s.Round)
		}
	}
	if len(ms) == 0 {
		return nil, "", false
	}
	mean := func(processes, rounds []int, bound bool) float64 { // NaN: no time is known
		sum, n := 0.0, 0.0
		for _, process := range processes {
			for _, round := range rounds {
				if x, known := ms[place{process, round, bound}]; known {
					sum, n = sum+x, n+1
				}
			}
		}
		return sum / n
	}
	rows, columns := merged(processes, mostRows), merged(rounds, mostColumns)
	legend = "A is unbound, B is bound; P1 is process 0 of the data"
	if n := len(rows[0]); n > 1 {
		legend += fmt.Sprintf("; a row is the mean of up to %d processes, by the first", n)
	}
	if n := len(columns[0]); n > 1 {
		legend += fmt.Sprintf("; a column is the mean of up to %d trials, by the first", n)
	}
	h = &chart.Heat{Unit: "ms"}
	for _, row := range rows {
		h.Rows = append(h.Rows, chart.Side{Name: "P" + strconv.Itoa(row[0]+1)})
	}
	h.Rows = append(h.Rows, chart.Side{Name: "mean"})
	rows = append(rows, slices.Concat(rows...))
	h.At = make([][]float64, len(rows))
	for _, bound := range []bool{false, true} {
		for _, trials := range columns {
			if math.IsNaN(mean(rows[len(rows)-1], trials, bound)) {
				continue // the run ended before it
			}
			h.Columns = append(h.Columns, chart.Side{Name: strconv.Itoa(trials[0] + 1), Group: side(bound)})
			for i, row := range rows {
				h.At[i] = append(h.At[i], mean(row, trials, bound))
			}
		}
	}
	return h, legend + ".", true
}

// side is the name of the unbound or of the bound trials.
func side(bound bool) string {
	if bound {
		return "B"
	}
	return "A"
}

// merged divides numbers into at most most parts of equal length; the last one may be shorter.
func merged(numbers []int, most int) [][]int {
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	return slices.Collect(slices.Chunk(numbers, (len(numbers)+most-1)/most))
}

// mapBlock renders the heat map.
func mapBlock(run *result.Run, opts term.Options) string {
	h, legend, ok := heat(run)
	if !ok || run.Matrix == nil || run.Matrix.Order.Design != result.Pairs {
		return ""
	}
	return chart.HeatText(h, "Time of each process's sum in each trial", opts) +
		term.Paragraph("  ", legend, opts.Columns()-2)
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
		With("processes", func(mask string) table.Value { return table.Phrases{{Text: strings.Join(processes[mask], " ")}} }).
		Table("", "")
	var order []string
	for i, bound := range plan.Bind.Order {
		order = append(order, side(bound)+strconv.Itoa(i/2+1))
	}
	t.Notes = []string{"The order of the trials; A is unbound, B is bound: " + strings.Join(order, " ")}
	return []table.Table{t}
}
