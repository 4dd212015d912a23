package topology

// Relation is the nearest level at which two CPUs share hardware.
type Relation int

// The relations, nearest first.
const (
	SameCPU   Relation = iota
	SameCore           // threads of one core (SMT siblings)
	SameLLC            // cores with a common last-level cache in one node
	SameNode           // one node, no common cache
	CrossNode          // different nodes
)

// Relations lists all relations, nearest first.
var Relations = []Relation{SameCPU, SameCore, SameLLC, SameNode, CrossNode}

// RelationNames has their names.
var RelationNames = []string{"same-cpu", "same-core", "same-llc", "same-node", "cross-node"}

// String returns the relation's name, such as "same-core".
func (r Relation) String() string { return RelationNames[r] }

var relationUnavailable = [...]string{
	SameCPU:   "there is no CPU",
	SameCore:  "no core has two of the CPUs",
	SameLLC:   "no last-level cache has two cores of the CPUs",
	SameNode:  "no node has two last-level caches of the CPUs",
	CrossNode: "the CPUs are of one node",
}

// Unavailable returns the reason why no two CPUs of a run have the relation.
func (r Relation) Unavailable() string { return relationUnavailable[r] }

// MarshalText returns the name.
func (r Relation) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Relation returns the relation of two CPUs. CPUs of different nodes are CrossNode even if a cache spans the nodes
// (sub-NUMA clustering), because their memory is far. A CPU whose position is unknown is CrossNode to all others.
func (m *Machine) Relation(a, b int) Relation {
	if a == b {
		return SameCPU
	}
	x, okX := m.CPU(a)
	y, okY := m.CPU(b)
	switch {
	case !okX || !okY || !x.Online || !y.Online:
		return CrossNode
	case x.Core == y.Core:
		return SameCore
	case x.Node != y.Node:
		return CrossNode
	case x.LLC == y.LLC:
		return SameLLC
	case x.Node == Unknown:
		return CrossNode
	}
	return SameNode
}

// OnlyRelation returns the name of the relation that any two of the CPUs have, or "" if they have several.
func (m *Machine) OnlyRelation(cpus []int) (name string) {
	for i, a := range cpus {
		for _, b := range cpus[:i] {
			relation := m.Relation(a, b).String()
			if name != "" && relation != name {
				return ""
			}
			name = relation
		}
	}
	return name
}
