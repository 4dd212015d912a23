package gobench

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

// shown is how runs of `gorun bench` are shown.
var shown = experiment.View{
	Answer: answer, Tables: tables, Line: benchLine, Own: true,
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

// comparison is a benchmark in a setting that is compared with the same one in another setting.
type comparison struct {
	cell              int
	name              string // of the benchmark
	setting, baseline string
	before, after     result.Samples // the good ones
}

// comparisons returns those of a judged run.
func comparisons(run *result.Run) (all []comparison) {
	if run.Matrix == nil {
		return nil
	}
	flags, rows := settings(run), view.Shape{Columns: columns}.RowsOf(run)
	for i := range run.Cells {
		if against := run.Against(i); !run.IsBaseline(i) {
			all = append(all, comparison{
				i, name(run, &run.Cells[i]), setting(&run.Cells[i], flags), setting(&run.Cells[against], flags),
				result.Good(rows[against].Samples), result.Good(rows[i].Samples),
			})
		}
	}
	return all
}

// before returns the setting of all baselines, or what stands for several.
func before(all []comparison) string {
	if slices.ContainsFunc(all, func(c comparison) bool { return c.baseline != all[0].baseline }) {
		return "before"
	}
	return cmp.Or(all[0].baseline, "before")
}

// several reports whether more than one setting is compared with the baselines.
func several(all []comparison) bool {
	return slices.ContainsFunc(all, func(c comparison) bool { return c.setting != all[0].setting })
}

// answer says which benchmarks became slower or faster, and which allocate more or less.
func answer(run *result.Run) []view.Statement {
	all := comparisons(run)
	var claims []view.Claim
	for _, c := range all {
		if several(all) { // else the heading of the table says it
			c.name += " (" + c.setting + ")"
		}
		if run.Cells[c.cell].Verdict != nil {
			claim := view.ClaimOf(run, c.cell)
			claim.Name, claim.Setting = c.name, c.setting
			claims = append(claims, claim)
		}
	}
	if len(claims) == 0 {
		return nil
	}
	named := func(i int) string { return name(run, &run.Cells[i]) }
	return slices.Concat(view.Judgements(claims, before(all)), view.Causes(run, named), view.ByFigures(run, named), view.Found(changes(run)))
}

// tables have a row for each benchmark in each setting that is compared with another one, and those of the figures that it reports
// itself and, if verbose, of what it allocates, below it.
func tables(run *result.Run, shape view.Shape) []table.Table {
	all := comparisons(run)
	if len(all) == 0 {
		return shape.Tables(run)
	}
	t := table.Table{Name: "verdicts", Columns: []table.Column{{Title: "benchmark", Label: true}}}
	after := all[0].setting
	if several(all) {
		t.Columns, after = append(t.Columns, table.Column{Title: "setting", Label: true}), "after"
	}
	for _, title := range []string{before(all), after, table.VerdictTitle} {
		t.Columns = append(t.Columns, table.Column{Title: title, Apart: true})
	}
	titles := view.CellTitles(run)
	for _, of := range all {
		add := func(name, setting string, values ...table.Value) {
			row := table.Row{Name: titles[of.cell], Values: []table.Value{table.Text(name)}}
			if several(all) {
				row.Values = append(row.Values, table.Text(setting))
			}
			row.Values = append(row.Values, values...)
			t.Rows = append(t.Rows, row)
		}
		by := decides(&run.Cells[of.cell])
		add(of.name, of.setting, median(of.before, by), median(of.after, by), view.CellPhrases(run, of.cell, shape.Verbose))
		for _, c := range own.Keys(of.after, of.before) {
			if c.Name == by.Name {
				continue
			}
			add("  "+c.Bench, "", median(of.before, c), median(of.after, c), table.Phrases{ownWords(run, of.cell, c, shape.Verbose)})
		}
		for _, c := range allocations {
			was, is := boundsOf(of.before, c), boundsOf(of.after, c)
			if shape.Verbose && is.samples > 0 && was.samples > 0 {
				add("  "+c.Bench, "", table.Text(was.String()), table.Text(is.String()),
					table.Phrases{{Text: cmp.Or(is.change(was), "the same"), Tone: table.Faint}})
			}
		}
		if note := layoutNote(run, of); note != "" {
			t.Notes = append(t.Notes, note)
		}
	}
	return []table.Table{t}
}

// median returns that of a figure; nil: no sample has it.
func median(samples result.Samples, c column.Column) table.Value {
	spread, known := view.SpreadOf(samples, c)
	if !known {
		return nil
	}
	return table.Number{X: spread.Median, Unit: spread.Unit}
}

// decides returns the figure by which a cell is judged.
func decides(cell *result.Cell) column.Column {
	if cell.By == nil {
		return nsPerOp
	}
	c, _ := columns.By(*cell.By)
	return c
}

// ownWords returns the verdict on such a figure of a cell, or why it has none.
func ownWords(run *result.Run, cell int, c column.Column, verbose bool) table.Phrase {
	if v, judged := run.Cells[cell].Verdicts[c.Name]; judged {
		return table.Phrase{Text: view.VerdictWords(v, verbose), Tone: table.ToneOf(v.Kind)}
	}
	why := "not judged: no direction is known"
	by := decides(&run.Cells[cell])
	if c.Bench == throughput || slices.ContainsFunc(run.Matrix.Figures, func(f result.JudgedFigure) bool { return f.Column == c.Name }) {
		why = "not judged: it follows from " + by.Label
	}
	return table.Phrase{Text: why, Tone: table.Faint}
}

// layoutNote lists the ratio of each layout; "" without layouts.
func layoutNote(run *result.Run, of comparison) string {
	cell := &run.Cells[of.cell]
	if len(cell.Layouts) == 0 || cell.Verdict == nil {
		return ""
	}
	words := make([]string, len(cell.Layouts))
	for i, ratio := range cell.Layouts {
		words[i] = units.Changes{Step: cell.Verdict.Step}.Ratio(ratio)
	}
	return "layouts of " + strings.TrimSpace(of.name) + ": " + strings.Join(words, ", ")
}

// bounds are the least and the greatest figure of a number of samples.
type bounds struct {
	least, most float64
	samples     int
}

// boundsOf returns the bounds of a figure; without samples if none has it.
func boundsOf(samples result.Samples, c column.Column) bounds {
	spread, known := view.SpreadOf(samples, c)
	if !known {
		return bounds{}
	}
	return bounds{spread.Least, spread.Most, samples.Len()}
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

// allocations are the figures of what benchmarks allocate.
var allocations = []column.Column{bytesPerOp, allocsPerOp}

// changes returns a finding for each benchmark that allocates more or less than its baseline does.
func changes(run *result.Run) (findings []result.Finding) {
	for _, of := range comparisons(run) {
		var words, hows []string
		for _, c := range allocations {
			was, is := boundsOf(of.before, c), boundsOf(of.after, c)
			if how := is.change(was); how == "more" || how == "less" {
				words, hows = append(words, fmt.Sprintf("%s %v → %v", c.Label, was, is)), append(hows, how)
			}
		}
		if hows = slices.Compact(hows); len(hows) > 0 {
			findings = append(findings, result.Finding{Code: "allocations", Message: fmt.Sprintf("%s allocates %s in %s: %s",
				of.name, strings.Join(hows, " and "), of.setting, strings.Join(words, ", "))})
		}
	}
	return findings
}

// benchLine is a sample's benchmark line as go test prints it, with the package and the setting in the configuration. The
// control, which is the baseline once more, has none.
func benchLine(run *result.Run, s *result.Sample) (string, [][2]string, bool) {
	f, ok := result.Typed[Figures](s)
	if !ok || s.Quality.Grade == result.Invalid || s.Partial || s.Slot != nil && s.Control || !f.timed() && len(f.Own) == 0 {
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
