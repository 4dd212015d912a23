package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// Options are what a judgement of visits is asked for.
type Options struct {
	Margin  float64       // a node is slow if it is slower than its class by more than it: 0.02 is 2%
	FDR     float64       // the expected share of false names among those that are named: at most this
	Slot    time.Duration // nodes that are visited in the same slot of time are each other's peers
	Since   time.Time     // earlier visits do not count; the zero time: all do
	Now     time.Time     // slots that have not ended are not judged
	Expect  []string      // all nodes of the fleet, which should have reported; nil: those that have
	Settled *Settled      // nil: no judgement was made before
}

// class returns what another node must share with a machine to be compared.
func (m *machine) class() Alike {
	return Alike{
		CPUModel: m.host.CPUModel, Microcode: m.host.Microcode, CPUs: m.cpus.Len(), Memory: roundMemory(m.host.MemoryBytes),
		Topology: m.host.Topology, Version: m.tool.Version,
	}
}

// roundMemory rounds to an eighth of the power of two below: what the kernel itself takes differs a little between equal machines.
func roundMemory(bytes uint64) uint64 {
	if bytes == 0 {
		return 0
	}
	step := math.Exp2(math.Floor(math.Log2(float64(bytes))) - 3)
	return uint64(math.Round(float64(bytes)/step) * step)
}

// judge is a judgement in progress.
type judge struct {
	Options
	doc     Judgement
	visits  []visit // those that count, in the order of time
	classes map[Alike]*classJudge
	nodes   map[string]*nodeState
	expect  map[string]bool
}

// nodeState is what is known of a node.
type nodeState struct {
	class  *classJudge
	last   *machine
	visits int
	lastAt time.Time
	judged bool
	// unexpected: it is not in --expect. Anyone who can write into the directory can make such nodes, so they are nobody's peers.
	unexpected bool
}

// classJudge judges a class.
type classJudge struct {
	Class
	nodes    map[string]bool
	measures map[string]*measureJudge
}

// measureJudge judges a measure of a class.
type measureJudge struct {
	of      *measureInfo
	figures map[string][]figure          // by node
	slots   map[int64][]stats.PeerFigure // that are to be settled
	last    map[string]int64             // slot of each node
	peers   *stats.Peers
}

// Judge judges the visits in the paths. If more of the files there are other documents, such as journals, it returns these instead.
func Judge(ctx context.Context, paths []string, o Options) (*Judgement, *Journals, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // most of what is read is kept
	files, left, err := find(ctx, paths)
	if err != nil {
		return nil, nil, err
	}
	visits, warnings, are := readVisits(ctx, files, o.Now)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if !are {
		journals := &Journals{Left: left}
		for _, file := range files {
			journals.Files = append(journals.Files, file.Path)
		}
		return nil, journals, nil
	}
	return judgeRead(visits, append(left, warnings...), o), nil, nil
}

// judgeRead judges visits in the order of time.
func judgeRead(visits []visit, warnings []string, o Options) *Judgement {
	j := &judge{Options: o, classes: map[Alike]*classJudge{}, nodes: map[string]*nodeState{}, expect: map[string]bool{}}
	for _, name := range o.Expect {
		j.expect[name] = true
	}
	j.doc = Judgement{
		Schema: result.Schema, Margin: o.Margin, FDR: o.FDR, Slot: o.Slot.Seconds(), States: map[State]int{}, Warnings: warnings,
	}
	visits, j.doc.Visits.Copies = withoutCopies(visits)
	j.choose(visits)
	j.bet()
	j.name()
	j.hold()
	j.list()
	j.settle()
	j.warn(visits)
	j.doc.Settings, j.doc.Clocks = j.settings(), j.clocks(visits)
	return &j.doc
}

// withoutCopies returns each visit of a folder once: a file may have been collected while the visit lasted, and again after it. The file
// with the most of it counts; of equal ones, the first that was written, since a later time is that of the copying.
func withoutCopies(visits []visit) (once []visit, copies int) {
	type identity struct {
		node, boot string
		start      time.Time
	}
	seen := map[identity]int{}
	for _, v := range visits {
		is := identity{v.node, v.on.host.BootID, v.start.UTC()}
		switch at, before := seen[is]; {
		case !before:
			seen[is], once = len(once), append(once, v)
		case moreOf(v, once[at]) > 0:
			once[at] = v
		}
	}
	return once, len(visits) - len(once)
}

// moreOf compares how much two files have of one visit.
func moreOf(a, b visit) int {
	ended := map[bool]int{false: 1}
	return cmp.Or(ended[a.cut]-ended[b.cut], len(a.figures)-len(b.figures), b.modified.Compare(a.modified))
}

