package fleet

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/column"
	"gorun/internal/render/chart"
	"gorun/internal/render/view"
	"gorun/internal/stats"
	"gorun/internal/table"
	"gorun/internal/units"
)

func (j *Judgement) question() string   { return "Which nodes are slow?" }
func (j *Judgement) warnings() []string { return j.Warnings }

// mostNamed is the number of names in a sentence or a cell of a table.
const mostNamed = 8

// named returns some names, and the number of the others.
func named(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed-1], ", "), len(names)-mostNamed+1)
}

// distinct returns the distinct texts of things, in the order in which they come first.
func distinct[T any](things []T, of func(T) string) (texts []string) {
	seen := map[string]bool{}
	for _, thing := range things {
		if text := of(thing); !seen[text] {
			seen[text] = true
			texts = append(texts, text)
		}
	}
	return texts
}

// slower says by how much a node is slower: "5.1% slower", or "2.31 × as long".
func slower(ratio float64) string {
	text := units.Changes{Step: 0.001}.Ratio(ratio)
	if percent, is := strings.CutPrefix(text, "+"); is {
		return percent + " slower"
	}
	return text
}

// Answer says which nodes are slow, how certain that is, and which were not judged.
func (j *Judgement) Answer() (all []view.Statement) {
	add := func(format string, args ...any) {
		all = append(all, view.Statement{Text: fmt.Sprintf(format, args...)})
	}
	nodes, judged := units.Things(len(j.Nodes), "node"), j.States[Judged]
	if wrong := distinct(j.Wrong, func(w Wrong) string { return w.Node }); len(wrong) > 0 {
		add("Wrong results were computed on %s: %s", units.Things(len(wrong), "node"), named(wrong))
	}
	slow := distinct(j.Slow, func(s Slow) string { return s.Node })
	margin := units.Share(j.Margin)
	switch {
	case len(slow) > 0:
		var words []string
		for _, node := range slow {
			s := j.Slow[slices.IndexFunc(j.Slow, func(s Slow) bool { return s.Node == node })]
			words = append(words, fmt.Sprintf("%s (%s %s)", node, s.Measure, slower(s.Ratio)))
		}
		are := map[bool]string{true: "is slower than others like it", false: "are slower than others like them"}[len(slow) == 1]
		add("%d of %s %s by more than %s: %s", len(slow), nodes, are, margin, named(words))
		add("At most %s of the names are expected to be false", units.Share(j.FDR))
	case judged == 0:
		add("No node was judged: a node needs others like it, visited in the same %s", units.Duration(j.Slot))
	default:
		add("No node is known to be slower than others like it by more than %s, of %s", margin, nodes)
	}
	if most, needed := j.mostBets(), j.visitsNeeded(); judged > 0 && most < needed {
		add("No node has more than %s that count so far, and a single slow one is named after %d at the earliest", units.Things(most, "visit"), needed)
	}
	if judged < len(j.Nodes) {
		var states []string
		for _, state := range States {
			if n := j.States[state]; n > 0 {
				states = append(states, fmt.Sprintf("%d %s", n, state))
			}
		}
		add("Nodes: %s", strings.Join(states, ", "))
	}
	return all
}

func (j *Judgement) mostBets() (most int) {
	for _, n := range j.Nodes {
		for _, m := range n.Measures {
			most = max(most, m.Bets)
		}
	}
	return most
}

// visitsNeeded is the least number of visits after which one node alone can be named.
func (j *Judgement) visitsNeeded() int { return stats.BetsNeeded(j.Needed) }

// Tables are what a person reads: the slow nodes, wrong results, what was not judged, settings, and the classes.
func (j *Judgement) Tables() []table.Table {
	tables := []table.Table{j.slowTable(), j.wrongTable(), j.unjudgedTable(), j.visitsTable(), j.settingsTable(), j.classesTable()}
	return slices.DeleteFunc(append(tables, j.mediansTable()), func(t table.Table) bool { return len(t.Rows) == 0 })
}

func number(x float64, unit string) table.Value { return table.Number{X: x, Unit: column.Unit(unit)} }

