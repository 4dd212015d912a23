package numa

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/units"
)

// shownFigure is a column of a table of rows.
type shownFigure struct {
	title string
	of    func(p *measuredRow) string
}

// rowTable shows figures of rows, a line each; "" without rows.
func rowTable(title string, rows []measuredRow, figures []shownFigure, opts term.Options) string {
	if len(rows) == 0 {
		return ""
	}
	columns, cells := []term.Column{term.Left("row")}, make([][]string, len(rows))
	for i := range rows {
		cells[i] = []string{rows[i].name()}
	}
	for _, figure := range figures {
		columns = append(columns, term.Right(figure.title))
		for i := range rows {
			cells[i] = append(cells[i], figure.of(&rows[i]))
		}
	}
	return term.Title(title, opts) + term.FoldedGrid(columns, cells, opts)
}

// having returns the rows with a sample for which this is so.
func having(rows []measuredRow, is func(*result.Numa) bool) []measuredRow {
	return slices.DeleteFunc(slices.Clone(rows), func(row measuredRow) bool {
		return !slices.ContainsFunc(row.samples, func(v result.Numa) bool { return is(&v) })
	})
}

// mean returns the mean of a figure over the samples that have it; NaN where none has.
func (p *measuredRow) mean(of func(*result.Numa) *float64) float64 {
	sum, n := 0.0, 0
	for i := range p.samples {
		if x := of(&p.samples[i]); x != nil {
			sum, n = sum+*x, n+1
		}
	}
	return sum / float64(n)
}

// meanKnown formats a mean of counts with at most one decimal.
func meanKnown(x float64) string { return units.Count(math.Round(10*x) / 10) }

// migrations are those of the probe's repetitions, or of its whole life, which include those that binding it caused.
type migrations func(*result.Numa) *result.Migrations

func counted(v *result.Numa) *result.Migrations { return v.Migrations }
func ofLife(v *result.Numa) *result.Migrations  { return v.LifeMigrations }

// mean returns a row's mean of a count.
func (m migrations) mean(p *measuredRow, count func(*result.Migrations) uint64) string {
	return meanKnown(p.mean(func(v *result.Numa) *float64 {
		if m(v) == nil {
			return nil
		}
		n := float64(count(m(v)))
		return &n
	}))
}

// block counts migrations by the relation of the CPUs, as the RFC does; "" if they are not known.
func (m migrations) block(title string, rows []measuredRow, opts term.Options) string {
	var figures []shownFigure
	for _, kind := range [...]struct {
		title string
		of    func(*result.Migrations) uint64
	}{
		{"same core", func(m *result.Migrations) uint64 { return m.SameCore }},
		{"same LLC", func(m *result.Migrations) uint64 { return m.SameLLC }},
		{"same node", func(m *result.Migrations) uint64 { return m.SameNode }},
		{"cross node", func(m *result.Migrations) uint64 { return m.CrossNode }},
		{"total", func(m *result.Migrations) uint64 { return m.Total }},
	} {
		figures = append(figures, shownFigure{kind.title, func(p *measuredRow) string { return m.mean(p, kind.of) }})
	}
	known := having(rows, func(v *result.Numa) bool { return m(v) != nil })
	return rowTable(title, known, figures, opts)
}

// movesBlock shows the migrations of the repetitions, and how they were counted.
func movesBlock(rows []measuredRow, opts term.Options) string {
	block := migrations(counted).block("Migrations a sample, mean", rows, opts)
	if block == "" {
		return ""
	}
	seen := map[string]int{}
	lost, losing := uint64(0), 0
	for _, row := range rows {
		for _, v := range row.samples {
			if m := v.Migrations; m != nil {
				seen[m.By]++
				if m.Lost > 0 {
					lost, losing = lost+m.Lost, losing+1
				}
			}
		}
	}
	var ways []string
	for _, by := range slices.Sorted(maps.Keys(seen)) {
		ways = append(ways, fmt.Sprintf("by %s in %s", by, units.Things(seen[by], "sample")))
	}
	note := "Seen " + strings.Join(ways, ", ") + "; no record was lost."
	if losing > 0 {
		note = fmt.Sprintf("Seen %s; %s lost in %s, whose figures are too low.", strings.Join(ways, ", "),
			units.Things(int(min(lost, math.MaxInt32)), "record"), units.Things(losing, "sample"))
	}
	return block + term.Paragraph("  ", term.SnipWords(note, opts), opts.Columns()-2)
}

// nodeMovesBlock counts the moves to and from each node, if there are several.
func nodeMovesBlock(rows []measuredRow, opts term.Options) string {
	rows = having(rows, func(v *result.Numa) bool { return v.Migrations != nil && v.Migrations.CrossNode > 0 })
	nodes := map[string]struct{}{}
	for _, row := range rows {
		for _, v := range row.samples {
			if v.Migrations != nil {
				addKeys(nodes, v.Migrations.ToNode)
				addKeys(nodes, v.Migrations.FromNode)
			}
		}
	}
	var figures []shownFigure
	for _, node := range sortedNodes(nodes) {
		figures = append(figures, shownFigure{"node " + term.Snip(node, 8), func(p *measuredRow) string {
			return migrations(counted).mean(p, func(m *result.Migrations) uint64 { return m.ToNode[node] }) + "/" +
				migrations(counted).mean(p, func(m *result.Migrations) uint64 { return m.FromNode[node] })
		}})
	}
	return rowTable("Cross-node migrations a sample, mean: to/from", rows, figures, opts)
}

func addKeys[V any](to map[string]struct{}, from map[string]V) {
	for key := range from {
		to[key] = struct{}{}
	}
}

// sortedNodes returns the names of nodes in the order of their numbers: 10 after 9.
func sortedNodes(nodes map[string]struct{}) []string {
	return slices.SortedFunc(maps.Keys(nodes), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
}
