package named

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/catalog"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
)

// deviceKind is a placement by a device, without a machine: "near-eth0" has the CPUs of the selector near:eth0.
type deviceKind struct {
	selector   string
	words      string // before the device's name
	kubernetes string // as of a kind
}

// deviceKinds is the table of them. Memory comes from where its first toucher runs, as for all placements on CPUs of few
// nodes.
var deviceKinds = [...]deviceKind{
	{
		"near", "CPUs local to", "topologyManagerPolicy: single-numa-node, and the device as a resource of the pod " +
			"(its device plugin reports the node)",
	},
	{"far", "CPUs of the nodes farthest from", "-"},
}

// placeByDevice makes a placement of a kind. Errors are those of the selector.
func (g Scope) placeByDevice(k deviceKind, device string) (Placement, error) {
	cpus, err := g.m.Select(k.selector+":"+device, g.cpus)
	if err != nil {
		return Placement{}, err
	}
	return g.settled(Placement{
		Setting: placement.Setting{CPUs: cpuset.Of(cpus...)},
		Name:    k.selector + "-" + device, Words: fmt.Sprintf("%s %s", k.words, device), needs: k.kubernetes,
	}), nil
}

// Complete returns the names of placements that begin with a prefix, each with its words after a tab.
func Complete(m *topology.Machine, prefix string) []string {
	words := catalog.Completions(kinds[:])
	for _, p := range In(m, m.Allowed(), cpuset.Set{}).placements(nil) {
		if strings.HasPrefix(p.Name, oneCPU+"-") {
			words = append(words, p.Name+"\t"+p.Words)
		}
	}
	for _, k := range deviceKinds {
		for _, word := range m.Complete(k.selector + ":") {
			_, device, _ := strings.Cut(word, ":")
			words = append(words, fmt.Sprintf("%s-%s\t%s %[2]s", k.selector, device, k.words))
		}
	}
	return slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, prefix) })
}
