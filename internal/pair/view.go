package pair

import (
	"fmt"
	"slices"
	"strconv"

	"gorun/internal/experiment"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// shown is the view of `gorun pair` runs, whose pairs have their own table. The cells of a matrix do not use it.
var shown = experiment.View{
	Title: title, Blocks: blocks, Plan: planBlock,
	Options:  []string{"work", "loops", "array_bytes", "auto"},
	OwnCells: func(run *result.Run) bool { return len(run.Cells) > 0 && run.Cells[0].Flags["relation"] != "" },
}

// pairSamples is a pair of CPUs and its good samples.
type pairSamples struct {
	pair, relation, loops string
	samples               []sampledPair
}

type sampledPair struct {
	Figures
	seconds, user, system float64
}

// samplesByPair groups a run's samples by pair, in the order of the cells; a run without cells has one pair. The
// samples of the control duplicate the baseline's, and are left out.
func samplesByPair(run *result.Run) []pairSamples {
	pairs, samples := make([]pairSamples, max(1, len(run.Cells))), run.Samples
	for i, cell := range run.Cells {
		pairs[i] = pairSamples{pair: cell.Flags["pair"], relation: cell.Flags["relation"], loops: cell.Flags["loops"]}
	}
	if len(run.Cells) == 0 {
		samples = view.Summarised(samples) // if the run was interrupted, those it has
	}
	for i := range samples {
		s, cell := &samples[i], 0
		if len(run.Cells) > 0 {
			if view.CellOf(run, s) == nil || s.Control || !s.Good() {
				continue
			}
			cell = s.Cell
		}
		if v, ok := result.Typed[Figures](s); ok && len(v.Processes) == 2 {
			p := &pairs[cell]
			p.samples = append(p.samples, sampledPair{*v, s.Seconds, s.UserSeconds, s.SystemSeconds})
		}
	}
	return pairs
}

// spread returns the distribution of a figure over the samples; false if no sample has it.
func (p *pairSamples) spread(of func(s *sampledPair) (float64, bool)) (view.Spread, bool) {
	var all []float64
	for i := range p.samples {
		if figure, ok := of(&p.samples[i]); ok {
			all = append(all, figure)
		}
	}
	return view.SpreadAmong(all)
}

// figureRows are the rows of the table of a single pair, beginning with those of `time -p`.
var figureRows = [...]struct {
	label   string
	show    func(x float64) string
	pair    func(s *sampledPair) (float64, bool)
	process func(p *Process) float64 // nil: the figure is of both processes
}{
	{"real", units.Seconds, real, func(p *Process) float64 { return p.RealSeconds }},
	{"user", units.Seconds, user, func(p *Process) float64 { return p.UserSeconds }},
	{"sys", units.Seconds, system, func(p *Process) float64 { return p.SystemSeconds }},
	{
		"% of a CPU", percent, func(s *sampledPair) (float64, bool) { return share(s.user+s.system, s.seconds), s.seconds > 0 },
		func(p *Process) float64 { return share(p.UserSeconds+p.SystemSeconds, p.RealSeconds) },
	},
	{"calls a second", units.Large, rateOf(func(s *sampledPair) bool { return s.Work == "syscall" }), processRate},
	{
		"loops a second", units.Large,
		rateOf(func(s *sampledPair) bool { return s.Work != "syscall" && s.RoundTrip == nil }), processRate,
	},
	{"round trips a second", units.Large, rateOf(func(s *sampledPair) bool { return s.RoundTrip != nil }), nil},
	{"round trip, p50", nanoseconds, tripFigures[0].of, nil},
	{"p90", nanoseconds, tripFigures[1].of, nil},
	{"p99", nanoseconds, tripFigures[2].of, nil},
	{"p99.9", nanoseconds, tripFigures[3].of, nil},
}

// share returns the CPU time of a process as a percentage of its elapsed time, as top(1) does.
func share(cpu, real float64) float64 {
	if real <= 0 {
		return 0
	}
	return 100 * cpu / real
}

func percent(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

func real(s *sampledPair) (float64, bool)     { return s.seconds, true }
func user(s *sampledPair) (float64, bool)     { return s.user, true }
func system(s *sampledPair) (float64, bool)   { return s.system, true }
func loopTime(s *sampledPair) (float64, bool) { return s.NsPerLoop / 1e9, s.NsPerLoop > 0 }

// rateOf returns a getter of the loops per second of samples with matching work.
func rateOf(such func(s *sampledPair) bool) func(s *sampledPair) (float64, bool) {
	return func(s *sampledPair) (float64, bool) { return s.CallsPerSecond, such(s) }
}

func processRate(p *Process) float64 { return p.CallsPerSecond }

// tripFigures are the percentiles of round trips.
var tripFigures = [...]struct {
	label string
	of    func(s *sampledPair) (float64, bool)
}{
	{"p50", tripAt(func(t *Percentiles) float64 { return t.P50 })},
	{"p90", tripAt(func(t *Percentiles) float64 { return t.P90 })},
	{"p99", tripAt(func(t *Percentiles) float64 { return t.P99 })},
	{"p99.9", tripAt(func(t *Percentiles) float64 { return t.P999 })},
}

func tripAt(of func(t *Percentiles) float64) func(*sampledPair) (float64, bool) {
	return func(s *sampledPair) (float64, bool) {
		if s.RoundTrip == nil {
			return 0, false
		}
		return of(s.RoundTrip), true
	}
}

// nanoseconds formats a time in nanoseconds.
func nanoseconds(ns float64) string { return units.Seconds(ns / 1e9) }

// title returns the heading of `gorun pair`.
func title(run *result.Run, options view.Spec) (title string, parts []string) {
	pairs := samplesByPair(run)
	title, loops := "gorun pair: "+options.Text("work")+" by two processes", " loops of each process"
	if len(pairs) > 1 {
		title += fmt.Sprintf(", on %s of CPUs", units.Things(len(pairs), "pair"))
	}
	if samples := pairs[0].samples; len(samples) > 0 {
		if len(pairs) == 1 {
			title += fmt.Sprintf(", on CPUs %d and %d (%s)", samples[0].CPUA, samples[0].CPUB, samples[0].Relation)
		}
		if samples[0].RoundTrip != nil {
			loops = " round trips"
		}
	}
	if n := options.Text("loops"); n != "" {
		parts = append(parts, n+loops)
	}
	if bytes, err := strconv.ParseUint(options.Text("array_bytes"), 10, 64); err == nil {
		parts = append(parts, "array of "+units.Bytes(bytes)+" each")
	}
	if m := run.Matrix; m != nil {
		parts = append(parts, units.Things(len(run.Samples), "sample"), "margin "+units.Share(m.Margin),
			"alpha "+units.Share(m.Alpha))
	}
	return title, parts
}

// blocks returns the figures of a single pair, or a row for each pair with its verdict.
func blocks(run *result.Run, _ view.Spec, opts term.Options) []string {
	pairs := samplesByPair(run)
	if len(run.Cells) == 0 {
		return []string{figuresBlock(&pairs[0], opts), intervalsBlock(&pairs[0], opts), view.SamplesBlock(run, opts)}
	}
	return []string{
		view.NextBlock(run, opts), verdicts(run, pairs, opts), tripsBlock(pairs, opts), view.ControlBlock(run, opts),
		view.DoubtsBlock(run, opts),
	}
}

// figuresBlock has a row for each figure: its median over both processes with the range, and the medians of each
// process.
func figuresBlock(p *pairSamples, opts term.Options) string {
	if len(p.samples) == 0 {
		return ""
	}
	columns := []term.Column{term.Left(""), term.Right("pair"), term.Left("range")}
	for i, process := range p.samples[0].Processes {
		columns = append(columns, term.Right(fmt.Sprintf("%c on CPU %d", 'A'+i, process.CPU)))
	}
	var rows [][]string
	ranges := false
	for _, figure := range figureRows {
		both, ok := p.spread(figure.pair)
		if !ok {
			continue
		}
		row := []string{figure.label, figure.show(both.Median), ""}
		if low, high := figure.show(both.Least), figure.show(both.Greatest); low != high {
			row[2], ranges = low+" … "+high, true
		}
		for i := range p.samples[0].Processes {
			text := ""
			if figure.process != nil {
				one, _ := p.spread(func(s *sampledPair) (float64, bool) {
					return figure.process(&s.Processes[i]), true
				})
				text = figure.show(one.Median)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	if !ranges {
		columns[2].Title = ""
	}
	if row := pidsRow(p); row != nil {
		rows = append(rows, row)
	}
	return term.FoldedGrid(columns, rows, opts)
}

// intervalsBlock has a row for each interval of the last sample; "" if there are none.
func intervalsBlock(p *pairSamples, opts term.Options) string {
	if len(p.samples) == 0 {
		return ""
	}
	last := p.samples[len(p.samples)-1]
	columns := []term.Column{term.Right("end"), term.Right("length")}
	for i, process := range last.Processes {
		columns = append(columns, term.Right(fmt.Sprintf("%c on CPU %d", 'A'+i, process.CPU)))
	}
	var rows [][]string
	for _, interval := range last.Intervals {
		row := []string{units.Seconds(interval.EndSeconds), units.Seconds(interval.Seconds)}
		for _, share := range interval.CPUShares {
			row = append(row, units.Percent(share))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return ""
	}
	return term.Title("Share of a CPU by interval, last sample", opts) + term.FoldedGrid(columns, rows, opts)
}

// pidsRow has the PIDs of the last sample's processes; nil if they are unknown.
func pidsRow(p *pairSamples) []string {
	row := []string{"pid", "", ""}
	if len(p.samples) > 1 {
		row[0] = "pid, last sample"
	}
	for _, process := range p.samples[len(p.samples)-1].Processes {
		if process.PID == 0 {
			return nil
		}
		row = append(row, strconv.Itoa(process.PID))
	}
	return row
}

// verdicts has a row for each pair: the times of `time -p` and the time of a loop as medians over the samples, the
// verdict against the first pair. If the page is too narrow, only the time of a loop stays.
func verdicts(run *result.Run, pairs []pairSamples, opts term.Options) string {
	columns, rows := columnsOf(pairs, true)
	if term.GridWidth(columns, rows) > opts.Columns() {
		columns, rows = columnsOf(pairs, false)
	}
	lines := make([]term.Judged, len(rows))
	for i, cells := range rows {
		lines[i] = term.Judged{Cells: cells, Words: view.CellPhrases(run, i, opts)}
	}
	return term.JudgedGrid(columns, "verdict", lines, opts)
}

func columnsOf(pairs []pairSamples, times bool) (columns []term.Column, rows [][]string) {
	columns = []term.Column{term.Left("CPUs"), term.Left("relation")}
	differ := times && slices.ContainsFunc(pairs, func(p pairSamples) bool { return p.loops != pairs[0].loops })
	var figures []func(*sampledPair) (float64, bool)
	if differ {
		columns = append(columns, term.Right("loops"))
	}
	if times {
		columns = append(columns, term.Right("real"), term.Right("user"), term.Right("sys"))
		figures = append(figures, real, user, system)
	}
	columns, figures = append(columns, term.Right("a loop")), append(figures, loopTime)
	for _, p := range pairs {
		cells := []string{p.pair, p.relation}
		if differ {
			cells = append(cells, p.loops)
		}
		for _, of := range figures {
			text := units.None
			if figure, ok := p.spread(of); ok {
				text = units.Seconds(figure.Median)
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	return columns, rows
}

// tripsBlock has the round trips of each pair; "" if the processes exchange no messages.
func tripsBlock(pairs []pairSamples, opts term.Options) string {
	var rows [][]string
	for i := range pairs {
		p := &pairs[i]
		row := []string{p.pair, p.relation}
		for _, figure := range tripFigures {
			if trips, ok := p.spread(figure.of); ok {
				row = append(row, nanoseconds(trips.Median))
			}
		}
		if len(row) > 2 {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	columns := []term.Column{term.Left("CPUs"), term.Left("relation")}
	for _, figure := range tripFigures {
		columns = append(columns, term.Right(figure.label))
	}
	return term.Title("Round trips, medians over the samples", opts) + term.FoldedGrid(columns, rows, opts)
}

// planBlock lists the pairs, and the relations without a pair.
func planBlock(plan *result.Plan, _ view.Spec) string {
	if len(plan.PairRows) == 0 {
		return "" // a matrix
	}
	rows := make([][]string, len(plan.PairRows))
	for i, row := range plan.PairRows {
		rows[i] = []string{row.Relation, units.None, units.None, row.Lacking}
		if row.Lacking == "" {
			rows[i][1] = fmt.Sprintf("%d,%d", row.CPUA, row.CPUB)
			rows[i][2] = strconv.FormatUint(row.Loops, 10)
		}
	}
	return term.Grid([]term.Column{term.Left("relation"), term.Left("CPUs"), term.Right("loops"), term.Left("")}, rows)
}
