package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// Question implements document.Drawn.
func (j *Judgement) Question() string { return "Which nodes are slow?" }

// Page implements document.Document.
func (j *Judgement) Page(bool) view.Page {
	return view.Page{Answer: j.answer(), Tables: j.tables(), Warnings: view.Warnings(j.Warnings)}
}

// Brief implements document.Summarised.
func (j *Judgement) Brief() view.Page { return j.Page(false) }

// mostNamed is the number of names in a sentence or a cell of a table.
const mostNamed = 8

// named returns some names, and the number of the others.
func named(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed-1], ", "), len(names)-mostNamed+1)
}

// namedOr returns one name, or that it is any one of several.
func namedOr(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "any one of " + named(names)
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

// isRate reports whether the figure is a rate, not a time.
func (s *Standing) isRate() bool { return s.Better == result.Higher }

// slower says by how much the node is slower: "5.1% slower" or "2.31 × as long" of a time, "4.9% less" or "0.43 × as much" of a rate.
func (s *Standing) slower() string {
	ratio, worse, word := s.Ratio, units.Plus, " slower"
	if s.isRate() {
		ratio, worse, word = 1/s.Ratio, units.Minus, " less"
	}
	sign, text := units.Changes{Step: 0.001, Amount: s.isRate()}.Parts(ratio)
	if sign == worse {
		return text + word
	}
	return sign + text
}

// words say in what the node is slower, and by how much.
func (s *Standing) words() string {
	if s.isRate() {
		return s.slower() + " " + s.Measure
	}
	return s.Measure + " " + s.slower()
}

// interval returns what the figure is at least and at most, compared with the class.
func (s *Slow) interval() string {
	hi := math.MaxFloat64
	if s.Hi != nil {
		hi = *s.Hi
	}
	if s.isRate() {
		lo := 0.0
		if s.Hi != nil {
			lo = 1 / hi
		}
		return units.Changes{Step: 0.001, Amount: true}.Interval(lo, 1/s.Lo)
	}
	return units.Changes{Step: 0.001}.Interval(s.Lo, hi)
}

// answer says which nodes are slow, how certain that is, and which were not judged.
func (j *Judgement) answer() (all []view.Statement) {
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
			words = append(words, fmt.Sprintf("%s (%s)", node, s.words()))
		}
		are := map[bool]string{true: "is slower than others like it", false: "are slower than others like them"}[len(slow) == 1]
		add("%d of %s %s by more than %s: %s", len(slow), nodes, are, margin, named(words))
		few := len(slices.DeleteFunc(slices.Clone(j.Slow), func(s Slow) bool { return s.Peers >= stats.EnoughPeers }))
		if 0 < few && few < len(j.Slow) {
			add("At most %s of the names with %d peers or more are expected to be false, and at most %[1]s of those with fewer", units.Share(j.FDR), stats.EnoughPeers)
		} else {
			add("At most %s of such names are expected to be false", units.Share(j.FDR))
		}
	case judged == 0:
		add("No node was judged: a node needs others like it, visited in the same %s", units.Duration(j.Slot))
	default:
		add("Of %s, none is certain to be slower than others like it by more than %s", nodes, margin)
	}
	if most, needed := j.mostBets(), j.visitsNeeded(); judged > 0 && most < needed {
		add("Too few visits yet: a slow node needs at least %d that count, and no node has more than %d", needed, most)
	}
	if len(j.Nearest) > 0 {
		n := j.Nearest[0]
		add("Nearest: %s (%s), e-value %s of %s; about %s", n.Node, n.words(), table.Format(column.Large, n.E), table.Format(column.Large, n.Needed),
			units.Things(n.More, "more visit"))
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
func (j *Judgement) visitsNeeded() int { return stats.BetsNeeded(cmp.Or(j.Needed, j.Few.Needed)) }

// tables are what a person reads: the slow nodes, those nearest to being named, wrong results, what was not judged, settings, and the
// classes.
func (j *Judgement) tables() []table.Table {
	tables := []table.Table{j.slowTable(), j.nearestTable(), j.wrongTable(), j.unjudgedTable(), j.visitsTable(), j.settingsTable(), j.classesTable()}
	return slices.DeleteFunc(append(tables, j.mediansTable()), func(t table.Table) bool { return len(t.Rows) == 0 })
}

func number(x float64, unit string) table.Value { return table.Number{X: x, Unit: column.Unit(unit)} }

func (j *Judgement) slowTable() table.Table {
	notes := []string{"An end of an interval is wrong for at most " + units.Share(j.FDR) + " of the names, on average."}
	unsure := map[string][]string{} // nodes, by why they are not certain enough to be drained
	for _, s := range j.Slow {
		if s.Unsure != "" {
			unsure[s.Unsure] = append(unsure[s.Unsure], s.Node)
		}
	}
	for i, why := range slices.Sorted(maps.Keys(unsure)) {
		if i == mostNearest {
			notes = append(notes, fmt.Sprintf("%s for such a reason.", units.Things(len(unsure)-i, "further name")))
			break
		}
		notes = append(notes, fmt.Sprintf("Not certain enough to drain %s: %s.", named(distinct(unsure[why], strings.Clone)), why))
	}
	return table.Of(j.Slow).
		With("node", func(s Slow) table.Value { return table.Text(s.Node) }).
		With("measure", func(s Slow) table.Value { return table.Text(s.Measure) }).
		With("typically", func(s Slow) table.Value { return table.Text(s.slower()) }).
		With("interval", func(s Slow) table.Value { return table.Text(s.interval()) }).
		With("e-value", func(s Slow) table.Value { return table.Number{X: s.E, Unit: column.Large} }).
		With("visits", func(s Slow) table.Value { return table.Count(s.Bets) }).
		With("figure", func(s Slow) table.Value { return number(s.Figure, s.Unit) }).
		With("of its class", func(s Slow) table.Value { return number(s.Median, s.Unit) }).
		With("worst part", func(s Slow) table.Value { return table.Text(s.Part) }).
		With("class", func(s Slow) table.Value { return table.Text(s.Class) }).
		Table("slow", "Slow nodes", notes...)
}

func (j *Judgement) nearestTable() table.Table {
	return table.Of(j.Nearest).
		With("node", func(n Nearest) table.Value { return table.Text(n.Node) }).
		With("measure", func(n Nearest) table.Value { return table.Text(n.Measure) }).
		With("typically", func(n Nearest) table.Value { return table.Text(n.slower()) }).
		With("e-value", func(n Nearest) table.Value { return table.Number{X: n.E, Unit: column.Large} }).
		With("needed", func(n Nearest) table.Value { return table.Number{X: n.Needed, Unit: column.Large} }).
		With("visits", func(n Nearest) table.Value { return table.Count(n.Bets) }).
		With("more visits", func(n Nearest) table.Value { return table.Count(n.More) }).
		With("figure", func(n Nearest) table.Value { return number(n.Figure, n.Unit) }).
		With("of its class", func(n Nearest) table.Value { return number(n.Median, n.Unit) }).
		With("worst part", func(n Nearest) table.Value { return table.Text(n.Part) }).
		With("class", func(n Nearest) table.Value { return table.Text(n.Class) }).
		Table("nearest", "Nearest to being named", "Not known to be slow. More visits: if they are like those so far.")
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
			t.AddRow(table.Text(what), table.Phrases{{Text: named(names)}})
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
		{v.Late, "of these arrived after their slot was judged: no other node is compared with them"},
		{v.Cut, "were killed or have not ended: what they measured is used"},
		{v.Pending, "in a slot of time that has not ended: judged after it"},
		{v.Future, "from the future: a clock is wrong"},
		{v.Copies, "copies of another visit: not judged"},
		{v.Unexpected, "of nodes that are not in --expect: not judged"},
		{v.Overlapped, "on the same CPUs at the same time, which disturbed each other: not judged"},
		{v.Repeated, "of a node that was visited before in the same slot: not judged"},
		{v.Other, "of other hardware or another gorun than the node has now: not judged"},
		{v.Earlier, "before --since: not judged"},
		{v.Disturbed, "measures of these visits were disturbed, still used"},
	} {
		if row.n > 0 {
			t.AddRow(table.Count(row.n), table.Phrases{{Text: row.what}})
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

// mediansTable has the medians of the classes: if all nodes of one are slow, none stands out.
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
		t.Notes = []string{"If all nodes are slow, none stands out: compare these medians with what you expect."}
	}
	if more := len(j.Classes) - mostClasses; more > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more classes are in --format json.", more))
	}
	return t
}

// Spreadsheet implements document.Listed: it has a row for each measure of each node.
func (j *Judgement) Spreadsheet() table.Table {
	slow := map[[2]string]bool{}
	for _, s := range j.Slow {
		slow[[2]string{s.Node, s.Measure}] = true
	}
	t := table.Table{Name: "nodes"}
	t.Add("node", "class", "state", "measure", "figure", "visits", "e", "ratio", "slow")
	for _, n := range j.Nodes {
		for _, m := range n.Measures {
			t.AddRow(
				table.Text(n.Name), table.Text(n.Class), table.Text(n.State), table.Text(m.Measure), number(m.Figure, ""), table.Count(m.Bets),
				number(m.E, ""), number(m.Ratio, ""), table.Text(fmt.Sprint(slow[[2]string{n.Name, m.Measure}])),
			)
		}
		if len(n.Measures) == 0 {
			t.AddRow(table.Text(n.Name), table.Text(n.Class), table.Text(n.State), nil, nil, nil, nil, nil, nil)
		}
	}
	return t
}
