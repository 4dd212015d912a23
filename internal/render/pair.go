package render

import (
	"fmt"
	"slices"
	"strconv"

	"gorun/internal/result"
)

// paired is a pair of `gorun pair` and its good samples.
type paired struct {
	pair, relation, loops string
	samples               []sampledPair
}

type sampledPair struct {
	result.ProcessPair
	seconds, user, system float64
}

// pairsOf are the pairs of a run in the order of its cells; a run without cells has one. The samples of the control are
// the baseline's twice over, and are left out.
func pairsOf(run *result.Run) []paired {
	pairs, samples := make([]paired, max(1, len(run.Cells))), run.Samples
	for i, cell := range run.Cells {
		pairs[i] = paired{pair: cell.Flags["pair"], relation: cell.Flags["relation"], loops: cell.Flags["loops"]}
	}
	if len(run.Cells) == 0 {
		samples = summarised(samples) // of an interrupted run, what there is
	}
	for i := range samples {
		s, cell := &samples[i], 0
		if len(run.Cells) > 0 {
			if cellOf(run, s) == nil || s.Control || !good(s) {
				continue
			}
			cell = s.Cell
		}
		if v, ok := result.Typed[result.ProcessPair](s); ok && len(v.Processes) == 2 {
			p := &pairs[cell]
			p.samples = append(p.samples, sampledPair{*v, s.Seconds, s.UserSeconds, s.SystemSeconds})
		}
	}
	return pairs
}

// spread is of a figure over the samples; false where none has it.
func (p *paired) spread(of func(s *sampledPair) (float64, bool)) (spread, bool) {
	var all []float64
	for i := range p.samples {
		if figure, ok := of(&p.samples[i]); ok {
			all = append(all, figure)
		}
	}
	return spreadAmong(all)
}

// pairFigures are the rows of the table of one pair, those of `time -p` first.
var pairFigures = [...]struct {
	label   string
	show    func(x float64) string
	pair    func(s *sampledPair) (float64, bool)
	process func(p *result.PairProcess) float64 // nil: it is of both
}{
	{"real", seconds, pairReal, func(p *result.PairProcess) float64 { return p.RealSeconds }},
	{"user", seconds, pairUser, func(p *result.PairProcess) float64 { return p.UserSeconds }},
	{"sys", seconds, pairSystem, func(p *result.PairProcess) float64 { return p.SystemSeconds }},
	{"calls a second", large, pairRate(func(s *sampledPair) bool { return s.Work == "syscall" }), processRate},
	{
		"loops a second", large,
		pairRate(func(s *sampledPair) bool { return s.Work != "syscall" && s.RoundTrip == nil }), processRate,
	},
	{"round trips a second", large, pairRate(func(s *sampledPair) bool { return s.RoundTrip != nil }), nil},
	{"round trip, p50", nanoseconds, tripFigures[0].of, nil},
	{"p90", nanoseconds, tripFigures[1].of, nil},
	{"p99", nanoseconds, tripFigures[2].of, nil},
	{"p99.9", nanoseconds, tripFigures[3].of, nil},
}

func pairReal(s *sampledPair) (float64, bool)   { return s.seconds, true }
func pairUser(s *sampledPair) (float64, bool)   { return s.user, true }
func pairSystem(s *sampledPair) (float64, bool) { return s.system, true }
func pairLoop(s *sampledPair) (float64, bool)   { return s.NsPerLoop / 1e9, s.NsPerLoop > 0 }

// pairRate gets the loops a second of pairs that do such work.
func pairRate(such func(s *sampledPair) bool) func(s *sampledPair) (float64, bool) {
	return func(s *sampledPair) (float64, bool) { return s.CallsPerSecond, such(s) }
}

func processRate(p *result.PairProcess) float64 { return p.CallsPerSecond }

// tripFigures are the percentiles of round trips, in ns.
var tripFigures = [...]struct {
	label string
	of    func(s *sampledPair) (float64, bool)
}{
	{"p50", tripAt(func(t *result.Percentiles) float64 { return t.P50 })},
	{"p90", tripAt(func(t *result.Percentiles) float64 { return t.P90 })},
	{"p99", tripAt(func(t *result.Percentiles) float64 { return t.P99 })},
	{"p99.9", tripAt(func(t *result.Percentiles) float64 { return t.P999 })},
}

func tripAt(of func(t *result.Percentiles) float64) func(*sampledPair) (float64, bool) {
	return func(s *sampledPair) (float64, bool) {
		if s.RoundTrip == nil {
			return 0, false
		}
		return of(s.RoundTrip), true
	}
}

// nanoseconds shows a time that is given in them.
func nanoseconds(ns float64) string { return seconds(ns / 1e9) }

