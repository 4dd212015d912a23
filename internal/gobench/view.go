package gobench

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/column"
	"gorun/internal/experiment"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// shown is how runs of `gorun bench` are shown.
var shown = experiment.View{
	Title: title, Answer: answer, Blocks: blocks, Line: benchLine,
	Plan:     func(*result.Plan, view.Spec) string { return "" },
	OwnCells: func(run *result.Run) bool { return run.Matrix != nil },
	Derived: func(run *result.Run) ([]result.Finding, []result.Warning) {
		return changes(run), nil
	},
	Found:    "What benchmarks allocate",
	Compared: view.Compared{Figure: nsPerOp},
}

// title is the heading.
func title(run *result.Run, _ view.Spec) (title string, parts []string) {
	title = "gorun bench"
	if m := run.Matrix; m != nil {
		parts = append(parts, units.Things(len(run.Cells), "cell"), units.Things(len(run.Samples), "sample"))
		parts = append(append(parts, m.LayoutWords()...), "margin "+units.Share(m.Margin), "alpha "+units.Share(m.Alpha))
	}
	return title, parts
}

// settings returns the flags in which a benchmark's cells differ, other than those that name the benchmark.
func settings(run *result.Run) []string {
	flags, differ := view.CellFlags(run.Cells)
	return slices.DeleteFunc(flags, func(flag string) bool {
		return !differ[flag] || flag == packageFlag || flag == benchmarkFlag || flag == procsFlag
	})
}

// setting names a cell's setting: its revision, and the flags in which cells differ.
func setting(cell *result.Cell, flags []string) string {
	var words []string
	for _, flag := range flags {
		switch value := cell.Flags[flag]; {
		case value == "":
		case flag == revisionFlag || flag == "placement":
			words = append(words, value)
		default:
			words = append(words, flag+" "+value)
		}
	}
	return strings.Join(words, ", ")
}

// name returns the name of a cell's benchmark, with its package if there are several.
func name(run *result.Run, cell *result.Cell) string {
	text := cell.Flags[benchmarkFlag]
	if procs := cell.Flags[procsFlag]; procs != "" {
		text += "-" + procs
	}
	if _, differ := view.CellFlags(run.Cells); differ[packageFlag] {
		text = cell.Flags[packageFlag] + " " + text
	}
	return text
}

// answer says which benchmarks became slower or faster, and which allocate more or less.
func answer(run *result.Run, _ view.Spec) []view.Statement {
	if run.Matrix == nil {
		return nil
	}
	flags := settings(run)
	var claims []view.Claim
	others, baselines := map[string]bool{}, map[string]bool{}
	for i := range run.Cells {
		cell := &run.Cells[i]
		if run.IsBaseline(i) {
			baselines[setting(cell, flags)] = true
			continue
		}
		others[setting(cell, flags)] = true
		if cell.Verdict != nil {
			claims = append(claims, view.Claim{Name: name(run, cell), Verdict: *cell.Verdict})
		}
	}
	if len(claims) == 0 {
		return nil
	}
	against := "before"
	if len(baselines) == 1 {
		against = slices.Collect(maps.Keys(baselines))[0]
	}
	if len(others) > 1 { // else the heading of the table says it
		at := 0
		for i := range run.Cells {
			if cell := &run.Cells[i]; !run.IsBaseline(i) && cell.Verdict != nil {
				claims[at].Name += " (" + setting(cell, flags) + ")"
				at++
			}
		}
	}
	statements := append(view.Judgements(claims, against), view.ByFigures(run, func(i int) string { return name(run, &run.Cells[i]) })...)
	for _, change := range changes(run) {
		statements = append(statements, view.Statement{Text: change.Message})
	}
	return statements
}

// blocks are a row for each benchmark in each setting, and how good the samples are.
func blocks(run *result.Run, _ view.Spec, opts term.Options) []string {
	if run.Matrix == nil {
		return []string{view.SamplesBlock(run, opts)}
	}
	return []string{view.NextBlock(run, opts), table(run, opts), layoutsBlock(run, opts), view.ControlBlock(run, opts), view.DoubtsBlock(run, opts)}
}

