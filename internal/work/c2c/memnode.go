package c2c

import (
	"fmt"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
)

// The words that --mem-node accepts in addition to a node's number.
const (
	memNear = "near"
	memFar  = "far"
)

// firstTouch stands for the node from which the line is first touched.
const firstTouch = -1

// memNode returns the node for a pair's line: one that is named, or the node nearest to or farthest from the first CPU's. The
// empty text is firstTouch.
func memNode(text string, m experiment.Machine, node int) (int, error) {
	with := m.MemoryNodes().List()
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
	return m.MemoryNode(text)
}
