package named

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
)

// copyKind is a placement of several copies, without a machine.
type copyKind struct {
	name, words string
	ofTwo       bool // it is a relation of two copies
	// masks returns the CPUs of each of n copies; nil if the placement does not exist on the machine.
	masks      func(g Scope, n int) []cpuset.Set
	kubernetes string // what a pod of each copy needs in addition to exclusive CPUs; "-": a pod cannot have it
}

// Entry implements catalog.Entry.
func (k copyKind) Entry() (name, usage string) { return k.name, k.words }

// copyKinds is the table of placements of copies; a placement that is not here holds for all copies alike. Of those that are the same
// on a machine, the first is kept.
var copyKinds = [...]copyKind{
	{"same-cpu", "two copies on one CPU", true, related(topology.SameCPU), "-"},
	{"same-core", "two copies on the threads of a core", true, related(topology.SameCore), "-"},
	{"same-llc", "two copies on cores with a common last-level cache", true, related(topology.SameLLC), "-"},
	{"same-node", "two copies on caches of a node", true, related(topology.SameNode), "-"},
	{"cross-node", "two copies on two nodes", true, related(topology.CrossNode), "-"},
	{"packed", "each copy on a CPU, all CPUs of a core and all cores of a cache before the next", false, packed, ""},
	{"one-per-core", "each copy on a core", false, perCore, "the option full-pcpus-only"},
	{"spread-caches", "each copy on a last-level cache, in turn", false, perLLC, "-"},
	{"spread-nodes", "each copy on a node, in turn", false, perNode, "-"},
}

// related returns the masks of two copies whose CPUs have a relation.
func related(r topology.Relation) func(g Scope, n int) []cpuset.Set {
	return func(g Scope, n int) []cpuset.Set {
		if n != 2 {
			return nil
		}
		for _, p := range g.m.PerRelation(g.cpus) {
			if p.Relation == r && p.Unavailable() == "" {
				return []cpuset.Set{cpuset.Of(p.A), cpuset.Of(p.B)}
			}
		}
		return nil
	}
}

// inTurn gives copy i mask i mod n of the masks.
func inTurn(masks []cpuset.Set, n int) []cpuset.Set {
	if len(masks) == 0 {
		return nil
	}
	each := make([]cpuset.Set, n)
	for i := range each {
		each[i] = masks[i%len(masks)]
	}
	return each
}

// parts divides the CPUs of the run by what they share, in the order of nodes, caches and cores, those of the fastest kind first.
func (g Scope) parts(of func(c topology.CPU) int) (parts []cpuset.Set) {
	var cpus []topology.CPU
	for id := range g.cpus.All() {
		c, _ := g.m.CPU(id)
		cpus = append(cpus, c)
	}
	slices.SortStableFunc(cpus, func(a, b topology.CPU) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Node, b.Node), cmp.Compare(a.LLC, b.LLC), cmp.Compare(a.Core, b.Core))
	})
	at := map[int]int{}
	for _, c := range cpus {
		i, found := at[of(c)]
		if !found {
			i = len(parts)
			at[of(c)], parts = i, append(parts, cpuset.Set{})
		}
		parts[i] = parts[i].With(c.CPU)
	}
	return parts
}

func packed(g Scope, n int) []cpuset.Set {
	return inTurn(g.parts(func(c topology.CPU) int { return c.CPU }), n)
}

func perCore(g Scope, n int) []cpuset.Set {
	cores := g.parts(func(c topology.CPU) int { return c.Core })
	if len(cores) < n || len(cores) == g.cpus.Len() {
		return nil // two copies would share a core, or this is packed
	}
	return inTurn(cores, n)
}

func perLLC(g Scope, n int) []cpuset.Set {
	return severalInTurn(g.parts(func(c topology.CPU) int { return c.LLC }), n)
}

func perNode(g Scope, n int) []cpuset.Set {
	return severalInTurn(g.parts(func(c topology.CPU) int { return c.Node }), n)
}

