package fleet

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"gorun/internal/stats"
)

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
