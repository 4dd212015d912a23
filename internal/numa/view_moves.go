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

// moveKind is a kind of migration, by the relation of the CPUs.
type moveKind struct {
	title string
	of    func(m *result.Migrations) uint64
}

// moveKinds come nearest first, and the sum of all last.
var moveKinds = [...]moveKind{
	{"same core", func(m *result.Migrations) uint64 { return m.SameCore }},
	{"same LLC", func(m *result.Migrations) uint64 { return m.SameLLC }},
	{"same node", func(m *result.Migrations) uint64 { return m.SameNode }},
	{"cross node", func(m *result.Migrations) uint64 { return m.CrossNode }},
	{"total", func(m *result.Migrations) uint64 { return m.Total }},
}

// moved returns the rows with known migrations.
func moved(rows []measuredRow) []measuredRow {
	return slices.DeleteFunc(slices.Clone(rows), func(row measuredRow) bool {
		return !slices.ContainsFunc(row.samples, func(v result.Numa) bool { return v.Migrations != nil })
	})
}

// meanMoves returns the mean number of moves per sample, over the samples with known migrations.
func (p *measuredRow) meanMoves(of func(m *result.Migrations) uint64) float64 {
	sum, n := 0.0, 0
	for i := range p.samples {
		if m := p.samples[i].Migrations; m != nil {
			sum, n = sum+float64(of(m)), n+1
		}
	}
	return sum / float64(n)
}

// lifeBlock shows the migrations of the probe's whole life, by the same kinds. They include those that binding it caused.
func lifeBlock(rows []measuredRow, opts term.Options) string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(row measuredRow) bool {
		return !slices.ContainsFunc(row.samples, func(v result.Numa) bool { return v.LifeMigrations != nil })
	})
	if len(rows) == 0 {
		return ""
	}
	columns, cells := []term.Column{term.Left("row")}, make([][]string, len(rows))
	for _, kind := range moveKinds {
		columns = append(columns, term.Right(kind.title))
	}
	for i := range rows {
		cells[i] = []string{rows[i].name()}
		for _, kind := range moveKinds {
			cells[i] = append(cells[i], meanKnown(rows[i].mean(func(v *result.Numa) *float64 {
				if v.LifeMigrations == nil {
					return nil
				}
				n := float64(kind.of(v.LifeMigrations))
				return &n
			})))
		}
	}
	return term.Title("Migrations in the probe's whole life, mean", opts) + term.FoldedGrid(columns, cells, opts)
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

// movesBlock counts migrations by the relation of the CPUs, as the RFC does.
func movesBlock(rows []measuredRow, opts term.Options) string {
	if rows = moved(rows); len(rows) == 0 {
		return ""
	}
	columns, cells := []term.Column{term.Left("row")}, make([][]string, len(rows))
	for _, kind := range moveKinds {
		columns = append(columns, term.Right(kind.title))
	}
	seen := map[string]int{}
	lost, losing := uint64(0), 0
	for i := range rows {
		row := &rows[i]
		cells[i] = []string{row.name()}
		for _, kind := range moveKinds {
			cells[i] = append(cells[i], meanKnown(row.meanMoves(kind.of)))
		}
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
	return term.Title("Migrations a sample, mean", opts) + term.FoldedGrid(columns, cells, opts) +
		term.Paragraph("  ", term.SnipWords(note, opts), opts.Columns()-2)
}

// nodeMovesBlock counts the moves to and from each node, if there are several.
func nodeMovesBlock(rows []measuredRow, opts term.Options) string {
	nodes := map[string]struct{}{}
	for _, row := range rows {
		for _, v := range row.samples {
			if m := v.Migrations; m != nil {
				for node := range m.ToNode {
					nodes[node] = struct{}{}
				}
				for node := range m.FromNode {
					nodes[node] = struct{}{}
				}
			}
		}
	}
	if len(nodes) == 0 {
		return ""
	}
	order := sortedNodes(nodes)
	rows = slices.DeleteFunc(moved(rows), func(row measuredRow) bool {
		return !slices.ContainsFunc(row.samples, func(v result.Numa) bool {
			return v.Migrations != nil && v.Migrations.CrossNode > 0
		})
	})
	columns, cells := []term.Column{term.Left("row")}, make([][]string, len(rows))
	for i := range rows {
		cells[i] = []string{rows[i].name()}
	}
	for _, node := range order {
		columns = append(columns, term.Right("node "+term.Snip(node, 8)))
		for i := range rows {
			to := rows[i].meanMoves(func(m *result.Migrations) uint64 { return m.ToNode[node] })
			from := rows[i].meanMoves(func(m *result.Migrations) uint64 { return m.FromNode[node] })
			cells[i] = append(cells[i], meanKnown(to)+"/"+meanKnown(from))
		}
	}
	return term.Title("Cross-node migrations a sample, mean: to/from", opts) + term.FoldedGrid(columns, cells, opts)
}

// sortedNodes returns the names of nodes in the order of their numbers: 10 after 9.
func sortedNodes(nodes map[string]struct{}) []string {
	return slices.SortedFunc(maps.Keys(nodes), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
}