func (j *Judgement) slowTable() table.Table {
	return table.Of(j.Slow).
		With("node", func(s Slow) table.Value { return table.Text(s.Node) }).
		With("measure", func(s Slow) table.Value { return table.Text(s.Measure) }).
		With("typically", func(s Slow) table.Value { return table.Text(slower(s.Ratio)) }).
		With("interval", func(s Slow) table.Value {
			hi := math.MaxFloat64
			if s.Hi != nil {
				hi = *s.Hi
			}
			return table.Text(units.Changes{Step: 0.001}.Interval(s.Lo, hi))
		}).
		With("e-value", func(s Slow) table.Value { return table.Number{X: s.E, Unit: column.Large} }).
		With("visits", func(s Slow) table.Value { return table.Count(s.Bets) }).
		With("figure", func(s Slow) table.Value { return number(s.Figure, s.Unit) }).
		With("of its class", func(s Slow) table.Value { return number(s.Median, s.Unit) }).
		With("worst part", func(s Slow) table.Value { return table.Text(s.Part) }).
		With("class", func(s Slow) table.Value { return table.Text(s.Class) }).
		Table("slow", "Slow nodes", "An end of an interval is wrong for at most "+units.Share(j.FDR)+" of the names, on average.")
}

func (j *Judgement) wrongTable() table.Table {
	return table.Of(j.Wrong).
		With("node", func(w Wrong) table.Value { return table.Text(w.Node) }).
		With("time", func(w Wrong) table.Value { return table.Text(w.Time) }).
		With("what", func(w Wrong) table.Value {
			return table.Phrases{{Text: w.What, Tone: table.Bad}, {Text: w.File, Tone: table.Faint}}
		}).
		Table("wrong", "Wrong results")
}

// unjudgedTable has the nodes that were not judged, by their state, and those whose clocks are off.
func (j *Judgement) unjudgedTable() table.Table {
	t := table.Table{Name: "unjudged", Title: "Nodes without a judgement"}
	t.Add("nodes", "")
	add := func(what string, names []string) {
		if len(names) > 0 {
			t.Rows = append(t.Rows, table.Row{Values: []table.Value{table.Text(what), table.Phrases{{Text: named(names)}}}})
		}
	}
	for _, state := range States[1:] {
		var names []string
		for _, n := range j.Nodes {
			if n.State == state {
				names = append(names, n.Name)
			}
		}
		add(string(state), names)
	}
	var clocks []string
	for _, c := range j.Clocks {
		which := "ahead"
		if c.Seconds < 0 {
			which = "behind"
		}
		clocks = append(clocks, fmt.Sprintf("%s (%s %s)", c.Node, units.Duration(math.Abs(c.Seconds)), which))
	}
	add("clock is off", clocks)
	return t
}

// visitsTable says what the visits count as.
func (j *Judgement) visitsTable() table.Table {
	t := table.Table{Name: "visits", Title: "Visits"}
	t.Add("visits", "")
	v := j.Visits
	for _, row := range []struct {
		n    int
		what string
	}{
		{v.Judged, "judged"},
		{v.Late, "of these arrived after their slot was judged: they are no other node's peers"},
		{v.Cut, "were killed or have not ended: what they measured counts"},
		{v.Pending, "in a slot of time that has not ended: judged after it"},
		{v.Future, "are from the future: a clock is wrong"},
		{v.Overlapped, "on the same CPUs at the same time, which disturbed each other: not judged"},
		{v.Repeated, "of a node that was visited before in the same slot: not judged"},
		{v.Other, "of other hardware or another gorun than the node has now: not judged"},
		{v.Earlier, "before --since: not read further"},
		{v.Disturbed, "measures were disturbed by something else on the machine: they count"},
	} {
		if row.n > 0 {
			t.Rows = append(t.Rows, table.Row{Values: []table.Value{table.Count(row.n), table.Phrases{{Text: row.what}}}})
		}
	}
	return t
}

func (j *Judgement) settingsTable() table.Table {
	return table.Of(j.Settings).
		With("setting", func(s Setting) table.Value { return table.Text(s.Name) }).
		With("value", func(s Setting) table.Value { return table.Text(s.Value) }).
		With("most nodes", func(s Setting) table.Value { return table.Text(s.Usual) }).
		With("nodes", func(s Setting) table.Value { return table.Phrases{{Text: named(s.Nodes)}} }).
		Table("settings", "Settings that differ from those of most nodes with the same processor")
}

func (j *Judgement) classesTable() table.Table {
	return table.Of(j.Classes).
		With("class", func(c Class) table.Value { return table.Text(c.Name) }).
		With("nodes", func(c Class) table.Value { return table.Count(c.Nodes) }).
		With("processor", func(c Class) table.Value { return table.Text(c.CPUModel) }).
		With("CPUs", func(c Class) table.Value { return table.Count(c.CPUs) }).
		With("memory", func(c Class) table.Value { return table.Number{X: float64(c.Memory), Unit: column.Bytes} }).
		With("microcode", func(c Class) table.Value { return table.Text(c.Microcode) }).
		With("gorun", func(c Class) table.Value { return table.Text(c.Version) }).
		Table("classes", "Classes of nodes that are alike")
}

// mostClasses is the number of classes, the largest first, whose medians are shown side by side.
const mostClasses = 6

