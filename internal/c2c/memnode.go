package c2c

import (
	"fmt"
	"strconv"

	"gorun/internal/hint"
	"gorun/internal/topology"
)

// The words that --mem-node accepts in addition to a node's number.
const (
	memNear = "near"
	memFar  = "far"
)

// firstTouch stands for the node from which the line is first touched.
const firstTouch = -1

// memNode returns the node for a pair's line: a number, or the node nearest to or farthest from the first CPU's. The
// empty text is firstTouch.
func memNode(text string, m *topology.Machine, node int) (int, error) {
	memory := m.MemoryNodes()
	with := memory.List()
	switch text {
	case "":
		return firstTouch, nil
	case memNear, memFar:
		least := map[string]int{memNear: 1, memFar: 2}[text]
		if len(with) < least {
			return 0, hint.With(fmt.Errorf("it needs %d nodes with memory, and this machine has %d", least, len(with)),
				"gorun topo shows the nodes")
		}
		far := m.ByDistance(node, with)
		if text == memNear {
			return far[0], nil
		}
		return far[len(far)-1], nil
	}
	asked, err := strconv.Atoi(text)
	if err != nil || asked < 0 {
		return 0, hint.With(fmt.Errorf("%q is not a node", text), "give a node's number, near or far")
	}
	if memory.Contains(asked) {
		return asked, nil
	}
	lacks := fmt.Errorf("this machine has no node %d", asked)
	if m.NodeNumbers().Contains(asked) {
		lacks = fmt.Errorf("node %d has no memory", asked)
	}
	return 0, hint.With(lacks, fmt.Sprintf("nodes with memory: %v", with))
}
