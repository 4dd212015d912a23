package c2c

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/topology"
	"gorun/internal/units"
)

// shown is the view of `gorun c2c` runs.
var shown = experiment.View{
	Title: title, Blocks: blocks, Plan: planBlock,
	Options:  []string{"method", "pairs", "mem_node"},
	Drawings: []experiment.Drawing{{Anchor: "map", Draw: drawMap}},
	Compared: view.Compared{Figure: oneWay, Name: func(s *result.Sample) (string, int) {
		p, ok := result.Typed[Figures](s)
		if !ok {
			return "", 0
		}
		return p.Relation, 0
	}},
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

// seats orders the CPUs of the pairs by locality: node, last-level cache, core, number. A run does not contain the
// topology; the relations show which CPUs share a cache or a core. A missing pair matters only if no other pairs
// connect its CPUs, which then count as separate.
func seats(pairs []measuredPair) []chart.Seat {
	nodes := map[int]int{}
	for _, p := range pairs {
		nodes[p.CPUA], nodes[p.CPUB] = p.NodeA, p.NodeB
	}
	core, llc := clusters(pairs, topology.SameCore), clusters(pairs, topology.SameCore, topology.SameLLC)
	order := make([]chart.Seat, 0, len(nodes))
	for cpu, node := range nodes {
		order = append(order, chart.Seat{CPU: cpu, Node: node, LLC: llc(cpu), Core: core(cpu)})
	}
	slices.SortFunc(order, func(a, b chart.Seat) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.LLC, b.LLC), cmp.Compare(a.Core, b.Core),
			cmp.Compare(a.CPU, b.CPU))
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
	h := &chart.Heat{Unit: "ns", Seats: seats(pairs)}
	if len(h.Seats) > chart.MapLimit {
		return &chart.Heat{}
	}
	index := map[int]int{}
	for i, s := range h.Seats {
		index[s.CPU] = i
		h.At = append(h.At, slices.Repeat([]float64{math.NaN()}, len(h.Seats)))
	}
	for _, p := range pairs {
		a, b := index[p.CPUA], index[p.CPUB]
		h.At[a][b], h.At[b][a] = p.NS, p.NS
	}
	return h
}

// methodWords describes each method of passing the line.
var methodWords = map[string]string{
	"cas": "compare-and-swap", "write": "plain writes", "faa": "fetch-and-add",
}

// title returns the heading of `gorun c2c`.
func title(run *result.Run, options view.Spec) (title string, parts []string) {
	pairs := measuredPairs(run.Samples)
	title = fmt.Sprintf("gorun c2c: a cache line handed back and forth between %s of %s", units.Things(len(pairs), "pair"),
		units.Things(len(seats(pairs)), "CPU"))
	method := options.Text("method")
	if how := methodWords[method]; how != "" {
		method = "by " + how
	}
	if method != "" {
		parts = append(parts, method)
	}
	if which := options.Text("pairs"); which != "" {
		parts = append(parts, view.Option("pairs", which))
	}
	if each, err := strconv.ParseFloat(options.Text("pair_seconds"), 64); err == nil {
		parts = append(parts, units.Seconds(each)+" a pair")
	}
	if budget := options.Text("budget_seconds"); budget != "" {
		parts = append(parts, view.Option("budget_seconds", budget))
	}
	homes := []string{}
	for _, p := range pairs {
		if p.HomeNode != nil && !slices.Contains(homes, strconv.Itoa(*p.HomeNode)) {
			homes = append(homes, strconv.Itoa(*p.HomeNode))
		}
	}
	if asked := options.Text("mem_node"); asked != "" {
		parts = append(parts, view.Option("mem_node", asked))
	}
	if len(homes) > 0 {
		slices.Sort(homes)
		parts = append(parts, "lines on node "+strings.Join(homes, ", "))
	}
	return title, parts
}

