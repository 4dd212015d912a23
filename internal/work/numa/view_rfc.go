package numa

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// rfcForm is a layout of the table of rows.
type rfcForm struct {
	title   string
	rule    int // number of dashes below the title
	figures string
	between string
	params  string
}

// The layouts of the two postings of "How effective is numa_preferred_nid w.r.t. NUMA performance?" (linux-kernel,
// 2023-12-16 and 2024-02-27): one for programs, one in columns for people.
var (
	postedForm = rfcForm{
		"Avg max min stdv | Test Parameters", 70, "%s %s %s %s", " | ", "PNID: %s NB: %s Mem: %s CPU: %s",
	}
	alignedForm = rfcForm{
		"      Avg     max     min     stdv        Test Parameters", 65, "%6s  %6s  %6s  %5s", "  |  ",
		"PNID: %2s NB: %s Mem: %s CPU %s",
	}
)

// rfcLines returns the lines of the table: the head, the title, a rule, and a line for each row, with an empty line between groups.
// figures are the average, the greatest, the least and the standard deviation of a row's times in seconds; nil: it has none. They are
// shown in seconds or, if they are smaller, in a unit named in the head.
func rfcLines(head [][2]string, rows []measuredRow, figures [][]float64, form rfcForm) (lines []string) {
	var averages []float64
	for _, of := range figures {
		averages = append(averages, of[:min(1, len(of))]...)
	}
	factor, unit := units.WholeUnit(averages)
	for _, line := range head {
		lines = append(lines, line[0]+": "+line[1])
	}
	if unit != "s" {
		lines = append(lines, "Unit: "+unit)
	}
	lines = append(lines, "", form.title, strings.Repeat("-", form.rule))

	together := func(a, b measuredRow) bool { return group(a.NumaRow) == group(b.NumaRow) }
	grouped := len(slices.CompactFunc(slices.Clone(rows), together)) < len(rows)
	differ := differing(rows)
	for i, row := range rows {
		if i > 0 && grouped && !together(rows[i-1], row) {
			lines = append(lines, "")
		}
		texts := []any{"", "", "", ""}
		for n, x := range figures[i] {
			texts[n] = strconv.FormatFloat(x*factor, 'f', 2, 64)
		}
		line := fmt.Sprintf(form.figures, texts...)
		switch {
		case row.Unsupported != "":
			line = term.Pad("unsupported", len(line))
		case figures[i] == nil:
			line = term.Pad("no good sample", len(line))
		}
		line = rowName(row.Row) + " " + line + form.between
		line += fmt.Sprintf(form.params, rowAxes[0].of(row), rowAxes[1].of(row), rowAxes[2].of(row), rowAxes[3].of(row))
		for n := extraAxes; n < len(rowAxes); n++ {
			if differ[n] {
				line += " " + rowAxes[n].key + ": " + strings.ReplaceAll(rowAxes[n].of(row), " ", "") // 1MiB, as in the flag
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// rfcBlock returns the table of a run, as the RFC has it.
func rfcBlock(run *result.Run, opts term.Options) string {
	rows := measuredRows(run)
	if len(rows) == 0 {
		return ""
	}
	figures := make([][]float64, len(rows))
	least, most := math.MaxInt, 0
	for i, row := range rows {
		n := len(row.seconds)
		if n > 0 {
			d := result.Distribute(slices.Clone(row.seconds))
			figures[i] = []float64{d.Mean, d.Max, d.Min, stats.StandardDeviation(row.seconds)}
		}
		if row.Unsupported == "" {
			least, most = min(least, n), max(most, n)
		}
	}
	samples := strconv.Itoa(most)
	if least < most {
		samples = fmt.Sprintf("%d to %d", least, most)
	}
	head := slices.DeleteFunc([][2]string{
		{"NumSamples", samples},
		{"Kernel", run.Host.Kernel},
		{"Load", cmp.Or(view.OptionsOf(run.Spec).Text("load"), "0")},
		{"CPU_Model", strings.Join(strings.Fields(run.Host.CPUModel), " ")},
		{"NUM_CPUS", strconv.Itoa(run.Host.CPUs)},
		{"migration_cost_ns", cmp.Or(run.Host.MigrationCost, "unknown")},
	}, func(line [2]string) bool { return line[1] == "" })
	form := postedForm
	if opts.Terminal {
		form = alignedForm
	}
	block := ""
	for _, line := range rfcLines(head, rows, figures, form) {
		if term.Width(line) > opts.Columns() {
			line = strings.Join(term.WrapPhrases([]table.Phrase{{Text: line}}, opts.Columns(), opts), "\n")
		}
		block += line + "\n"
	}
	return block
}

// limits returns why rows cannot be measured, and why the kernel does not act on them, a note for the rows of each reason.
func limits(rows []result.NumaRow) (notes []string) {
	of := map[string]cpuset.Set{}
	for _, row := range rows {
		for _, why := range [][2]string{{"unsupported: ", row.Unsupported}, {"no effect: ", row.NoEffect}} {
			if text := why[0] + why[1]; why[1] != "" && row.Row >= 0 && row.Row <= cpuset.Max {
				of[text] = of[text].With(row.Row)
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(of)) {
		notes = append(notes, fmt.Sprintf("[%s] %s", term.Shorten(of[text].String(), 32), text))
	}
	return notes
}