func severalInTurn(masks []cpuset.Set, n int) []cpuset.Set {
	if len(masks) < 2 {
		return nil
	}
	return inTurn(masks, n)
}

// copyKindOf returns the kind with this name, or nil.
func copyKindOf(name string) *copyKind {
	if i := slices.IndexFunc(copyKinds[:], func(k copyKind) bool { return k.name == name }); i >= 0 {
		return &copyKinds[i]
	}
	return nil
}

// LookupFor finds a placement of n copies by its name.
func (g Scope) LookupFor(name string, n int) (Placement, error) {
	k := copyKindOf(name)
	if k == nil {
		return g.Lookup(name)
	}
	masks := k.masks(g, n)
	if masks == nil {
		return Placement{}, hint.With(fmt.Errorf("%d copies cannot be placed %s here (%s)", n, name, k.words), "gorun topo shows what the CPUs share")
	}
	return k.placement(masks), nil
}

// placement returns the placement of copies with these masks.
func (k copyKind) placement(masks []cpuset.Set) Placement {
	p := Placement{Name: k.name, Words: k.words, Masks: masks, Chosen: k.name + ": " + CopiesOn(masks), place: fmt.Sprint(masks)}
	for _, mask := range masks {
		p.CPUs = p.CPUs.Union(mask)
	}
	if k.kubernetes != "-" {
		p.Pod = &Pod{CPUs: masks[0].Len(), Needs: k.kubernetes}
	}
	return p
}

// AllOfCopies returns the placements that can matter to n copies, the first one unbound.
func (g Scope) AllOfCopies(n int) []Placement {
	unbound, _ := g.place(kinds[0])
	placements := []Placement{unbound}
	for _, k := range copyKinds {
		if k.ofTwo != (n == 2) {
			continue
		}
		masks := k.masks(g, n)
		if masks == nil {
			continue
		}
		p := k.placement(masks)
		if !slices.ContainsFunc(placements, func(other Placement) bool { return other.place == p.place }) {
			placements = append(placements, p)
		}
	}
	return placements
}

// Bound returns the placement in which copy i of n has mask i mod the number of masks.
func Bound(masks []cpuset.Set, n int) Placement {
	return copyKind{name: "bind", kubernetes: "-"}.placement(inTurn(masks, n))
}

// Each returns the setting of each of n processes.
func (p Placement) Each(n int) (settings []placement.Setting) {
	for i := range n {
		own := p.Setting
		if p.Masks != nil {
			own.CPUs = p.Masks[i]
		}
		settings = append(settings, own)
	}
	return settings
}

// Alike are copies that have the same CPUs.
type Alike struct {
	Copies cpuset.Set // their numbers
	CPUs   cpuset.Set
}

// Groups returns the copies by their masks, in the order of the first of each.
func Groups(masks []cpuset.Set) (groups []Alike) {
	for i, mask := range masks {
		at := slices.IndexFunc(groups, func(g Alike) bool { return g.CPUs.Equal(mask) })
		if at < 0 {
			at, groups = len(groups), append(groups, Alike{CPUs: mask})
		}
		groups[at].Copies = groups[at].Copies.With(i)
	}
	return groups
}

// CopiesOn describes where copies run: "copy 0 on CPU 0, copies 1-2 on CPUs 4-7".
func CopiesOn(masks []cpuset.Set) string {
	const most = 8
	var words []string
	left := len(masks)
	for i, g := range Groups(masks) {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", left))
			break
		}
		left -= g.Copies.Len()
		copies, cpus := "copy", "CPU"
		if g.Copies.Len() > 1 {
			copies = "copies"
		}
		if g.CPUs.Len() > 1 {
			cpus = "CPUs"
		}
		words = append(words, fmt.Sprintf("%s %v on %s %v", copies, g.Copies, cpus, g.CPUs))
	}
	return strings.Join(words, ", ")
}