// blocks returns the heat map, the relations, and the samples.
func blocks(run *result.Run, _ view.Spec, opts term.Options) []string {
	pairs := measuredPairs(run.Samples)
	return []string{mapBlock(pairs, opts), relationsBlock(pairs, opts), view.DoubtsBlock(run, opts)}
}

// mapBlock returns the heat map, or where to find it if it is too wide.
func mapBlock(pairs []measuredPair, opts term.Options) string {
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

// byRelation groups the pairs by relation, nearest first; an unknown relation comes last.
func byRelation(pairs []measuredPair) (names []string, of map[string][]measuredPair) {
	of = map[string][]measuredPair{}
	for _, r := range topology.Relations {
		names = append(names, r.String())
	}
	for _, p := range pairs {
		if !slices.Contains(names, p.Relation) {
			names = append(names, p.Relation)
		}
		of[p.Relation] = append(of[p.Relation], p)
	}
	return slices.DeleteFunc(names, func(name string) bool { return of[name] == nil }), of
}

// relationsBlock summarises the pairs by relation, and names the fastest and the slowest pair.
func relationsBlock(pairs []measuredPair, opts term.Options) string {
	if len(pairs) == 0 {
		return ""
	}
	head, rows := relationRows(pairs, units.Tenths)
	columns := []term.Column{term.Left(head[0])}
	for _, title := range head[1:] {
		columns = append(columns, term.Right(title))
	}
	block := opts.Paint(term.Bold, "One way by relation, in ns") + "\n" + term.Grid(columns, rows)
	if len(pairs) < 2 {
		return block
	}
	return block + term.Paragraph("  ", extremes(pairs), opts.Columns()-2)
}

// relationRows has the times of the pairs by relation in ns: the distribution one way, and the median of both ways.
func relationRows(pairs []measuredPair, show func(ns float64) string) (head []string, rows [][]string) {
	names, of := byRelation(pairs)
	for _, name := range names {
		var oneWay, roundTrip []float64
		for _, p := range of[name] {
			oneWay, roundTrip = append(oneWay, p.NS), append(roundTrip, p.RoundTripNS)
		}
		d := result.Distribute(oneWay)
		rows = append(rows, []string{
			name, strconv.Itoa(len(oneWay)), show(d.Median), show(d.Mean), show(d.Min), show(d.Max),
			show(result.Distribute(roundTrip).Median),
		})
	}
	return []string{"relation", "pairs", "median", "mean", "min", "max", "round trip"}, rows
}

// extremes names the fastest and the slowest pair.
func extremes(pairs []measuredPair) string {
	nearer := func(a, b measuredPair) int { return cmp.Compare(a.NS, b.NS) }
	describe := func(p measuredPair) string {
		return fmt.Sprintf("CPUs %d and %d (%s) %s ns", p.CPUA, p.CPUB, p.Relation, units.Tenths(p.NS))
	}
	return "fastest: " + describe(slices.MinFunc(pairs, nearer)) + "; slowest: " + describe(slices.MaxFunc(pairs, nearer))
}

// planBlock shows the number of pairs and their duration.
func planBlock(plan *result.Plan, _ view.Spec) string {
	p := plan.Pairs
	if p == nil {
		return ""
	}
	var rows [][]string
	for _, r := range topology.Relations {
		if n := p.Relations[r.String()]; n > 0 {
			rows = append(rows, []string{r.String(), strconv.Itoa(n)})
		}
	}
	rows = append(rows, []string{"in all", strconv.Itoa(p.Pairs)})
	about := units.Duration(p.Estimate)
	if p.Estimate < 1 {
		about = units.Seconds(p.Estimate)
	}
	return term.Grid([]term.Column{term.Left("relation"), term.Right("pairs")}, rows) + "\n" + term.Paragraph("time  ",
		fmt.Sprintf("%s of %s each: about %s.", units.Things(p.Pairs, "pair"), units.Seconds(p.Seconds), about),
		term.DefaultWidth)
}