// choose keeps the visits that count, and counts the others.
func (j *judge) choose(visits []visit) {
	count := &j.doc.Visits
	overlapped := overlaps(visits)
	for i := range visits {
		v := &visits[i]
		if v.start.Before(j.Since) {
			count.Earlier++
			continue
		}
		count.Read++
		count.Disturbed += v.disturbed
		if v.cut {
			count.Cut++
		}
		for _, wrong := range v.wrong {
			j.doc.Wrong = append(j.doc.Wrong, Wrong{v.node, v.start.Format(time.RFC3339), wrong, v.path})
		}
		n := j.nodes[v.node]
		if n == nil {
			n = &nodeState{unexpected: len(j.expect) > 0 && !j.expect[v.node]}
			j.nodes[v.node] = n
		}
		n.visits, n.last, n.lastAt = n.visits+1, v.on, v.start
		alike := v.on.alike
		if j.classes[alike] == nil {
			j.classes[alike] = &classJudge{Class: Class{Alike: alike}, nodes: map[string]bool{}, measures: map[string]*measureJudge{}}
		}
		n.class = j.classes[alike]
		switch {
		case n.unexpected:
			count.Unexpected++
		case v.start.After(j.Now):
			count.Future++
		case j.slotOf(v).Add(j.Slot).After(j.Now):
			count.Pending++
		case overlapped[v.path]:
			count.Overlapped++
		default:
			j.visits = append(j.visits, *v)
		}
	}
	for name, n := range j.nodes {
		if !n.unexpected {
			n.class.nodes[name] = true
		}
	}
}

// slotOf returns the beginning of a visit's slot.
func (j *judge) slotOf(v *visit) time.Time { return v.start.Truncate(j.Slot) }

// overlaps returns the visits, by their files, that one folder has of the same CPUs at once. Only of one folder: another node may write
// any boot into its own.
func overlaps(visits []visit) map[string]bool {
	type machine struct{ node, boot string }
	found := map[string]bool{}
	open := map[machine][]*visit{} // the visits are in the order of time
	for i := range visits {
		v := &visits[i]
		if v.on.host.BootID == "" {
			continue
		}
		at := machine{v.node, v.on.host.BootID}
		still := slices.DeleteFunc(open[at], func(o *visit) bool { return !o.end.After(v.start) })
		for _, o := range still {
			if !o.on.cpus.Intersect(v.on.cpus).Empty() {
				found[o.path], found[v.path] = true, true
			}
		}
		open[at] = append(still, v)
	}
	return found
}

// boots are the CPUs that each node has in a boot of a machine: by boot, by node.
type boots map[string]map[string]cpuset.Set

func (b boots) add(node, boot string, cpus cpuset.Set) {
	if boot == "" {
		return
	}
	if b[boot] == nil {
		b[boot] = map[string]cpuset.Set{}
	}
	b[boot][node] = b[boot][node].Union(cpus)
}

// warnings names the nodes that have a boot and CPUs in common. None of them is silenced, and they are not joined: anyone can copy what
// another node reports.
func (b boots) warnings() (all []string) {
	for _, boot := range slices.Sorted(maps.Keys(b)) {
		var taken, shared cpuset.Set
		for _, of := range b[boot] {
			shared = shared.Union(taken.Intersect(of))
			taken = taken.Union(of)
		}
		nodes := slices.Sorted(maps.Keys(b[boot]))
		nodes = slices.DeleteFunc(nodes, func(node string) bool { return shared.Intersect(b[boot][node]).Empty() })
		if len(nodes) > 0 {
			all = append(all, fmt.Sprintf("%s report the same boot of one machine and the same CPUs: the machine has several names, and is "+
				"compared with itself, or one of them reports what is another's", named(nodes)))
		}
	}
	return all
}

// warn warns of nodes that are not as the others say.
func (j *judge) warn(visits []visit) {
	seen := boots{}
	for i := range visits {
		seen.add(visits[i].node, visits[i].on.host.BootID, visits[i].on.cpus)
	}
	j.doc.Warnings = append(j.doc.Warnings, seen.warnings()...)
	var unexpected []string
	for _, name := range slices.Sorted(maps.Keys(j.nodes)) {
		if j.nodes[name].unexpected {
			unexpected = append(unexpected, name)
		}
	}
	if len(unexpected) > 0 {
		j.doc.Warnings = append(j.doc.Warnings, fmt.Sprintf("not in --expect, and so not judged: %s", named(unexpected)))
		if forms := otherForms(j.silent(), unexpected); len(forms) > 0 {
			j.doc.Warnings = append(j.doc.Warnings, "--expect seems to have other forms of these names: "+named(forms)+
				". Give the names that the folders of the visits have")
		}
	}
}

