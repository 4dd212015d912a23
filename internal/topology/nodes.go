package topology

import (
	"fmt"
	"strconv"

	"gorun/internal/cpuset"
	"gorun/internal/sysfs"
)

// nodesDir holds the memory nodes: Documentation/ABI/stable/sysfs-devices-node. A kernel without CONFIG_NUMA has none.
const nodesDir = "sys/devices/system/node"

func nodeFile(node int, name string) string {
	return nodesDir + "/node" + strconv.Itoa(node) + "/" + name
}

// readNodes sets Node and returns the nodes.
func (r *reader) readNodes(online []*CPU) []Node {
	numbers, err := r.readList(nodesDir + "/online")
	if !r.read(err) {
		numbers, err = r.listNumbered(nodesDir, "node")
	}
	if !r.read(err) {
		return r.readSingleNode(online)
	}
	nodes := make([]Node, 0, numbers.Len())
	for n := range numbers.All() {
		nodes = append(nodes, Node{
			Node:        n,
			MemoryBytes: r.readMemory(nodeFile(n, "meminfo"), fmt.Sprintf("Node %d MemTotal", n)),
			Distances:   r.readDistances(nodeFile(n, "distance"), numbers.Len()),
		})
	}
	r.placeOnNodes(online, nodes)
	return nodes
}

// readSingleNode makes the one node of a kernel that has no notion of them.
func (r *reader) readSingleNode(online []*CPU) []Node {
	for _, c := range online {
		c.Node = 0
	}
	return []Node{{CPUs: r.online, MemoryBytes: r.readMemory("proc/meminfo", "MemTotal"), Distances: []int{}}}
}

// placeOnNodes reads the CPUs of each node and sets Node. A CPU is on one node; fake nodes (numa=fake) may share
// theirs, and then the lowest counts, as for the kernel. The node of a CPU that none has stays Unknown, unless there is
// just one whose CPUs are not recorded.
func (r *reader) placeOnNodes(online []*CPU, nodes []Node) {
	placed, unlisted := map[int]int{}, []int{}
	for i := range nodes {
		cpus, ok := r.readNodeCPUs(nodes[i].Node)
		if !ok {
			unlisted = append(unlisted, i)
		}
		nodes[i].CPUs = cpus
		for cpu := range cpus.All() {
			if _, taken := placed[cpu]; !taken {
				placed[cpu] = nodes[i].Node
			}
		}
	}
	homeless := numbersOf(without(online, func(c *CPU) bool { _, ok := placed[c.CPU]; return ok }))
	switch {
	case homeless.Empty():
	case len(unlisted) == 1:
		node := &nodes[unlisted[0]]
		node.CPUs = homeless
		for cpu := range homeless.All() {
			placed[cpu] = node.Node
		}
		r.warn("no CPUs are recorded for node %d; the %s that no other node has are taken for its own", node.Node, homeless)
	default:
		r.fault(sysfs.Malformed(nodesDir, "no node holds the online CPUs %s", shortened(homeless)), "their node is not known")
	}
	for _, c := range online {
		if node, ok := placed[c.CPU]; ok {
			c.Node = node
		}
	}
}

// readNodeCPUs reads the online CPUs of a node; false where no file has them. Unlike a core's threads, they may be none.
func (r *reader) readNodeCPUs(node int) (cpuset.Set, bool) {
	cpus, err := sysfs.ReadSet(r.fsys, nodeFile(node, "cpulist"))
	if !r.read(err) {
		cpus, err = sysfs.ReadMask(r.fsys, nodeFile(node, "cpumap"))
	}
	if !r.read(err) {
		return cpuset.Set{}, false
	}
	return cpus.Intersect(r.online), true
}

// readMemory reads a field in kB that need not be there, and returns bytes.
func (r *reader) readMemory(name, field string) *uint64 {
	bytes, err := sysfs.ReadKB(r.fsys, name, field)
	if !r.read(err) {
		return nil
	}
	return &bytes
}

// readDistances reads the distances to each of n nodes; none where they are not recorded or are for another number of
// nodes (a recording that left nodes out): which is which cannot be known then.
func (r *reader) readDistances(name string, n int) []int {
	distances, err := sysfs.ReadInts(r.fsys, name)
	if err == nil && len(distances) != n {
		err = sysfs.Malformed(name, "it has %d distances for %d nodes", len(distances), n)
	}
	if !r.read(err) {
		return []int{}
	}
	return distances
}
