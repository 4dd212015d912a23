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
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/table"
	"gorun/internal/units"
)

// shown is how runs of `gorun bench` are shown.
var shown = experiment.View{
	Answer: answer, Tables: tables, Line: benchLine,
	Derived: func(run *result.Run) ([]result.Finding, []result.Warning) {
		return changes(run), nil
	},
	Found: "What benchmarks allocate",
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

// tables have a row for each benchmark in each setting that is compared with another one, and those of the figures that it reports
// itself and, if verbose, of what it allocates, below it.
func tables(run *result.Run, shape view.Shape) []table.Table {
	if run.Matrix == nil {
		return shape.Tables(run)
	}
	flags := settings(run)
	var befores, others []string
	for i := range run.Cells {
		list := &others
		if run.IsBaseline(i) {
			list = &befores
		}
		if words := setting(&run.Cells[i], flags); !slices.Contains(*list, words) {
			*list = append(*list, words)
		}
	}
	before, after := "before", "after"
	if len(befores) == 1 && befores[0] != "" {
		before = befores[0]
	}
	t := table.Table{Name: "verdicts", Columns: []table.Column{{Title: "benchmark", Label: true}, {Title: "setting", Label: true}}}
	several := len(others) > 1
	if !several {
		t.Columns = t.Columns[:1]
	}
	if len(others) == 1 {
		after = others[0]
	}
	for _, title := range []string{before, after, table.VerdictTitle} {
		t.Columns = append(t.Columns, table.Column{Title: title, Apart: true})
	}
	titles := view.CellTitles(run)
	add := func(i int, name, of string, values ...table.Value) {
		row := []table.Value{table.Text(name)}
		if several {
			row = append(row, table.Text(of))
		}
		t.Rows = append(t.Rows, table.Row{Name: titles[i], Values: append(row, values...)})
	}
	samples := samplesOf(run)
	for i := range run.Cells {
		if run.IsBaseline(i) {
			continue
		}
		cell, against := &run.Cells[i], run.Against(i)
		add(i, name(run, cell), setting(cell, flags), median(&run.Cells[against]), median(cell), view.CellPhrases(run, i, shape.Verbose))
		for _, c := range own.Keys(slices.Concat(samples[i], samples[against])) {
			add(i, "  "+c.Bench, "", ownMedian(samples[against], c), ownMedian(samples[i], c), table.Words{ownWords(run, i, c, shape.Verbose)})
		}
		for _, c := range allocations {
			was, is := boundsOf(samples[against], c), boundsOf(samples[i], c)
			if shape.Verbose && is.samples > 0 && was.samples > 0 {
				add(i, "  "+c.Bench, "", table.Text(was.String()), table.Text(is.String()),
					table.Words{{Text: cmp.Or(is.change(was), "the same"), Tone: table.Faint}})
			}
		}
	}
	t.Notes = layoutNotes(run)
	return []table.Table{t}
}

// ownMedian returns the median of a figure that a benchmark reports itself.
func ownMedian(samples []result.Sample, c column.Column) table.Value {
	var figures []float64
	for i := range samples {
		if x, known := c.Number(&samples[i]); known {
			figures = append(figures, x)
		}
	}
	if len(figures) == 0 {
		return nil
	}
	return table.Number{X: result.Distribute(figures).Median}
}

// ownWords returns the verdict on such a figure of a cell, or why it has none.
func ownWords(run *result.Run, cell int, c column.Column, verbose bool) table.Phrase {
	if v, judged := run.Cells[cell].Verdicts[c.Name]; judged {
		return table.Phrase{Text: view.VerdictWords(v, verbose), Tone: table.ToneOf(v.Kind)}
	}
	why := "not judged: no direction is known"
	if c.Bench == throughput || slices.ContainsFunc(run.Matrix.Figures, func(f result.Figure) bool { return f.Column == c.Name }) {
		why = "not judged: it follows from ns/op"
	}
	return table.Phrase{Text: why, Tone: table.Faint}
}

// layoutNotes list the ratio of each layout, for each cell that is compared with another one.
func layoutNotes(run *result.Run) (notes []string) {
	for i := range run.Cells {
		cell := &run.Cells[i]
		if len(cell.Layouts) == 0 || cell.Verdict == nil {
			continue
		}
		words := make([]string, len(cell.Layouts))
		for j, ratio := range cell.Layouts {
			words[j] = units.Changes{Step: cell.Verdict.Step}.Ratio(ratio)
		}
		notes = append(notes, "layouts of "+strings.TrimSpace(name(run, cell))+": "+strings.Join(words, ", "))
	}
	return notes
}

// median returns that of a cell; nil: it has no samples.
func median(cell *result.Cell) table.Value {
	if cell.Summary == nil {
		return nil
	}
	return table.Seconds(cell.Summary.Seconds.Median)
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
