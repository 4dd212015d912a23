package numa

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/units"
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

// rfcRow is a row of the table.
type rfcRow struct {
	result.NumaRow
	avg, max, min, stdv float64 // seconds
	instead             string  // text in place of missing figures
}

// rfcLines returns the lines of the table: the head, the title, a rule, and a line for each row, with an empty line
// between groups. Times are in seconds or, if they are smaller, in a unit named in the head.
func rfcLines(head [][2]string, rows []rfcRow, form rfcForm) []string {
	var averages []float64
	plain := make([]result.NumaRow, len(rows))
	for i, row := range rows {
		plain[i] = row.NumaRow
		if row.instead == "" {
			averages = append(averages, row.avg)
		}
	}
	factor, unit := units.WholeUnit(averages)
	var lines []string
	for _, line := range head {
		lines = append(lines, line[0]+": "+line[1])
	}
	if unit != "s" {
		lines = append(lines, "Unit: "+unit)
	}
	lines = append(lines, "", form.title, strings.Repeat("-", form.rule))

	show := func(x float64) string { return strconv.FormatFloat(x*factor, 'f', 2, 64) }
	room := len(fmt.Sprintf(form.figures, "", "", "", ""))
	differ, begins := differing(plain), groups(plain)
	for i := range rows {
		row, params := &rows[i], make([]string, len(rowAxes))
		for n, axis := range rowAxes {
			params[n] = axis.of(&row.NumaRow)
		}
		if begins[i] {
			lines = append(lines, "")
		}
		figures := term.Pad(row.instead, room)
		if row.instead == "" {
			figures = fmt.Sprintf(form.figures, show(row.avg), show(row.max), show(row.min), show(row.stdv))
		}
		line := rowName(row.Row) + " " + figures + form.between
		line += fmt.Sprintf(form.params, params[0], params[1], params[2], params[3])
		for n, axis := range rowAxes {
			if n >= extraAxes && differ[n] {
				line += " " + axis.key + ": " + strings.ReplaceAll(params[n], " ", "") // 1MiB, as in the flag
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// groups reports for each row whether it begins a group: its parameters other than nodes differ from the row above.
// If every row would begin a group, none does.
func groups(rows []result.NumaRow) []bool {
	begins, n := make([]bool, len(rows)), 1
	for i := range rows[min(1, len(rows)):] {
		above, row := rows[i], rows[i+1]
		row.Row, row.Mem, row.CPU, row.PreferredBy, row.Unsupported = above.Row, above.Mem, above.CPU, above.PreferredBy,
			above.Unsupported
		if row != above {
			begins[i+1] = true
			n++
		}
	}
	if n == len(rows) {
		clear(begins)
	}
	return begins
}

// rfcBlock returns the table of a run; "" for rows that differ only in their buffers and access patterns.
func rfcBlock(run *result.Run, options view.Spec, opts term.Options) string {
	rows := measuredRows(run)
	if len(rows) == 0 || isCurve(withSamples(rows)) && !opts.Verbose {
		return ""
	}
	least, most := math.MaxInt, 0
	lines := make([]rfcRow, len(rows))
	for i, row := range rows {
		n := len(row.seconds)
		line := rfcRow{NumaRow: row.NumaRow}
		switch {
		case row.Unsupported != "":
			line.instead = "unsupported"
		case n == 0:
			line.instead = "no good sample"
		default:
			d := result.Distribute(slices.Clone(row.seconds))
			line.avg, line.max, line.min, line.stdv = d.Mean, d.Max, d.Min, stats.StandardDeviation(row.seconds)
		}
		if row.Unsupported == "" {
			least, most = min(least, n), max(most, n)
		}
		lines[i] = line
	}
	samples := strconv.Itoa(most)
	if least < most {
		samples = fmt.Sprintf("%d to %d", least, most)
	}
	head := slices.DeleteFunc([][2]string{
		{"NumSamples", samples},
		{"Kernel", run.Host.Kernel},
		{"Load", cmp.Or(options.Text("load"), "0")},
		{"CPU_Model", strings.Join(strings.Fields(run.Host.CPUModel), " ")},
		{"NUM_CPUS", strconv.Itoa(run.Host.CPUs)},
		{"migration_cost_ns", cmp.Or(run.Host.MigrationCost, "unknown")},
	}, func(line [2]string) bool { return line[1] == "" })
	form := postedForm
	if opts.Terminal {
		form = alignedForm
	}
	block := ""
	for _, line := range rfcLines(head, lines, form) {
		if term.Width(line) <= opts.Columns() {
			block += line + "\n"
			continue
		}
		words := strings.Fields(line)
		for i, word := range words {
			words[i] = term.Snip(word, opts.Columns()-5)
		}
		block += term.Flow(words, " ", "     ", opts.Columns())
	}
	return block
}

// limits returns why rows cannot be measured, and why the kernel does not act on them, a note for the rows of each reason.
func limits(rows []result.NumaRow) (notes []string) {
	of := map[string]cpuset.Set{}
	var order []string
	add := func(row int, kind, why string) {
		if why == "" || row < 0 || row > cpuset.Max {
			return
		}
		if _, known := of[kind+why]; !known {
			order = append(order, kind+why)
		}
		of[kind+why] = of[kind+why].With(row)
	}
	for _, row := range rows {
		add(row.Row, "unsupported: ", row.Unsupported)
		add(row.Row, "no effect: ", row.NoEffect)
	}
	for _, why := range order {
		notes = append(notes, fmt.Sprintf("[%s] %s", term.Shorten(of[why].String(), 32), why))
	}
	return notes
}
