package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gorun/internal/result"
	"gorun/internal/stats"
)

// Options are what a judgement of visits is asked for.
type Options struct {
	Margin  float64       // a node is slow if it is slower than its class by more than it: 0.02 is 2%
	FDR     float64       // the expected share of false names among those that are named: at most this
	Slot    time.Duration // nodes that are visited in the same slot of time are each other's peers
	Since   time.Time     // earlier visits do not count; the zero time: all do
	Now     time.Time     // slots that have not ended are not judged
	Expect  []string      // nodes that should have reported
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
}

// nodeState is what is known of a node.
type nodeState struct {
	class  *classJudge
	last   *machine
	visits int
	lastAt time.Time
	judged bool
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

// Judge judges the visits in files.
func Judge(files []string, o Options) *Judgement {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // most of what is read is kept
	visits, warnings := readVisits(files)
	j := &judge{Options: o, classes: map[Alike]*classJudge{}, nodes: map[string]*nodeState{}}
	j.doc = Judgement{
		Schema: result.Schema, Margin: o.Margin, FDR: o.FDR, Slot: o.Slot.Seconds(), States: map[State]int{}, Warnings: warnings,
	}
	j.choose(visits)
	j.bet()
	j.name()
	j.list()
	j.settle()
	j.doc.Settings, j.doc.Clocks = j.settings(), clocks(visits)
	return &j.doc
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
			n = &nodeState{}
			j.nodes[v.node] = n
		}
		n.visits, n.last, n.lastAt = n.visits+1, v.on, v.start
		alike := v.on.alike
		if j.classes[alike] == nil {
			j.classes[alike] = &classJudge{Class: Class{Alike: alike}, nodes: map[string]bool{}, measures: map[string]*measureJudge{}}
		}
		n.class = j.classes[alike]
		switch {
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
		n.class.nodes[name] = true
	}
}

// slotOf returns the beginning of a visit's slot.
func (j *judge) slotOf(v *visit) time.Time { return v.start.Truncate(j.Slot) }

// overlaps returns the visits, by their files, that were made on the same CPUs of one machine at once.
func overlaps(visits []visit) map[string]bool {
	found := map[string]bool{}
	open := map[string][]*visit{} // by boot; the visits are in the order of time
	for i := range visits {
		v := &visits[i]
		if v.on.host.BootID == "" {
			continue
		}
		still := slices.DeleteFunc(open[v.on.host.BootID], func(o *visit) bool { return !o.end.After(v.start) })
		for _, o := range still {
			if !o.on.cpus.Intersect(v.on.cpus).Empty() {
				found[o.path], found[v.path] = true, true
			}
		}
		open[v.on.host.BootID] = append(still, v)
	}
	return found
}

// bet gives the figures to the judges of their measures, and settles the slots in the order of time.
func (j *judge) bet() {
	count := &j.doc.Visits
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
	var es []float64
	var others []Standing // that are not named, but have won
	for _, class := range j.classes {
		j.doc.Hypotheses += len(class.nodes) * len(class.measures)
		for _, m := range class.measures {
			for node := range class.nodes {
				es = append(es, m.peers.E(node))
			}
		}
	}
	j.doc.Needed = float64(j.doc.Hypotheses) / j.FDR
	least := stats.Discoveries(es, j.doc.Hypotheses, j.FDR)
	for _, class := range j.sortedClasses() {
		for _, name := range slices.Sorted(maps.Keys(class.measures)) {
			m := class.measures[name]
			for node := range class.nodes {
				switch e := m.peers.E(node); {
				case e >= least:
					j.doc.Slow = append(j.doc.Slow, Slow{Standing: m.standing(class, node)})
				case e > 1:
					others = append(others, Standing{Node: node, Measure: name, E: e})
				}
			}
		}
	}
	claims := float64(len(j.doc.Slow))
	for i := range j.doc.Slow {
		s := &j.doc.Slow[i]
		m := j.nodes[s.Node].class.measures[s.Measure]
		// Each end holds for those that are named as e-BH's claims do (e-BY: Xu, Wang and Ramdas, "Post-selection inference for
		// e-value based confidence intervals", Electronic Journal of Statistics 18, 2024).
		lo, hi := m.peers.Interval(s.Node, j.doc.Needed/claims)
		s.Lo = max(lo, 1+j.Margin)
		if !math.IsInf(hi, 1) {
			s.Hi = &hi
		}
	}
	slices.SortFunc(j.doc.Slow, func(a, b Slow) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), strings.Compare(a.Node, b.Node), strings.Compare(a.Measure, b.Measure))
	})
	slices.SortFunc(others, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(b.E, a.E), strings.Compare(a.Node, b.Node), strings.Compare(a.Measure, b.Measure))
	})
	needed := j.doc.Needed / (claims + 1)
	for _, s := range others[:min(len(others), mostNearest)] {
		if s.E*s.E < needed { // an e-value grows by factors: this one has not come half of the way, as luck alone often does
			break
		}
		class := j.nodes[s.Node].class
		m := class.measures[s.Measure]
		j.doc.Nearest = append(j.doc.Nearest, Nearest{m.standing(class, s.Node), needed, m.peers.More(s.Node, needed)})
	}
}

// standing returns how a node of the class compares with it.
func (m *measureJudge) standing(class *classJudge, node string) Standing {
	parts := map[string]int{}
	for _, f := range m.figures[node] {
		parts[f.part]++
	}
	return Standing{
		Node: node, Measure: m.of.name, Class: class.Name, E: m.peers.E(node), Ratio: m.peers.Ratio(node), Bets: m.peers.Bets(node),
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
	for _, name := range j.Expect {
		if j.nodes[name] == nil {
			j.nodes[name] = &nodeState{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.nodes)) {
		n := j.nodes[name]
		node := Node{Name: name, State: Silent, Visits: n.visits}
		if n.visits > 0 {
			node.State, node.Class, node.Last = Waiting, n.class.Name, n.lastAt.Format(time.RFC3339)
			if n.judged {
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
