package contend

import (
	"slices"
	"strconv"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/reference"
	"gorun/internal/result"
)

// published has the figures of ccont, the tool whose rows `gorun contend` measures.
var published = &experiment.Reference{
	Usage: "show ccont's published figures for rows with the same operation, load pattern and number of CPUs on\n" +
		"each node, one word for all threads, and memory on the first node",
	Of: func(run *result.Run) (*result.Reference, error) {
		table, err := reference.Read("contend")
		if err != nil {
			return nil, err
		}
		columns := []result.ReferenceColumn{
			{Name: "min", Title: "ref min", Unit: "ns", Decimals: 3, Meaning: "an operation, of the fastest thread"},
			{Name: "max", Title: "ref max", Unit: "ns", Decimals: 3, Meaning: "an operation, of the slowest thread"},
			{Name: "avg", Title: "ref avg", Unit: "ns", Decimals: 3, Meaning: "an operation, the mean of the threads"},
			{Name: "stdev", Title: "ref stdev", Unit: "ns", Decimals: 3, Meaning: "standard deviation of the threads"},
		}
		r := table.For("", columns...)
		seen := map[int]bool{}
		for i := range run.Samples {
			c, ok := result.Typed[Figures](&run.Samples[i])
			number := shown.RowOf(run, &run.Samples[i])
			if !ok || seen[number] {
				continue
			}
			seen[number] = true
			row := table.Find(func(row reference.Row) bool { return sameLoad(row, c.ContendRow) })
			if row != nil {
				r.Rows = append(r.Rows, result.ReferenceRow{
					Row: number, Name: "--load " + row["load"] + " --op " + row["op"] + ", CPUs " + row["pattern"],
					Figures: row.Figures(columns),
				})
			}
		}
		return r, nil
	},
}

// sameLoad reports whether a row of ccont's is one of the run's. Since ccont's compare-and-swap nearly always fails,
// it matches both of gorun's.
func sameLoad(row reference.Row, c result.ContendRow) bool {
	if c.Load != row["load"] || strconv.Itoa(c.CPUs) != row["cpus"] || c.DistBytes != 0 || c.DistBy == byBit || c.MemNode != 0 ||
		strings.TrimSuffix(c.Op, "-fail") != row["op"] {
		return false
	}
	return slices.Equal(running(c.Pattern), running(row["pattern"]))
}

// running returns the number of CPUs of each node that run in a pattern, up to the last node with any.
func running(pattern string) (counts []int) {
	last := 0
	for i, node := range strings.Fields(pattern) {
		counts = append(counts, strings.Count(node, "*"))
		if counts[i] > 0 {
			last = i + 1
		}
	}
	return counts[:last]
}