// silent returns the expected nodes that never reported.
func (j *judge) silent() (names []string) {
	for _, name := range j.Expect {
		if n := j.nodes[name]; n == nil || n.visits == 0 {
			names = append(names, name)
		}
	}
	return names
}

// units returns how the measures of a class are given whose names are not all in the battery: in the unit and direction that most of its
// nodes give. A measure of which as many nodes say something else is not judged, nor is one that a single node of several has.
func (j *judge) units() map[*classJudge]map[string]*measureInfo {
	votes := map[*classJudge]map[string]map[string]*measureInfo{} // by measure, by node: the last is its vote
	for i := range j.visits {
		v := &j.visits[i]
		class := j.nodes[v.node].class
		if v.on.alike != class.Alike {
			continue
		}
		for _, f := range v.figures {
			if f.of.one {
				continue
			}
			if votes[class] == nil {
				votes[class] = map[string]map[string]*measureInfo{}
			}
			if votes[class][f.of.name] == nil {
				votes[class][f.of.name] = map[string]*measureInfo{}
			}
			votes[class][f.of.name][v.node] = f.of
		}
	}
	most := map[*classJudge]map[string]*measureInfo{}
	var ties []string
	lone, other := map[string][]string{}, map[string][]string{} // measures by node
	for class, measures := range votes {
		most[class] = map[string]*measureInfo{}
		for name, by := range measures {
			winner := majority(by)
			switch {
			case len(by) == 1 && len(class.nodes) > 1:
				for node := range by {
					lone[node] = append(lone[node], name)
				}
				continue
			case winner == nil:
				ties = append(ties, name)
				continue
			}
			most[class][name] = winner
			for node, of := range by {
				if of != winner {
					other[node] = append(other[node], name)
				}
			}
		}
	}
	warn := func(names []string, format string, args ...any) {
		slices.Sort(names)
		j.doc.Warnings = append(j.doc.Warnings, fmt.Sprintf(format, append(args, named(slices.Compact(names)))...))
	}
	for _, node := range slices.Sorted(maps.Keys(lone)) {
		warn(lone[node], "%s has measures that no other node of its class has, which are not judged: %s", node)
	}
	for _, node := range slices.Sorted(maps.Keys(other)) {
		warn(other[node], "%s has figures in another unit or direction than most nodes of its class, which are not judged: %s", node)
	}
	if len(ties) > 0 {
		warn(ties, "nodes that are alike do not agree on the unit or direction of measures, which are not judged: %s")
	}
	return most
}

// majority returns what most nodes say of a measure; nil if as many say something else.
func majority(by map[string]*measureInfo) (winner *measureInfo) {
	votes := map[*measureInfo]int{}
	for _, of := range by {
		votes[of]++
	}
	most := 0
	for of, n := range votes {
		switch {
		case n > most:
			winner, most = of, n
		case n == most:
			winner = nil
		}
	}
	return winner
}

// bet gives the figures to the judges of their measures, and settles the slots in the order of time.
func (j *judge) bet() {
	count, unknown := &j.doc.Visits, j.units()
	for i := range j.visits {
		v := &j.visits[i]
		n := j.nodes[v.node]
		class := n.class
		if v.on.alike != class.Alike {
			count.Other++
			continue
		}
		slot, late := j.slotOf(v), j.Options.Settled.late(v, j.slotOf(v))
		fresh := false
		for _, f := range v.figures {
			if !f.of.one && unknown[class][f.of.name] != f.of {
				continue
			}
			m := class.measures[f.of.name]
			if m == nil {
				m = &measureJudge{
					of: f.of, figures: map[string][]figure{}, slots: map[int64][]stats.PeerFigure{}, last: map[string]int64{},
					peers: stats.NewPeers(fmt.Sprint(class.Alike, f.of.name), j.Margin),
				}
				class.measures[f.of.name] = m
			}
			m.figures[v.node] = append(m.figures[v.node], f)
			at := slot.UnixNano()
			if last, before := m.last[v.node]; before && last == at {
				continue
			}
			m.last[v.node], fresh = at, true
			m.slots[at] = append(m.slots[at], stats.PeerFigure{Node: v.node, Log: f.log(), Late: late})
		}
		switch {
		case !fresh && len(v.figures) > 0:
			count.Repeated++
		case late:
			count.Late++
			count.Judged++
		default:
			count.Judged++
		}
		n.judged = n.judged || fresh
	}
	var all []*measureJudge
	for _, class := range j.classes {
		all = slices.AppendSeq(all, maps.Values(class.measures))
	}
	var next atomic.Int64
	together(func() {
		for i := next.Add(1) - 1; i < int64(len(all)); i = next.Add(1) - 1 {
			m := all[i]
			for _, slot := range slices.Sorted(maps.Keys(m.slots)) {
				m.peers.Settle(slot, m.slots[slot])
			}
			m.slots = nil
		}
	})
}

