package fleet

import (
	"cmp"
	"slices"
	"time"
)

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