// pairTitle is the heading of `gorun pair`.
func pairTitle(run *result.Run, options spec) (title string, parts []string) {
	pairs := pairsOf(run)
	title, loops := "gorun pair: "+options.text("work")+" by two processes", " loops of each process"
	if len(pairs) > 1 {
		title += fmt.Sprintf(", on %s of CPUs", things(len(pairs), "pair"))
	}
	if samples := pairs[0].samples; len(samples) > 0 {
		if len(pairs) == 1 {
			title += fmt.Sprintf(", on CPUs %d and %d (%s)", samples[0].CPUA, samples[0].CPUB, samples[0].Relation)
		}
		if samples[0].RoundTrip != nil {
			loops = " round trips"
		}
	}
	if n := options.text("loops"); n != "" {
		parts = append(parts, n+loops)
	}
	if bytes, err := strconv.ParseUint(options.text("array_bytes"), 10, 64); err == nil {
		parts = append(parts, "array of "+size(bytes)+" each")
	}
	if m := run.Matrix; m != nil {
		parts = append(parts, things(len(run.Samples), "sample"), "margin "+share(m.Margin), "alpha "+share(m.Alpha))
	}
	return title, parts
}

// pairBlocks are the figures of one pair, or a row a pair with what is found of it.
func pairBlocks(run *result.Run, _ spec, opts Options) []string {
	pairs := pairsOf(run)
	if len(run.Cells) == 0 {
		return []string{pairBlock(&pairs[0], opts), samplesBlock(run, opts)}
	}
	return []string{
		pairVerdicts(run, pairs, opts), tripsBlock(pairs, opts), controlBlock(run, opts), doubtsBlock(run, opts),
	}
}

// pairBlock has a figure a row: of both processes with its range, and of each.
func pairBlock(p *paired, opts Options) string {
	if len(p.samples) == 0 {
		return ""
	}
	columns := []column{left(""), right("pair"), left("range")}
	for i, process := range p.samples[0].Processes {
		columns = append(columns, right(fmt.Sprintf("%c on CPU %d", 'A'+i, process.CPU)))
	}
	var rows [][]string
	ranges := false
	for _, figure := range pairFigures {
		both, ok := p.spread(figure.pair)
		if !ok {
			continue
		}
		row := []string{figure.label, figure.show(both.median), ""}
		if low, high := figure.show(both.least), figure.show(both.greatest); low != high {
			row[2], ranges = low+" … "+high, true
		}
		for i := range p.samples[0].Processes {
			text := ""
			if figure.process != nil {
				one, _ := p.spread(func(s *sampledPair) (float64, bool) {
					return figure.process(&s.Processes[i]), true
				})
				text = figure.show(one.median)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	if !ranges {
		columns[2].title = ""
	}
	return foldedGrid(columns, rows, opts)
}

// pairVerdicts has a row a pair: its times as `time -p` tells them, medians over the samples, the time of a loop, and
// what is found of that against the first pair. Where there is no room for the times, that of a loop must do.
func pairVerdicts(run *result.Run, pairs []paired, opts Options) string {
	columns, rows := pairColumns(pairs, true)
	if gridWidth(columns, rows) > opts.columns() {
		columns, rows = pairColumns(pairs, false)
	}
	lines := make([]judged, len(rows))
	for i, cells := range rows {
		lines[i] = judged{cells, []remark{cellWords(run, i)}}
	}
	return judgedGrid(columns, "verdict", lines, opts)
}

func pairColumns(pairs []paired, times bool) (columns []column, rows [][]string) {
	columns = []column{left("CPUs"), left("relation")}
	differ := times && slices.ContainsFunc(pairs, func(p paired) bool { return p.loops != pairs[0].loops })
	var figures []func(*sampledPair) (float64, bool)
	if differ {
		columns = append(columns, right("loops"))
	}
	if times {
		columns = append(columns, right("real"), right("user"), right("sys"))
		figures = append(figures, pairReal, pairUser, pairSystem)
	}
	columns, figures = append(columns, right("a loop")), append(figures, pairLoop)
	for _, p := range pairs {
		cells := []string{p.pair, p.relation}
		if differ {
			cells = append(cells, p.loops)
		}
		for _, of := range figures {
			text := none
			if figure, ok := p.spread(of); ok {
				text = seconds(figure.median)
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	return columns, rows
}

// tripsBlock has the round trips of each pair; nothing, where the processes do not talk.
func tripsBlock(pairs []paired, opts Options) string {
	var rows [][]string
	for i := range pairs {
		p := &pairs[i]
		row := []string{p.pair, p.relation}
		for _, figure := range tripFigures {
			if trips, ok := p.spread(figure.of); ok {
				row = append(row, nanoseconds(trips.median))
			}
		}
		if len(row) > 2 {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	columns := []column{left("CPUs"), left("relation")}
	for _, figure := range tripFigures {
		columns = append(columns, right(figure.label))
	}
	return boldTitle("Round trips, medians over the samples", opts) + foldedGrid(columns, rows, opts)
}

// pairPlan lists the pairs, and the relations that have none.
func pairPlan(plan *result.Plan, _ spec) string {
	rows := make([][]string, len(plan.PairRows))
	for i, row := range plan.PairRows {
		rows[i] = []string{row.Relation, none, none, row.Lacking}
		if row.Lacking == "" {
			rows[i][1] = fmt.Sprintf("%d,%d", row.CPUA, row.CPUB)
			rows[i][2] = strconv.FormatUint(row.Loops, 10)
		}
	}
	return grid([]column{left("relation"), left("CPUs"), right("loops"), left("")}, rows)
}