// mostNearest is the number of nodes that are listed as the nearest to being named.
const mostNearest = 3

// name names the slow nodes, and those that are nearest to being named.
func (j *judge) name() {
	j.doc.Family = j.nameOf(func(peers int) bool { return peers >= stats.EnoughPeers })
	j.doc.Few = j.nameOf(func(peers int) bool { return 0 < peers && peers < stats.EnoughPeers })
	slices.SortFunc(j.doc.Slow, func(a, b Slow) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), strings.Compare(a.Node, b.Node), strings.Compare(a.Measure, b.Measure))
	})
	j.doc.Nearest = j.doc.Nearest[:min(len(j.doc.Nearest), mostNearest)]
}

// nameOf names the slow among the pairs of a node and a measure that had such a number of peers in a slot. A pair without any is no
// hypothesis: what a node alone measures makes no other node harder to name.
func (j *judge) nameOf(family func(peers int) bool) (f Family) {
	var es []float64
	var others []Standing // that are not named, but have won
	for _, class := range j.classes {
		for _, m := range class.measures {
			for node := range class.nodes {
				if family(m.peers.Most(node)) {
					es = append(es, m.peers.E(node))
				}
			}
		}
	}
	f = Family{Hypotheses: len(es), Needed: float64(len(es)) / j.FDR}
	least := stats.Discoveries(es, f.Hypotheses, j.FDR)
	var slow []Slow
	for _, class := range j.sortedClasses() {
		for _, name := range slices.Sorted(maps.Keys(class.measures)) {
			m := class.measures[name]
			for node := range class.nodes {
				switch e := m.peers.E(node); {
				case !family(m.peers.Most(node)):
				case e >= least:
					slow = append(slow, Slow{Standing: m.standing(class, node)})
				case e > 1:
					others = append(others, Standing{Node: node, Measure: name, E: e})
				}
			}
		}
	}
	claims := float64(len(slow))
	for i := range slow {
		s := &slow[i]
		m := j.measure(s)
		// Each end holds for those that are named as e-BH's claims do (e-BY: Xu, Wang and Ramdas, "Post-selection inference for
		// e-value based confidence intervals", Electronic Journal of Statistics 18, 2024).
		lo, hi := m.peers.Interval(s.Node, f.Needed/claims)
		s.Lo = max(lo, 1+j.Margin)
		if !math.IsInf(hi, 1) {
			s.Hi = &hi
		}
	}
	j.doc.Slow = append(j.doc.Slow, slow...)
	slices.SortFunc(others, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(b.E, a.E), strings.Compare(a.Node, b.Node), strings.Compare(a.Measure, b.Measure))
	})
	needed := f.Needed / (claims + 1)
	for _, s := range others[:min(len(others), mostNearest)] {
		if s.E*s.E < needed { // an e-value grows by factors: this one has not come half of the way, as luck alone often does
			break
		}
		class := j.nodes[s.Node].class
		m := class.measures[s.Measure]
		j.doc.Nearest = append(j.doc.Nearest, Nearest{m.standing(class, s.Node), needed, m.peers.More(s.Node, needed)})
	}
	return f
}

// measure returns the judge of the measure in which a node is slow.
func (j *judge) measure(s *Slow) *measureJudge { return j.nodes[s.Node].class.measures[s.Measure] }

