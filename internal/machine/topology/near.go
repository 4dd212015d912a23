package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
)

// The selectors of CPUs and memory nodes near to a device and far from it.
const (
	nearDevice = "near"
	farDevice  = "far"
)

// SelectsDevice reports whether a list contains a device selector.
func SelectsDevice(list string) bool {
	for term := range strings.SplitSeq(list, ",") {
		if _, _, ok := cutDevice(strings.TrimSpace(term)); ok {
			return true
		}
	}
	return false
}

// cutDevice splits "near:DEVICE" and "far:DEVICE".
func cutDevice(term string) (selector, device string, ok bool) {
	selector, device, ok = strings.Cut(term, ":")
	return selector, device, ok && (selector == nearDevice || selector == farDevice)
}

// nearCPUs returns the CPUs that are local to a device.
func nearCPUs(m *Machine, term string, d Device) (cpuset.Set, error) {
	if _, err := m.deviceNode(term, d); err != nil {
		return cpuset.Set{}, err
	}
	if d.CPUs.Empty() {
		return cpuset.Set{}, hint.With(fmt.Errorf("%s: node %d, where %s is, has no CPUs", term, *d.Node, d.Name()), "gorun topo shows what there is")
	}
	return d.CPUs, nil
}

// farCPUs returns the CPUs of the nodes farthest from a device, among the nodes with CPUs.
func farCPUs(m *Machine, term string, d Device) (cpus cpuset.Set, err error) {
	with := m.nodesWhere(func(n Node) bool { return !m.OnNode(n).Minus(d.CPUs).Empty() })
	nodes, err := m.farNodes(term, d, with)
	if err != nil {
		return cpus, err
	}
	for node := range nodes.All() {
		cpus = cpus.Union(m.NodeCPUs(node))
	}
	return cpus.Minus(d.CPUs), nil
}

// deviceNode returns the node of a device.
func (m *Machine) deviceNode(term string, d Device) (int, error) {
	if d.Node != nil {
		return *d.Node, nil
	}
	way := "give node:N according to the board's manual; an administrator can write the device's numa_node in sysfs"
	if len(m.Nodes) < 2 {
		way = "this machine has one node: every CPU and all memory is as near to it"
	}
	return 0, hint.With(fmt.Errorf("%s: the firmware does not say on which node %s is", term, d.Name()), way)
}

// farNodes returns the nodes farthest from a device, out of a set.
func (m *Machine) farNodes(term string, d Device, among cpuset.Set) (cpuset.Set, error) {
	node, err := m.deviceNode(term, d)
	if err != nil {
		return cpuset.Set{}, err
	}
	far := m.farthest(node, among)
	if far.Empty() {
		return far, hint.With(fmt.Errorf("%s: no other usable node is farther from %s than node %d, its own", term, d.Name(), node),
			fmt.Sprintf("this machine has %d node(s); gorun topo shows them and their distances", len(m.Nodes)))
	}
	return far, nil
}

// SelectNodes returns the nodes of a comma-joined list of kernel ranges, near:DEVICE and far:DEVICE, at least one. All must be
// possible, and the farthest are chosen among the possible. lacks is how an error describes another node, after "node 1 has". Every
// error has a hint.
func (m *Machine) SelectNodes(list string, possible cpuset.Set, lacks string) (nodes cpuset.Set, err error) {
	there := m.NodeNumbers()
	for term := range strings.SplitSeq(list, ",") {
		term = strings.TrimSpace(term)
		some, err := cpuset.Parse(term)
		if selector, name, ok := cutDevice(term); ok {
			if some, err = m.nodesOfDevice(term, selector, name, possible); err != nil {
				return nodes, err
			}
		}
		absent, lacking := some.Minus(there), some.Minus(possible)
		switch {
		case err != nil || some.Empty():
			return nodes, hint.With(fmt.Errorf("%q is not a node", term),
				"write nodes, ranges, near:DEVICE or far:DEVICE, joined by commas; this machine has nodes "+there.String())
		case !absent.Empty():
			return nodes, hint.With(fmt.Errorf("this machine has no node %d", absent.First()), "it has nodes "+there.String())
		case !lacking.Empty():
			return nodes, hint.With(fmt.Errorf("node %d has %s", lacking.First(), lacks), "there are nodes "+possible.String())
		}
		nodes = nodes.Union(some)
	}
	return nodes, nil
}

// SelectMemory is SelectNodes for nodes that have memory.
func (m *Machine) SelectMemory(list string) (cpuset.Set, error) {
	return m.SelectNodes(list, m.MemoryNodes(), "no memory")
}

func (m *Machine) nodesOfDevice(term, selector, name string, among cpuset.Set) (cpuset.Set, error) {
	d, err := m.LookupDevice(name)
	if err != nil {
		return cpuset.Set{}, err
	}
	if selector == farDevice {
		return m.farNodes(term, d, among)
	}
	node, err := m.deviceNode(term, d)
	if err != nil {
		return cpuset.Set{}, err
	}
	return cpuset.Of(node), nil
}

// CompleteNodes returns the completions of the last part of a list of nodes, with the parts before it: the nodes near
// to devices and far from them.
func (m *Machine) CompleteNodes(list string) []string {
	before, last := splitLast(list)
	var words []string
	for _, selector := range []string{nearDevice, farDevice} {
		for _, name := range m.deviceNames() {
			word := selector + ":" + name
			if _, err := m.SelectNodes(word, m.NodeNumbers(), ""); err == nil && strings.HasPrefix(word, last) {
				words = append(words, before+word)
			}
		}
	}
	return words
}

// CompleteDevices returns the names of the devices with a prefix.
func (m *Machine) CompleteDevices(prefix string) []string {
	var words []string
	for _, name := range m.deviceNames() {
		if strings.HasPrefix(name, prefix) {
			words = append(words, name)
		}
	}
	return words
}

// deviceNames returns every name of every device, or its address if it has none.
func (m *Machine) deviceNames() []string {
	devices, _ := m.Devices()
	var names []string
	for _, d := range devices {
		if len(d.Names) == 0 {
			names = append(names, d.PCI)
		}
		names = append(names, d.Names...)
	}
	return names
}

// Distance returns the distance between two nodes in the firmware's table, where 10 is local; false if it is not
// recorded.
func (m *Machine) Distance(from, to int) (distance int, recorded bool) {
	node, ok := m.node(from)
	if !ok {
		return 0, false
	}
	for i, n := range m.Nodes {
		if n.Node == to && i < len(node.Distances) {
			return node.Distances[i], true
		}
	}
	return 0, false
}

// ByDistance returns one of the nodes for each distance from a node, the nearest first. Among equal distances it is the
// first in the list. If distances are unknown, the node itself is near, and all others are equally far.
func (m *Machine) ByDistance(from int, nodes []int) []int {
	distance := func(to int) int {
		distance, recorded := m.Distance(from, to)
		if !recorded && to != from {
			return 1
		}
		return distance
	}
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
	return slices.CompactFunc(nodes, func(a, b int) bool { return distance(a) == distance(b) })
}

// farthest returns the nodes out of among that are farthest from a node, and farther than the node itself. If
// distances are not recorded, all others are equally far.
func (m *Machine) farthest(from int, among cpuset.Set) cpuset.Set {
	most, _ := m.Distance(from, from)
	var far cpuset.Set
	for node := range among.All() {
		distance, recorded := m.Distance(from, node)
		switch {
		case node == from:
		case !recorded:
			far = far.With(node)
		case distance > most:
			most, far = distance, cpuset.Of(node)
		case distance == most && !far.Empty():
			far = far.With(node)
		}
	}
	return far
}
