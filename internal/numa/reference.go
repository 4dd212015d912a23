package numa

import (
	"fmt"
	"maps"
	"strconv"

	"gorun/internal/experiment"
	"gorun/internal/reference"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
)

// published has the two tables of the RFC that `gorun numa` grew from.
var published = &experiment.Reference{
	Usage: "show the RFC's figures of the rows that its table has, and its counts of migrations: of its machine with two\n" +
		"nodes, or with --preset rfc-amd, and on machines with more than two nodes, of that with eight",
	Of: func(run *result.Run) (*result.Reference, error) {
		table, err := reference.Read("numa")
		if err != nil {
			return nil, err
		}
		traces, err := reference.Read("migrations")
		if err != nil {
			return nil, err
		}
		machine, err := publishedMachine(run)
		if err != nil {
			return nil, err
		}
		columns := []result.ReferenceColumn{
			{Name: "avg", Title: "RFC", Unit: "s", Decimals: 2, Meaning: "mean time of the probe"},
			{Name: "max", Unit: "s", Decimals: 2, Meaning: "longest time of the probe", Hidden: true},
			{Name: "min", Unit: "s", Decimals: 2, Meaning: "shortest time of the probe", Hidden: true},
			{Name: "stdev", Unit: "s", Decimals: 2, Meaning: "standard deviation of the times", Hidden: true},
		}
		r := table.For(machine, columns...)
		r.Columns = append(r.Columns, traceColumns...)
		for number, row := range numbered(run) {
			is := func(line reference.Row) bool { return line["machine"] == machine && sameRow(line, row) }
			line := table.Find(is)
			if line == nil {
				continue
			}
			figures := line.Figures(columns)
			for trace := range publishedTraces {
				traced := traces.Find(func(line reference.Row) bool { return is(line) && line["trace"] == strconv.Itoa(trace) })
				maps.Copy(figures, tracedFigures(traced, trace))
			}
			r.Rows = append(r.Rows, result.ReferenceRow{Row: number, Name: "[" + line["row"] + "]", Figures: figures})
		}
		r.Compare("avg", func(int) int { return publishedBaseline(run) })
		return r, nil
	},
}

// publishedMachine returns the machine of the RFC that is most similar to the run's.
func publishedMachine(run *result.Run) (string, error) {
	spec, err := view.SpecOf(run.Spec)
	if err != nil {
		return "", err
	}
	preset := spec.Text("preset")
	if preset == "rfc-amd" || preset == "" && run.Host.Nodes > fewNodes {
		return "amd", nil
	}
	return "intel", nil
}

// numbered yields the rows of a run with their numbers, in order; of a matrix, the row of each cell.
func numbered(run *result.Run) func(yield func(int, result.NumaRow) bool) {
	return func(yield func(int, result.NumaRow) bool) {
		for _, row := range run.NumaRows {
			if !yield(row.Row, row) {
				return
			}
		}
		if len(run.NumaRows) > 0 {
			return
		}
		seen := map[int]bool{}
		for i := range run.Samples {
			v, ok := result.Typed[result.Numa](&run.Samples[i])
			number := shown.RowOf(run, &run.Samples[i])
			if ok && !seen[number] {
				seen[number] = true
				if !yield(number, v.NumaRow) {
					return
				}
			}
		}
	}
}

// publishedBaseline returns the row with which the others of a run are compared.
func publishedBaseline(run *result.Run) int {
	if run.Matrix == nil {
		return 0
	}
	at := run.Matrix.Baseline
	if len(run.NumaRows) == 0 {
		return at
	}
	if at >= 0 && at < len(run.Cells) {
		if row, err := strconv.Atoi(run.Cells[at].Flags["row"]); err == nil {
			return row
		}
	}
	return run.NumaRows[0].Row
}

// sameRow reports whether a line of the RFC has the same bindings as a row.
func sameRow(line reference.Row, row result.NumaRow) bool {
	return line["pnid"] == strconv.Itoa(row.PreferredNode) && line["nb"] == strconv.Itoa(row.NUMABalancing) &&
		line["mem"] == orWord(row.Mem, "F") && line["cpu"] == orWord(row.CPU, "F")
}

// publishedTraces is the number of traces of each row in the RFC.
const publishedTraces = 2

// publishedMoves are the kinds of migrations that the RFC counts, with the names in its table and in the view.
var publishedMoves = []struct{ name, title string }{
	{"same_core", "same core"},
	{"same_llc", "same LLC"},
	{"same_node", "same node"},
	{"cross_node", "cross node"},
	{"to_0", "to 0"},
	{"from_0", "from 0"},
	{"total", "total"},
}

// traceColumns are the columns of all traces; the view has a separate block for them.
var traceColumns = func() (columns []result.ReferenceColumn) {
	for trace := range publishedTraces {
		for _, move := range publishedMoves {
			columns = append(columns, result.ReferenceColumn{
				Name: traceName(trace, move.name), Hidden: true,
				Meaning: fmt.Sprintf("migrations in trace %d: %s", trace+1, move.title),
			})
		}
	}
	return columns
}()

// traceName returns the name of a figure of a trace, counted from 0.
func traceName(trace int, move string) string { return fmt.Sprintf("trace_%d_%s", trace+1, move) }

// tracedFigures returns the figures of a trace, counted from 0.
func tracedFigures(traced reference.Row, trace int) map[string]float64 {
	figures := map[string]float64{}
	for _, move := range publishedMoves {
		if n, err := strconv.ParseFloat(traced[move.name], 64); err == nil {
			figures[traceName(trace, move.name)] = n
		}
	}
	return figures
}

// publishedMovesBlock shows the migrations in the RFC's traces of the run's rows.
func publishedMovesBlock(run *result.Run, opts term.Options) string {
	if run.Reference == nil {
		return ""
	}
	columns := []term.Column{term.Left("row"), term.Right("trace")}
	for _, move := range publishedMoves {
		columns = append(columns, term.Right(move.title))
	}
	var cells [][]string
	for _, row := range run.Reference.Rows {
		for trace := range publishedTraces {
			if _, traced := row.Figures[traceName(trace, "total")]; !traced {
				continue
			}
			line := []string{view.RowName(row.Row), strconv.Itoa(trace + 1)}
			for _, move := range publishedMoves {
				line = append(line, view.ReferenceText(run.Reference, row.Row, result.ReferenceColumn{Name: traceName(trace, move.name)}))
			}
			cells = append(cells, line)
		}
	}
	if len(cells) == 0 {
		return ""
	}
	return term.Title("Migrations in the RFC's two traces of a row", opts) + term.FoldedGrid(columns, cells, opts)
}