// hold finds the names that hold without any one other node, whatever that node reports of itself: without it as a peer, and without the
// names that it has, of which more make others easier to name. Only these are certain enough for a line that drains a node.
func (j *judge) hold() {
	without := make([]map[string]float64, len(j.doc.Slow)) // e-values, by the node that is left out
	leave := map[string]bool{}
	for i := range j.doc.Slow {
		s := &j.doc.Slow[i]
		if s.Peers < stats.EnoughPeers {
			s.Unsure = fmt.Sprintf("fewer than %d nodes like it were visited in the same slot, so that the false figures of one could make it look slow", stats.EnoughPeers)
			continue
		}
		without[i] = j.measure(s).peers.Without(s.Node)
		leave[s.Node] = true
		for peer := range without[i] {
			leave[peer] = true
		}
	}
	rests := make([][]string, len(j.doc.Slow)) // the nodes without which a name does not hold
	es := make([]float64, len(j.doc.Slow))
	for _, node := range slices.Sorted(maps.Keys(leave)) {
		for i := range j.doc.Slow {
			s := &j.doc.Slow[i]
			e, peer := without[i][node]
			switch {
			case without[i] == nil, s.Node == node:
				e = 0
			case !peer:
				e = s.E
			}
			es[i] = e
		}
		least := stats.Discoveries(es, j.doc.Hypotheses, j.FDR)
		for i := range j.doc.Slow {
			if without[i] != nil && j.doc.Slow[i].Node != node && es[i] < least {
				rests[i] = append(rests[i], node)
			}
		}
	}
	for i, nodes := range rests {
		if len(nodes) > 0 {
			j.doc.Slow[i].Unsure = "it is not certain without the figures of " + namedOr(nodes)
		}
	}
}

// standing returns how a node of the class compares with it.
func (m *measureJudge) standing(class *classJudge, node string) Standing {
	parts := map[string]int{}
	for _, f := range m.figures[node] {
		parts[f.part]++
	}
	return Standing{
		Node: node, Measure: m.of.name, Class: class.Name, E: m.peers.E(node), Ratio: m.peers.Ratio(node), Bets: m.peers.Bets(node), Peers: m.peers.Most(node),
		Unit: m.of.unit, Better: m.of.better(), Figure: m.median(node), Median: m.classMedian(), Part: mostOften(parts),
	}
}

// mostOften returns the text that was counted most often, the first by name of several.
func mostOften(counts map[string]int) (most string) {
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		if counts[text] > counts[most] {
			most = text
		}
	}
	return most
}

// median returns the median figure of a node; false if it has none.
func (m *measureJudge) median(node string) float64 {
	var all []float64
	for _, f := range m.figures[node] {
		all = append(all, f.value)
	}
	return stats.Median(all)
}

// classMedian returns the median over the nodes' medians.
func (m *measureJudge) classMedian() float64 {
	var all []float64
	for node := range m.figures {
		all = append(all, m.median(node))
	}
	return stats.Median(all)
}

// sortedClasses returns the classes, the largest first, which it names A, B, …
func (j *judge) sortedClasses() []*classJudge {
	classes := slices.SortedFunc(maps.Values(j.classes), func(a, b *classJudge) int {
		return cmp.Or(len(b.nodes)-len(a.nodes), strings.Compare(fmt.Sprint(a.Alike), fmt.Sprint(b.Alike)))
	})
	classes = slices.DeleteFunc(classes, func(c *classJudge) bool { return len(c.nodes) == 0 })
	for i, c := range classes {
		c.Name = className(i)
	}
	return classes
}

// className returns A … Z, AA, AB, …
func className(i int) (name string) {
	for ; i >= 0; i = i/26 - 1 {
		name = string(rune('A'+i%26)) + name
	}
	return name
}

// list lists the classes and the nodes.
func (j *judge) list() {
	for _, class := range j.sortedClasses() {
		c := class.Class
		c.Nodes = len(class.nodes)
		for _, name := range slices.Sorted(maps.Keys(class.measures)) {
			m := class.measures[name]
			c.Measures = append(c.Measures, ClassMeasure{name, m.of.unit, m.of.better(), len(m.figures), m.classMedian()})
		}
		j.doc.Classes = append(j.doc.Classes, c)
	}
	for _, name := range j.silent() {
		j.nodes[name] = &nodeState{}
	}
	for _, name := range slices.Sorted(maps.Keys(j.nodes)) {
		n := j.nodes[name]
		node := Node{Name: name, State: Silent, Visits: n.visits}
		if n.visits > 0 {
			node.State, node.Class, node.Last = Waiting, n.class.Name, n.lastAt.Format(time.RFC3339)
			switch {
			case n.unexpected:
				node.State = Unexpected
			case n.judged:
				node.State = NoPeers
			}
			for _, measure := range slices.Sorted(maps.Keys(n.class.measures)) {
				m := n.class.measures[measure]
				if len(m.figures[name]) == 0 {
					continue
				}
				bets := m.peers.Bets(name)
				if bets > 0 {
					node.State = Judged
				}
				node.Measures = append(node.Measures, NodeMeasure{measure, m.median(name), bets, m.peers.E(name), m.peers.Ratio(name)})
			}
		}
		j.doc.States[node.State]++
		j.doc.Nodes = append(j.doc.Nodes, node)
	}
}
