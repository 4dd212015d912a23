package topology

// Relation says how near two CPUs are to each other.
type Relation int

// The relations, nearest first.
const (
	SameCPU   Relation = iota
	SameCore           // threads of one core (SMT siblings)
	SameLLC            // cores with a common last-level cache in one node
	SameNode           // one node, and no common cache
	CrossNode          // different nodes
)

// Relations are all of them, nearest first.
var Relations = []Relation{SameCPU, SameCore, SameLLC, SameNode, CrossNode}

var relationNames = [...]string{"same-cpu", "same-core", "same-llc", "same-node", "cross-node"}

// String returns the relation's name, such as "same-core".
func (r Relation) String() string { return relationNames[r] }

var relationLacking = [...]string{
	SameCPU:   "there is no CPU",
	SameCore:  "no core has two of the CPUs",
	SameLLC:   "no last-level cache has two cores of the CPUs",
	SameNode:  "no node has two last-level caches of the CPUs",
	CrossNode: "the CPUs are of one node",
}

// Lacking returns why no two CPUs of a run have the relation.
func (r Relation) Lacking() string { return relationLacking[r] }

// MarshalText gives String.
func (r Relation) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Relation tells how near two CPUs are. CPUs of different nodes are CrossNode even where a cache spans the nodes, as
// sub-NUMA clustering has it: the memory is what is far. A CPU whose place is not known is CrossNode to all others.
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
