package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
)

// nodesDir holds the memory nodes: Documentation/ABI/stable/sysfs-devices-node. A kernel without CONFIG_NUMA has
// none.
const nodesDir = "sys/devices/system/node"

func nodeFile(node int, name string) string { return nodesDir + "/" + nodeName(node) + "/" + name }

func nodeName(node int) string { return "node" + strconv.Itoa(node) }

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
	r.readKinds(nodes)
	return nodes
}

// readKinds sets Kind and NormalMemory from the kernel's lists of nodes
// (Documentation/ABI/stable/sysfs-devices-node): nodes with normal memory, with high memory on 32 bits, and
// since Linux 3.8 with any. A node's own meminfo takes precedence over the lists.
func (r *reader) readKinds(nodes []Node) {
	normal := r.readOptionalNodes("has_normal_memory")
	memory := cmp.Or(r.readOptionalNodes("has_memory"), r.readOptionalNodes("has_high_memory"), normal)
	for i := range nodes {
		node := &nodes[i]
		has := memory == nil || memory.Contains(node.Node)
		if node.MemoryBytes != nil {
			has = *node.MemoryBytes > 0
		}
		if has && normal != nil {
			is := normal.Contains(node.Node)
			node.NormalMemory = &is
		}
		switch {
		case has && !node.CPUs.Empty():
			node.Kind = CPUsAndMemory
		case has:
			node.Kind = MemoryOnly
		case !node.CPUs.Empty():
			node.Kind = CPUsOnly
		default:
			node.Kind = Neither
		}
	}
}

// readOptionalNodes reads one of the kernel's lists of nodes; nil if it is not recorded.
func (r *reader) readOptionalNodes(name string) *cpuset.Set {
	nodes, err := sysfs.ReadSet(r.fsys, nodesDir+"/"+name)
	if !r.read(err) {
		return nil
	}
	return &nodes
}

// readSingleNode returns the one node of a kernel without NUMA.
func (r *reader) readSingleNode(online []*CPU) []Node {
	for _, c := range online {
		c.Node = 0
	}
	memory := r.readMemory("proc/meminfo", "MemTotal")
	return []Node{{Kind: CPUsAndMemory, CPUs: r.online, MemoryBytes: memory, Distances: []int{}}}
}

// placeOnNodes reads the CPUs of each node and sets Node. A CPU is on the node that its directory links to, but may
// be in the lists of several: numa=fake splits a node into several, each with all of its CPUs in the list
// (arch/x86/mm/numa_emulation.c). A CPU in no list stays Unknown, unless exactly one node has no list.
func (r *reader) placeOnNodes(online []*CPU, nodes []Node) {
	placed, unlisted, holders := map[int]int{}, []int{}, map[int][]int{}
	withCPUs := r.readOptionalNodes("has_cpu")
	for i := range nodes {
		node := nodes[i].Node
		cpus, ok := r.readNodeCPUs(nodesDir + "/" + nodeName(node))
		if !ok && (withCPUs == nil || withCPUs.Contains(node)) {
			unlisted = append(unlisted, i)
		}
		nodes[i].CPUs = cpus
		for cpu := range cpus.All() {
			holders[cpu] = append(holders[cpu], node)
		}
	}
	var shared []int
	for _, cpu := range slices.Sorted(maps.Keys(holders)) {
		listing := holders[cpu]
		placed[cpu] = listing[0]
		if len(listing) > 1 {
			shared = append(shared, cpu)
			placed[cpu] = r.readLinkedNode(cpu, listing)
		}
	}
	if len(shared) > 0 {
		r.warn("CPUs %s are listed by several nodes (numa=fake, or wrong firmware); each counts for the node that its "+
			"directory links to, or else the lowest", shortened(cpuset.Of(shared...)))
	}
	homeless := r.online.Minus(cpuset.Of(slices.Collect(maps.Keys(placed))...))
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

// readLinkedNode returns the node, out of nodes, that the directory of a CPU links to; the first if it links to none.
func (r *reader) readLinkedNode(cpu int, nodes []int) int {
	for _, node := range nodes {
		// Read through the link, so that a captured machine has the result.
		if _, ok := r.readNodeCPUs(cpuFile(cpu, nodeName(node))); ok {
			return node
		}
	}
	return nodes[0]
}

// readNodeCPUs reads the online CPUs of a node from its directory; false if no file has them. A node may have none.
func (r *reader) readNodeCPUs(dir string) (cpuset.Set, bool) {
	cpus, err := sysfs.ReadSet(r.fsys, dir+"/cpulist")
	if !r.read(err) {
		cpus, err = sysfs.ReadMask(r.fsys, dir+"/cpumap")
	}
	if !r.read(err) {
		return cpuset.Set{}, false
	}
	return cpus.Intersect(r.online), true
}

// readMemory reads an optional field in kB, and returns bytes.
func (r *reader) readMemory(name, field string) *uint64 {
	bytes, err := sysfs.ReadKB(r.fsys, name, field)
	if !r.read(err) {
		return nil
	}
	return &bytes
}

// readDistances reads the distances to each of n nodes; none if they are not recorded, or if their number is not n (a
// recording that left nodes out), since then it is unknown which node each belongs to.
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
