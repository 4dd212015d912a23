package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/units"
)

const (
	maxCPURows = 32 // CPUs that are shown one a row
	edgeRows   = 8  // of more than that, these many of the busiest and of the least busy

	minBar = 10 // columns; below that a bar says nothing
	maxBar = 40
)

// cpusBlock shows each CPU's share of a sample, with a bar on a terminal: full when a worker was on it for the whole
// wall time. CPUs that did nothing share a row, and of very many CPUs the busiest and the least busy are shown.
func cpusBlock(s *result.Sample, which string, opts term.Options) string {
	if len(s.CPUs) == 0 {
		return ""
	}
	var used []result.CPU
	idle := cpuset.Set{}
	for _, cpu := range s.CPUs {
		if cpu.Workers == 0 && cpu.BusySeconds == 0 && cpu.CPU >= 0 && cpu.CPU <= cpuset.Max { // a foreign file may have others
			idle = idle.With(cpu.CPU)
			continue
		}
		used = append(used, cpu)
	}

	columns := []term.Column{
		term.Right("CPU"), term.Right("workers"), term.Right("threads"), term.Right("busy"),
		term.Right("of wall"), term.Left(""),
	}
	top, bottom := edges(used)
	rows := make([][]string, 0, len(top)+len(bottom))
	for _, cpu := range slices.Concat(top, bottom) {
		rows = append(rows, cpuRow(cpu, s.Seconds, opts))
	}
	lines := slices.Collect(strings.Lines(term.Grid(columns, rows)))
	if omitted := len(used) - len(rows); omitted > 0 {
		note := fmt.Sprintf("  … and %d more in between; --format json has all\n", omitted)
		lines = slices.Insert(lines, 1+len(top), note)
	}
	block := opts.Paint(term.Bold, "CPUs"+which) + "\n" + strings.Join(lines, "")
	if !idle.Empty() {
		list := term.Shorten(idle.String(), opts.Columns()-24)
		if idle.Len() > 1 {
			list += fmt.Sprintf(" (%d CPUs)", idle.Len())
		}
		block += term.Paragraph("  idle: ", list, opts.Columns())
	}
	return block
}

// edges splits the CPUs into those shown above and below the note of what is left out. Few CPUs come all, by number; of
// many, the busiest and the least busy.
func edges(cpus []result.CPU) (top, bottom []result.CPU) {
	if len(cpus) <= maxCPURows {
		return cpus, nil
	}
	order := slices.Clone(cpus)
	slices.SortStableFunc(order, func(a, b result.CPU) int { return cmp.Compare(b.BusySeconds, a.BusySeconds) })
	return order[:edgeRows], order[len(order)-edgeRows:]
}

func cpuRow(cpu result.CPU, wall float64, opts term.Options) []string {
	threads := "-"
	if cpu.Threads != nil {
		threads = strconv.Itoa(*cpu.Threads)
	}
	share := 0.0
	if wall > 0 {
		share = cpu.BusySeconds / wall
	}
	return []string{
		strconv.Itoa(cpu.CPU), strconv.Itoa(cpu.Workers), threads, units.Seconds(cpu.BusySeconds), units.Percent(share),
		bar(share, opts),
	}
}

// barFrom is the column where the bars start, as a rule: what is left of the width is theirs.
const barFrom = 46

// bar draws a fraction of 1 in eighths of a column (Unicode, Block Elements), where there is a terminal to draw on.
func bar(share float64, opts term.Options) string {
	width := min(opts.Columns()-barFrom, maxBar)
	if !opts.Terminal || width < minBar {
		return ""
	}
	eighths := int(min(max(share, 0), 1)*float64(width)*8 + 0.5)
	drawn := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		drawn += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return opts.Paint(term.Green, drawn)
}
