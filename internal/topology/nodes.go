package topology

import (
	"errors"
	"fmt"
	"io/fs"
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
func (r *reader) readNodes(online []*CPU) ([]Node, error) {
	numbers, err := r.readList(nodesDir + "/online")
	if errors.Is(err, fs.ErrNotExist) {
		numbers, err = r.listNumbered(nodesDir, "node")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return r.readSingleNode(online)
	}
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for n := range numbers.All() {
		node := Node{Node: n, Distances: []int{}}
		if node.MemoryBytes, err = r.readMemory(nodeFile(n, "meminfo"), fmt.Sprintf("Node %d MemTotal", n)); err != nil {
			return nil, err
		}
		if node.Distances, err = r.readDistances(nodeFile(n, "distance"), numbers.Len()); err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	return nodes, r.placeOnNodes(online, nodes)
}

// readSingleNode makes the one node of a kernel that has no notion of them.
func (r *reader) readSingleNode(online []*CPU) ([]Node, error) {
	memory, err := r.readMemory("proc/meminfo", "MemTotal")
	if err != nil {
		return nil, err
	}
	for _, c := range online {
		c.Node = 0
	}
	return []Node{{CPUs: r.online, MemoryBytes: memory, Distances: []int{}}}, nil
}

// placeOnNodes reads the CPUs of each node and sets Node. A CPU is on one node; fake nodes (numa=fake) may share
// theirs, and then the lowest counts, as for the kernel.
func (r *reader) placeOnNodes(online []*CPU, nodes []Node) error {
	placed, unlisted := map[int]int{}, []int{}
	for i := range nodes {
		cpus, ok, err := r.readNodeCPUs(nodes[i].Node)
		if err != nil {
			return err
		}
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
	if !homeless.Empty() {
		if len(unlisted) != 1 {
			return sysfs.Malformed(nodesDir, "no node holds the online CPUs %s", homeless)
		}
		node := &nodes[unlisted[0]]
		node.CPUs = homeless
		for cpu := range homeless.All() {
			placed[cpu] = node.Node
		}
		r.warn("no CPUs are recorded for node %d; the %s that no other node has are taken for its own", node.Node, homeless)
	}
	for _, c := range online {
		c.Node = placed[c.CPU]
	}
	return nil
}

// readNodeCPUs reads the online CPUs of a node; false where no file tells. Unlike a core's threads, they may be none.
func (r *reader) readNodeCPUs(node int) (cpuset.Set, bool, error) {
	cpus, err := sysfs.ReadSet(r.fsys, nodeFile(node, "cpulist"))
	if errors.Is(err, fs.ErrNotExist) {
		cpus, err = sysfs.ReadMask(r.fsys, nodeFile(node, "cpumap"))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return cpuset.Set{}, false, nil
	}
	return cpus.Intersect(r.online), err == nil, err
}

// readMemory reads a field in kB that need not be there, and returns bytes.
func (r *reader) readMemory(name, field string) (*uint64, error) {
	bytes, err := sysfs.ReadKB(r.fsys, name, field)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &bytes, err
}

// readDistances reads the distances to each of n nodes; none where they are not recorded or are for another number of
// nodes (a recording that left nodes out): which is which cannot be told then.
func (r *reader) readDistances(name string, n int) ([]int, error) {
	distances, err := sysfs.ReadInts(r.fsys, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(distances) == 0 {
		return []int{}, nil
	}
	if len(distances) != n {
		r.warn("%s has %d distances for %d nodes and is left out", name, len(distances), n)
		return []int{}, nil
	}
	return distances, nil
}