// table has a row for each cell that is compared with another one.
func table(run *result.Run, opts term.Options) string {
	flags := settings(run)
	headings, others := []string{}, []string{}
	for i := range run.Cells {
		words := setting(&run.Cells[i], flags)
		if list := &others; run.IsBaseline(i) {
			list = &headings
			if !slices.Contains(*list, words) {
				*list = append(*list, words)
			}
		} else if !slices.Contains(*list, words) {
			*list = append(*list, words)
		}
	}
	before, after := "before", "after"
	if len(headings) == 1 && headings[0] != "" {
		before = headings[0]
	}
	columns := []term.Column{term.Left("benchmark")}
	several := len(others) > 1
	if several {
		columns = append(columns, term.Left("setting"))
	} else if len(others) == 1 {
		after = others[0]
	}
	columns = append(columns, term.Right(before), term.Right(after))
	samples := samplesOf(run)
	names := make([]string, len(run.Cells))
	for i := range run.Cells {
		names[i] = name(run, &run.Cells[i])
	}
	names = term.Apart(names, max(20, opts.Columns()/2))
	var rows []term.Judged
	for i := range run.Cells {
		cell := &run.Cells[i]
		if run.IsBaseline(i) {
			continue
		}
		row := term.Judged{Cells: []string{names[i]}, Words: view.CellPhrases(run, i, opts)}
		if several {
			row.Cells = append(row.Cells, setting(cell, flags))
		}
		row.Cells = append(row.Cells, median(&run.Cells[run.Against(i)]), median(cell))
		rows = append(append(rows, row), ownRows(run, i, samples, several, opts)...)
	}
	return term.JudgedGrid(columns, "verdict", rows, opts)
}

// ownRows are a row for each figure that the benchmark of a cell reports itself, and, if verbose, for what it allocates.
func ownRows(run *result.Run, cell int, samples map[int][]result.Sample, several bool, opts term.Options) (rows []term.Judged) {
	against := run.Against(cell)
	for _, c := range own.Keys(slices.Concat(samples[cell], samples[against])) {
		median := func(cell int) string {
			var figures []float64
			for i := range samples[cell] {
				if x, known := c.Number(&samples[cell][i]); known {
					figures = append(figures, x)
				}
			}
			if len(figures) == 0 {
				return units.None
			}
			return units.Digits(result.Distribute(figures).Median)
		}
		row := term.Judged{Cells: []string{term.Snip("  "+c.Bench, max(20, opts.Columns()/2))}}
		if several {
			row.Cells = append(row.Cells, "")
		}
		row.Cells = append(row.Cells, median(against), median(cell))
		words := term.Phrase{Text: "not judged: no direction is known", Colour: term.Dim}
		v, judged := run.Cells[cell].Verdicts[c.Name]
		switch {
		case judged:
			words = term.Phrase{Text: view.VerdictWords(v, opts), Colour: term.KindColours[v.Kind]}
		case c.Bench == throughput || slices.ContainsFunc(run.Matrix.Figures, func(f result.Figure) bool { return f.Column == c.Name }):
			words.Text = "not judged: it follows from ns/op"
		}
		row.Words = []term.Phrase{words}
		rows = append(rows, row)
	}
	for _, c := range allocations {
		before, after := boundsOf(samples[against], c), boundsOf(samples[cell], c)
		if !opts.Verbose || after.samples == 0 || before.samples == 0 {
			continue
		}
		row := term.Judged{Cells: []string{"  " + c.Bench}, Words: []term.Phrase{{Text: cmp.Or(after.change(before), "the same"), Colour: term.Dim}}}
		if several {
			row.Cells = append(row.Cells, "")
		}
		row.Cells = append(row.Cells, before.String(), after.String())
		rows = append(rows, row)
	}
	return rows
}

// layoutsBlock lists the ratio of each layout, for each cell that is compared with another one.
func layoutsBlock(run *result.Run, opts term.Options) string {
	var block strings.Builder
	for i := range run.Cells {
		cell := &run.Cells[i]
		if len(cell.Layouts) == 0 || cell.Verdict == nil {
			continue
		}
		words := make([]string, len(cell.Layouts))
		for j, ratio := range cell.Layouts {
			words[j] = units.Changes{Step: cell.Verdict.Step}.Ratio(ratio)
		}
		block.WriteString(term.Paragraph("layouts of "+strings.TrimSpace(name(run, cell))+": ", strings.Join(words, ", "), opts.Columns()))
	}
	return block.String()
}

