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

// mostRows and mostColumns (bound and unbound each) limit the size of the map, for a screen of 80 columns and 24 lines. In
// a larger run, adjacent processes or trials are merged.
const (
	mostRows    = 20
	mostColumns = 15
)

// meanName is the name of the last row.
const meanName = "mean"

// heat returns the map of a run: rows are processes, and at last the mean of all; columns are trials, unbound first. Processes and
// trials that are merged have their mean. It returns false if there are no figures.
func (t trials) heat() (h *chart.Heat, legend string, ok bool) {
	rows, columns := chunked(t.processes, mostRows), chunked(t.rounds, mostColumns)
	if len(t.at) == 0 {
		return nil, "", false
	}
	legend = "A is unbound, B is bound; P1 is process 0 of the data"
	if n := len(rows[0]); n > 1 {
		legend += fmt.Sprintf("; a row is the mean of up to %d processes, by the first", n)
	}
	if n := len(columns[0]); n > 1 {
		legend += fmt.Sprintf("; a column is the mean of up to %d trials, by the first", n)
	}
	h = &chart.Heat{Unit: "ms", At: make([][]float64, len(rows)+1)}
	for _, row := range rows {
		h.Rows = append(h.Rows, chart.Side{Name: "P" + strconv.Itoa(row[0]+1)})
	}
	h.Rows = append(h.Rows, chart.Side{Name: meanName})
	for _, bound := range []bool{false, true} {
		for _, rounds := range columns {
			if math.IsNaN(t.mean(t.processes, rounds, bound)) {
				continue // the run ended before it
			}
			h.Columns = append(h.Columns, chart.Side{
				Name: strconv.Itoa(rounds[0] + 1), Group: map[bool]string{false: "A", true: "B"}[bound],
			})
			for i, row := range append(rows, t.processes) {
				h.At[i] = append(h.At[i], t.mean(row, rounds, bound))
			}
		}
	}
	h.Label = func(i, j int) string { return h.Rows[i].Name + " in " + h.Columns[j].Group + h.Columns[j].Name }
	return h, legend + ".", true
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

// mapBlock renders the heat map.
func mapBlock(run *result.Run, _ view.Spec, opts term.Options) string {
	h, legend, ok := trialsOf(run).heat()
	if !ok || run.Matrix == nil || run.Matrix.Order.Design != result.Pairs {
		return ""
	}
	return term.Title("Time of each process's sum in each trial, in ms", opts) + chart.HeatText(h, opts) +
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
		With("processes", func(mask string) table.Value { return table.Words{{Text: strings.Join(processes[mask], " ")}} }).
		Table("", "")
	var order []string
	for i, bound := range plan.Bind.Order {
		order = append(order, map[bool]string{false: "A", true: "B"}[bound]+strconv.Itoa(i/2+1))
	}
	t.Notes = []string{"The order of the trials; A is unbound, B is bound: " + strings.Join(order, " ")}
	return []table.Table{t}
}
