package fleet

import (
	"fmt"
	"maps"
	"slices"
)

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
