package c2c

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// shown is how runs of `gorun c2c` are shown.
var shown = experiment.View{
	Drawn: mapBlock, Plan: planTable, Rows: []string{"relation"},
	Options:  []string{"method", "pairs", "mem_node", "pair_seconds"},
	Drawings: []experiment.Drawing{{Anchor: "map", Draw: drawMap}},
	Tables: func(run *result.Run, shape view.Shape) []table.Table {
		tables := shape.Tables(run)
		if pairs := measuredPairs(run.Samples); len(pairs) > 1 && len(tables) > 0 {
			tables[0].Notes = append(tables[0].Notes, extremes(pairs))
			distance := func(r table.Row) int { return slices.Index(topology.RelationNames, r.Name) }
			slices.SortStableFunc(tables[0].Rows, func(a, b table.Row) int { return cmp.Compare(distance(a), distance(b)) })
		}
		return tables
	},
}

// measuredPairs returns the figures of each pair of CPUs, in the order of the CPUs; the time one way is the median of its good samples.
// Partial samples without a time are left out.
func measuredPairs(samples result.Samples) (pairs []Figures) {
	type key struct{ a, b int }
	times := map[key][]float64{}
	for _, s := range samples.All() {
		v, ok := result.Typed[Figures](s)
		if !ok || v.CPUA == v.CPUB || v.NS <= 0 || !s.Good() {
			continue
		}
		of := key{v.CPUA, v.CPUB}
		if times[of] == nil {
			pairs = append(pairs, *v)
		}
		times[of] = append(times[of], v.NS)
	}
	for i, p := range pairs {
		pairs[i].NS = result.Distribute(times[key{p.CPUA, p.CPUB}]).Median
	}
	slices.SortFunc(pairs, func(a, b Figures) int {
		return cmp.Or(cmp.Compare(a.CPUA, b.CPUA), cmp.Compare(a.CPUB, b.CPUB))
	})
	return pairs
}

// seat is where a CPU is. The numbers tell groups apart, and say no more.
type seat struct{ cpu, node, llc, core int }

// seats orders the CPUs of the pairs by locality: node, last-level cache, core, number. A run does not contain the
// topology; the relations show which CPUs share a cache or a core. A missing pair matters only if no other pairs
// connect its CPUs, which then count as separate.
func seats(pairs []Figures) []seat {
	nodes := map[int]int{}
	for _, p := range pairs {
		nodes[p.CPUA], nodes[p.CPUB] = p.NodeA, p.NodeB
	}
	core, llc := lowest(pairs, topology.SameCore), lowest(pairs, topology.SameCore, topology.SameLLC)
	order := make([]seat, 0, len(nodes))
	for cpu, node := range nodes {
		order = append(order, seat{cpu, node, llc[cpu], core[cpu]})
	}
	slices.SortFunc(order, func(a, b seat) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.llc, b.llc), cmp.Compare(a.core, b.core),
			cmp.Compare(a.cpu, b.cpu))
	})
	return order
}

// lowest returns for each CPU the lowest one that pairs of these relations connect it with.
func lowest(pairs []Figures, near ...topology.Relation) map[int]int {
	of := map[int]int{}
	for _, p := range pairs {
		of[p.CPUA], of[p.CPUB] = p.CPUA, p.CPUB
	}
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(p Figures) bool {
		return !slices.ContainsFunc(near, func(r topology.Relation) bool { return r.String() == p.Relation })
	})
	for changed := true; changed; {
		changed = false
		for _, p := range pairs {
			a, b := of[p.CPUA], of[p.CPUB]
			of[p.CPUA], of[p.CPUB] = min(a, b), min(a, b)
			changed = changed || a != b
		}
	}
	return of
}

// heatOf returns the heat map of the one-way times; it is empty if there are too many CPUs.
func heatOf(pairs []Figures) *chart.Heat {
	order := seats(pairs)
	if len(order) == 0 || len(order) > chart.MapLimit {
		return &chart.Heat{}
	}
	h := &chart.Heat{Unit: "ns", Pairs: true}
	index, several := map[int]int{}, order[0].node != order[len(order)-1].node
	for i, s := range order {
		index[s.cpu] = i
		side := chart.Side{Name: strconv.Itoa(s.cpu), Part: s.llc}
		if several {
			side.Group = "N" + strconv.Itoa(s.node)
		}
		h.Rows = append(h.Rows, side)
		h.At = append(h.At, slices.Repeat([]float64{math.NaN()}, len(order)))
	}
	h.Columns = h.Rows
	for _, p := range pairs {
		a, b := index[p.CPUA], index[p.CPUB]
		h.At[a][b], h.At[b][a] = p.NS, p.NS
	}
	return h
}

// mapBlock returns the heat map, or where to find it if it is too wide.
func mapBlock(run *result.Run, opts term.Options) string {
	pairs := measuredPairs(run.Samples)
	block := chart.HeatText(heatOf(pairs), "One way, by CPU", opts)
	n := len(seats(pairs))
	switch {
	case len(pairs) == 0:
		return ""
	case block == "":
		return term.Paragraph("", fmt.Sprintf("A map of %d CPUs is too wide for this page: gorun report draws up to %d, and --format csv has"+
			" every pair.", n, chart.MapLimit), opts.Columns())
	}
	if missing := n*(n-1)/2 - len(pairs); missing > 0 {
		block += term.Paragraph("  ", fmt.Sprintf("%s without a good sample: ·", units.Things(missing, "pair")), opts.Columns()-2)
	}
	return block
}

// extremes names the fastest and the slowest pair.
func extremes(pairs []Figures) string {
	nearer := func(a, b Figures) int { return cmp.Compare(a.NS, b.NS) }
	describe := func(p Figures) string {
		return fmt.Sprintf("CPUs %d and %d (%s) %s", p.CPUA, p.CPUB, p.Relation, units.Seconds(p.NS/1e9))
	}
	return "fastest: " + describe(slices.MinFunc(pairs, nearer)) + "; slowest: " + describe(slices.MaxFunc(pairs, nearer))
}

// planTable shows the number of pairs and their duration.
func planTable(plan *result.Plan) []table.Table {
	p := plan.Pairs
	if p == nil {
		return nil
	}
	var relations []string
	for _, name := range topology.RelationNames {
		if p.Relations[name] > 0 {
			relations = append(relations, name)
		}
	}
	about := units.Duration(p.Estimate)
	if p.Estimate < 1 {
		about = units.Seconds(p.Estimate)
	}
	return []table.Table{table.Of(relations).
		With("relation", func(name string) table.Value { return table.Text(name) }).
		With("pairs", func(name string) table.Value { return table.Count(p.Relations[name]) }).
		Table("", "", fmt.Sprintf("%s of %s each: about %s.", units.Things(p.Pairs, "pair"), units.Seconds(p.Seconds), about))}
}
