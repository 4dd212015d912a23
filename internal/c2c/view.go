package c2c

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gorun/internal/experiment"
	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/table"
	"gorun/internal/topology"
	"gorun/internal/units"
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
			slices.SortStableFunc(tables[0].Rows, func(a, b table.Row) int { return cmp.Compare(distance(a.Name), distance(b.Name)) })
		}
		return tables
	},
}

// distance is the place of a relation, the nearest first.
func distance(relation string) int {
	return slices.IndexFunc(topology.Relations[:], func(r topology.Relation) bool { return r.String() == relation })
}

// measuredPair is the result for a pair of CPUs over its good samples. Times are medians.
type measuredPair struct {
	Figures
	oneWay, roundTrip []float64 // ns, one per sample
}

// measuredPairs groups the samples by pair, in the order of the CPUs. Invalid samples, and partial ones without a
// time, are left out.
func measuredPairs(samples []result.Sample) []measuredPair {
	byCPUs := map[[2]int]*measuredPair{}
	for i := range samples {
		v, ok := result.Typed[Figures](&samples[i])
		if !ok || v.CPUA == v.CPUB || v.NS <= 0 || !samples[i].Good() {
			continue
		}
		p := *v
		if p.CPUA > p.CPUB {
			p.CPUA, p.CPUB, p.NodeA, p.NodeB = p.CPUB, p.CPUA, p.NodeB, p.NodeA
		}
		key := [2]int{p.CPUA, p.CPUB}
		if byCPUs[key] == nil {
			byCPUs[key] = &measuredPair{Figures: p}
		}
		byCPUs[key].oneWay = append(byCPUs[key].oneWay, p.NS)
		byCPUs[key].roundTrip = append(byCPUs[key].roundTrip, p.RoundTripNS)
	}
	pairs := make([]measuredPair, 0, len(byCPUs))
	for _, p := range byCPUs {
		p.NS, p.RoundTripNS = result.Distribute(p.oneWay).Median, result.Distribute(p.roundTrip).Median
		pairs = append(pairs, *p)
	}
	slices.SortFunc(pairs, func(a, b measuredPair) int {
		return cmp.Or(cmp.Compare(a.CPUA, b.CPUA), cmp.Compare(a.CPUB, b.CPUB))
	})
	return pairs
}

// seat is where a CPU is. The numbers tell groups apart, and say no more.
type seat struct{ cpu, node, llc, core int }

// seats orders the CPUs of the pairs by locality: node, last-level cache, core, number. A run does not contain the
// topology; the relations show which CPUs share a cache or a core. A missing pair matters only if no other pairs
// connect its CPUs, which then count as separate.
func seats(pairs []measuredPair) []seat {
	nodes := map[int]int{}
	for _, p := range pairs {
		nodes[p.CPUA], nodes[p.CPUB] = p.NodeA, p.NodeB
	}
	core, llc := clusters(pairs, topology.SameCore), clusters(pairs, topology.SameCore, topology.SameLLC)
	order := make([]seat, 0, len(nodes))
	for cpu, node := range nodes {
		order = append(order, seat{cpu, node, llc(cpu), core(cpu)})
	}
	slices.SortFunc(order, func(a, b seat) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.llc, b.llc), cmp.Compare(a.core, b.core),
			cmp.Compare(a.cpu, b.cpu))
	})
	return order
}

// clusters groups the CPUs that are connected by pairs of these relations (union-find). of returns the lowest CPU of
// a CPU's group.
func clusters(pairs []measuredPair, near ...topology.Relation) (of func(cpu int) int) {
	above := map[int]int{}
	of = func(cpu int) int {
		for {
			up, ok := above[cpu]
			if !ok {
				return cpu
			}
			if next, ok := above[up]; ok {
				above[cpu] = next
			}
			cpu = up
		}
	}
	for _, p := range pairs {
		if !slices.ContainsFunc(near, func(r topology.Relation) bool { return r.String() == p.Relation }) {
			continue
		}
		if a, b := of(p.CPUA), of(p.CPUB); a != b {
			above[max(a, b)] = min(a, b)
		}
	}
	return of
}

// heatOf returns the heat map of the one-way times; it is empty if there are too many CPUs.
func heatOf(pairs []measuredPair) *chart.Heat {
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
func mapBlock(run *result.Run, _ view.Spec, opts term.Options) string {
	pairs := measuredPairs(run.Samples)
	heat := heatOf(pairs)
	block := chart.HeatText(heat, opts)
	n := len(seats(pairs))
	switch {
	case len(pairs) == 0:
		return ""
	case block == "":
		return term.Paragraph("", fmt.Sprintf("A map of %d CPUs is too wide for this page: gorun report draws up to %d, and --format csv has"+
			" every pair.", n, chart.MapLimit), opts.Columns())
	}
	block = opts.Paint(term.Bold, "One way, in ns, by CPU") + "\n" + block
	if missing := n*(n-1)/2 - len(pairs); missing > 0 {
		block += term.Paragraph("  ", fmt.Sprintf("%s without a good sample: ·", units.Things(missing, "pair")), opts.Columns()-2)
	}
	return block
}

// extremes names the fastest and the slowest pair.
func extremes(pairs []measuredPair) string {
	nearer := func(a, b measuredPair) int { return cmp.Compare(a.NS, b.NS) }
	describe := func(p measuredPair) string {
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
	t := table.Table{}
	t.Add("relation", "pairs")
	add := func(name string, pairs int) {
		t.Rows = append(t.Rows, table.Row{Values: []table.Value{table.Text(name), table.Count(pairs)}})
	}
	for _, r := range topology.Relations {
		if n := p.Relations[r.String()]; n > 0 {
			add(r.String(), n)
		}
	}
	add("in all", p.Pairs)
	about := units.Duration(p.Estimate)
	if p.Estimate < 1 {
		about = units.Seconds(p.Estimate)
	}
	t.Notes = []string{fmt.Sprintf("%s of %s each: about %s.", units.Things(p.Pairs, "pair"), units.Seconds(p.Seconds), about)}
	return []table.Table{t}
}
