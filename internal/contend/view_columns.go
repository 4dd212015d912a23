package contend

import (
	"slices"
	"strconv"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/units"
)

// tableColumn is a column of the table.
type tableColumn struct {
	term.Column
	note string // explains it below the table
	rank int    // 0: always shown; of the others, the highest is left out first where the page is too narrow
	show func(row *measuredRow) string
}

// columnsOf returns the columns next to the listing that have figures. Values that are the same in every row are in the
// heading instead.
func columnsOf(rows []measuredRow) []tableColumn {
	var columns []tableColumn
	for _, axis := range axes {
		if axis.title != "" && differs(rows, axis.of) {
			columns = append(columns, tableColumn{
				term.Left(axis.title), "", axis.rank, func(row *measuredRow) string { return term.Snip(axis.of(row), 16) },
			})
		}
	}
	columns = append(columns, []tableColumn{
		{term.Right("min"), "", 0, median(nanoseconds, func(c *Figures) *float64 { return &c.Min })},
		{term.Right("max"), "", 0, median(nanoseconds, func(c *Figures) *float64 { return &c.Max })},
		{term.Right("avg"), "", 0, median(nanoseconds, nsPerOp)},
		{
			term.Right("stdev"), "min, max, avg and stdev are ns an operation, of the threads", 0,
			median(nanoseconds, func(c *Figures) *float64 { return &c.Stdev }),
		},
		{term.Right("±"), "± is half the range of avg over the samples", 3, halfRange},
		{
			term.Right("fails"), "fails are compare-and-swaps that found another value, for each operation", 0,
			median(units.Ratio, failed),
		},
		{
			term.Right("fair"),
			"fair is Jain's index of the threads' rates, 1 where all got the same and 1/n where one got all", 2,
			median(units.Ratio, func(c *Figures) *float64 { return &c.Fairness }),
		},
		{
			term.Right("Mops/s"), "Mops/s are of all threads", 1,
			median(func(x float64) string { return units.Digits(x / 1e6) }, opsPerSecond),
		},
		{
			term.Right("all ran"), "all ran is the part of the time in which all threads ran", 4,
			median(units.Percent, overlap),
		},
		{term.Left("windows"), "windows are the ns of the fastest and of the slowest", 5, windows},
	}...)
	return slices.DeleteFunc(columns, func(c tableColumn) bool {
		return !slices.ContainsFunc(rows, func(row measuredRow) bool { return c.show(&row) != units.None })
	})
}

// median formats the median of a figure over the row's samples.
func median(show func(x float64) string, of func(c *Figures) *float64) func(row *measuredRow) string {
	return func(row *measuredRow) string {
		if d, ok := row.spread(of); ok {
			return show(d.Median)
		}
		return units.None
	}
}

// nanoseconds shows a time with as many decimals as ccont does.
func nanoseconds(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

// halfRange returns half the range of a row's samples.
func halfRange(row *measuredRow) string {
	d, ok := row.spread(nsPerOp)
	if !ok || d.Median <= 0 || len(row.samples) < 2 {
		return units.None
	}
	return strconv.FormatFloat(100*(d.Max-d.Min)/2/d.Median, 'f', 0, 64) + "%"
}

func nsPerOp(c *Figures) *float64      { return &c.NsPerOp }
func opsPerSecond(c *Figures) *float64 { return &c.OpsPerSecond }
func overlap(c *Figures) *float64      { return c.Overlap }

// failed returns the failed compare-and-swaps per counted operation.
func failed(c *Figures) *float64 {
	if c.Failures == nil || c.Operations == 0 {
		return nil
	}
	share := float64(*c.Failures) / float64(c.Operations)
	return &share
}

// windows returns the least and the greatest ns of a window over all samples, since a row may have two speeds.
func windows(row *measuredRow) string {
	var all []float64
	for i := range row.samples {
		if d := row.samples[i].WindowsNs; d != nil {
			all = append(all, d.Min, d.Max)
		}
	}
	if len(all) == 0 {
		return units.None
	}
	return units.Digits(slices.Min(all)) + " … " + units.Digits(slices.Max(all))
}

// axes are the values other than CPUs in which rows can differ. Each is a column if rows differ, otherwise a part of
// the heading; without a title it is only in the heading.
var axes = [...]struct {
	title string
	rank  int
	of    func(row *measuredRow) string
	part  func(text string) string
}{
	{"", 0, func(row *measuredRow) string { return row.Load }, func(text string) string { return "load " + text }},
	{"instruction", 4, func(row *measuredRow) string { return row.Instruction }, func(text string) string { return text }},
	{"variant", 0, func(row *measuredRow) string { return row.variant }, func(text string) string { return text }},
	{
		"dist", 0, func(row *measuredRow) string { return distance(row.ContendRow) },
		func(text string) string {
			if text == "0 B" {
				return "one word for all threads"
			}
			if strings.HasSuffix(text, " B") {
				return "words " + text + " apart"
			}
			return text
		},
	},
	{
		"memory", 0, func(row *measuredRow) string { return "node " + strconv.Itoa(row.MemNode) },
		func(text string) string { return "memory of " + text },
	},
}

func differs(rows []measuredRow, of func(row *measuredRow) string) bool {
	return slices.ContainsFunc(rows, func(row measuredRow) bool { return of(&row) != of(&rows[0]) })
}