// measures returns the measures of all classes, by name.
func (j *Judgement) measures() (names []string) {
	for _, c := range j.Classes {
		for _, m := range c.Measures {
			names = append(names, m.Measure)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mediansTable has the medians of the classes: a class that is slow as a whole is slow to no peer.
func (j *Judgement) mediansTable() table.Table {
	t := table.Table{Name: "medians", Title: "Medians of the classes"}
	t.Add("measure")
	classes := j.Classes[:min(len(j.Classes), mostClasses)]
	for _, c := range classes {
		t.Columns = append(t.Columns, table.Column{Title: c.Name, Apart: true})
	}
	for _, measure := range j.measures() {
		row := table.Row{Values: []table.Value{table.Text(measure)}}
		for _, c := range classes {
			i := slices.IndexFunc(c.Measures, func(m ClassMeasure) bool { return m.Measure == measure })
			if i < 0 {
				row.Values = append(row.Values, nil)
			} else {
				row.Values = append(row.Values, number(c.Measures[i].Median, c.Measures[i].Unit))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) > 0 {
		t.Notes = []string{"A class that is slow as a whole has no slow node: compare its medians with what you expect."}
	}
	if more := len(j.Classes) - mostClasses; more > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more classes are in --format json.", more))
	}
	return t
}

// sheet has a row for each measure of each node.
func (j *Judgement) sheet() table.Table {
	slow := map[[2]string]bool{}
	for _, s := range j.Slow {
		slow[[2]string{s.Node, s.Measure}] = true
	}
	t := table.Table{Name: "nodes"}
	t.Add("node", "class", "state", "measure", "figure", "visits", "e", "ratio", "slow")
	for _, n := range j.Nodes {
		for _, m := range n.Measures {
			t.Rows = append(t.Rows, table.Row{Values: []table.Value{
				table.Text(n.Name), table.Text(n.Class), table.Text(n.State), table.Text(m.Measure), number(m.Figure, ""), table.Count(m.Bets),
				number(m.E, ""), number(m.Ratio, ""), table.Text(fmt.Sprint(slow[[2]string{n.Name, m.Measure}])),
			}})
		}
		if len(n.Measures) == 0 {
			t.Rows = append(t.Rows, table.Row{Values: []table.Value{table.Text(n.Name), table.Text(n.Class), table.Text(n.State), nil, nil, nil, nil, nil, nil}})
		}
	}
	return t
}

// mostRows is the number of nodes in the heat map.
const mostRows = 40

// drawings has the heat map of nodes and measures.
func (j *Judgement) drawings() []chart.Drawing {
	slowest := func(n Node) (ratio float64) {
		for _, m := range n.Measures {
			if m.Bets > 0 {
				ratio = max(ratio, m.Ratio)
			}
		}
		return ratio
	}
	isSlow := map[string]bool{}
	for _, s := range j.Slow {
		isSlow[s.Node] = true
	}
	nodes := slices.DeleteFunc(slices.Clone(j.Nodes), func(n Node) bool { return n.State != Judged })
	slices.SortStableFunc(nodes, func(a, b Node) int {
		if isSlow[a.Name] != isSlow[b.Name] {
			return map[bool]int{true: -1, false: 1}[isSlow[a.Name]]
		}
		return map[bool]int{true: -1, false: 1}[slowest(a) > slowest(b)]
	})
	shown := nodes[:min(len(nodes), mostRows)]
	var numbered []string
	measures := j.measures()
	h := &chart.Heat{Unit: "×"}
	h.Label = func(i, k int) string { return h.Rows[i].Name + ", " + measures[k] }
	for i, measure := range measures { // their names are wider than the cells
		number := strconv.Itoa(i + 1)
		h.Columns, numbered = append(h.Columns, chart.Side{Name: number}), append(numbered, number+" "+measure)
	}
	for _, n := range shown {
		row := slices.Repeat([]float64{math.NaN()}, len(h.Columns))
		for _, m := range n.Measures {
			if m.Bets > 0 {
				row[slices.Index(measures, m.Measure)] = m.Ratio
			}
		}
		h.Rows, h.At = append(h.Rows, chart.Side{Name: n.Name}), append(h.At, row)
	}
	drawn, height, ok := chart.DrawMaps(h)
	if !ok {
		return nil
	}
	d := chart.Drawing{Title: "Nodes and measures: times as long as the peers'", Table: j.slowTable()}
	d.Description = fmt.Sprintf("The slowest %d of %d judged nodes, those that are named first. 1.00 is as fast as the peers. The measures are %s.",
		len(shown), len(nodes), strings.Join(numbered, ", "))
	d.SVG = chart.Frame(d, "", height, drawn)
	return []chart.Drawing{d}
}