// median shows the median of a cell.
func median(cell *result.Cell) string {
	if cell.Summary == nil {
		return units.None
	}
	return units.Seconds(cell.Summary.Seconds.Median)
}

// bounds are the least and the greatest figure of a number of samples.
type bounds struct {
	least, most float64
	samples     int
}

// boundsOf returns the bounds of a figure; without samples if one lacks it.
func boundsOf(samples []result.Sample, c column.Column) bounds {
	b := bounds{math.Inf(1), math.Inf(-1), len(samples)}
	for i := range samples {
		figure, known := c.Number(&samples[i])
		if !known {
			return bounds{}
		}
		b.least, b.most = min(b.least, figure), max(b.most, figure)
	}
	return b
}

// certain is the number of samples of each side from which on chance does not part what varies: all of one side are above all of
// the other in 2 of C(20, 10) orders, which is 1 of 92,378.
const certain = 10

// change is how an allocation differs from before: "more", "less", "", or "varies".
func (b bounds) change(before bounds) string {
	switch {
	case b.samples == 0 || before.samples == 0:
		return ""
	case b.least == b.most && before.least == before.most:
	case min(b.samples, before.samples) < certain || b.least <= before.most && b.most >= before.least:
		return "varies"
	}
	return [...]string{"less", "", "more"}[1+cmp.Compare(b.least, before.least)]
}

func (b bounds) String() string {
	if b.least == b.most {
		return units.Exact(b.least)
	}
	return units.Exact(b.least) + "–" + units.Exact(b.most)
}

// samplesOf returns the good samples of each cell.
func samplesOf(run *result.Run) map[int][]result.Sample {
	of := map[int][]result.Sample{}
	for _, s := range result.Good(run.Samples) {
		if view.CellOf(run, &s) != nil {
			of[s.Cell] = append(of[s.Cell], s)
		}
	}
	return of
}

// allocations are the figures of what benchmarks allocate.
var allocations = []column.Column{bytesPerOp, allocsPerOp}

// changes returns a finding for each benchmark that allocates more or less than its baseline does.
func changes(run *result.Run) (findings []result.Finding) {
	if run.Matrix == nil {
		return nil
	}
	of := samplesOf(run)
	flags := settings(run)
	for i := range run.Cells {
		cell, against := &run.Cells[i], run.Against(i)
		if i == against {
			continue
		}
		var words, hows []string
		for _, c := range allocations {
			before, after := boundsOf(of[against], c), boundsOf(of[i], c)
			if how := after.change(before); how == "more" || how == "less" {
				words, hows = append(words, fmt.Sprintf("%s %v → %v", c.Label, before, after)), append(hows, how)
			}
		}
		if hows = slices.Compact(hows); len(hows) > 0 {
			findings = append(findings, result.Finding{Code: "allocations", Message: fmt.Sprintf("%s allocates %s in %s: %s",
				name(run, cell), strings.Join(hows, " and "), setting(cell, flags), strings.Join(words, ", "))})
		}
	}
	return findings
}

// benchLine is a sample's benchmark line as go test prints it, with the package and the setting in the configuration. The
// control, which is the baseline once more, has none.
func benchLine(run *result.Run, s *result.Sample) (string, [][2]string, bool) {
	f, ok := result.Typed[Figures](s)
	if !ok || s.Quality.Verdict == result.Invalid || s.Partial || s.Slot != nil && s.Control || f.NS <= 0 {
		return "", nil, false
	}
	text := strings.TrimPrefix(f.Benchmark, "Benchmark")
	if f.Procs > 1 {
		text += "-" + strconv.Itoa(f.Procs)
	}
	config := [][2]string{{"pkg", f.Package}}
	if cell := view.CellOf(run, s); cell != nil {
		for _, flag := range settings(run) {
			config = append(config, [2]string{flag, cell.Flags[flag]})
		}
	}
	return text, config, true
}
