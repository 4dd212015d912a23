package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gorun/internal/stats"
)

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
