package fleet

import (
	"maps"
	"slices"
	"time"
)

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
