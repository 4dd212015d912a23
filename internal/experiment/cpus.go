package experiment

import (
	"fmt"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

// NoCPUs is the value for no CPUs, of a flag whose CPU list is optional.
const NoCPUs = "none"

// DescribeCPUs describes how the CPUs of a list are related on a machine, so that a similar list can be found on
// another machine.
func DescribeCPUs(m *topology.Machine, list []int) result.CPUs {
	return result.CPUs{List: cpuset.FormatList(list), Count: cpuset.Of(list...).Len(), Relation: relation(m, list)}
}

// CellCPUs describes the CPUs of a setting, for a cell; nil: those that are inherited.
func (m Machine) CellCPUs(s placement.Setting) map[string]result.CPUs {
	if s.CPUs.Empty() {
		return nil
	}
	return map[string]result.CPUs{"cpus": DescribeCPUs(m.Machine, s.CPUs.List())}
}

// relation returns "same-core" or another relation for two CPUs, "1 CPU" for one, and for more the numbers of CPUs,
// cores, LLCs and nodes: "8 CPUs, 4 cores, 1 LLC, 1 node".
func relation(m *topology.Machine, list []int) string {
	ids := cpuset.Of(list...).List()
	if len(ids) == 2 {
		return m.Relation(ids[0], ids[1]).String()
	}
	cores, llcs, nodes := map[int]struct{}{}, map[int]struct{}{}, map[int]struct{}{}
	for _, id := range ids {
		if cpu, found := m.CPU(id); found {
			cores[cpu.Core], llcs[cpu.LLC], nodes[cpu.Node] = struct{}{}, struct{}{}, struct{}{}
		}
	}
	words := []string{units.Things(len(ids), "CPU")}
	if len(ids) > 1 {
		words = append(words, units.Things(len(cores), "core"), units.Things(len(llcs), "LLC"), units.Things(len(nodes), "node"))
	}
	return strings.Join(words, ", ")
}

// PairRow returns what the cell of a pair has by its CPUs. If no two CPUs are such a pair, that is all it has.
func PairRow(p topology.CPUPair) Row {
	relation := p.Relation.String()
	if why := p.Unavailable(); why != "" {
		return Row{Name: relation, Unavailable: why}
	}
	cpus := result.CPUs{List: fmt.Sprintf("%d,%d", p.A, p.B), Count: 2, Relation: relation}
	if p.A == p.B {
		cpus.Count = 1
	}
	return Row{
		Name: relation, Flags: map[string]string{"pair": cpus.List, "relation": relation},
		CPUs: map[string]result.CPUs{"pair": cpus}, Running: fmt.Sprintf("CPUs %d and %d", p.A, p.B),
	}
}

// UnavailablePairs returns a warning if there are relations that no two CPUs of the run have.
func UnavailablePairs(pairs []topology.CPUPair) []result.Warning {
	var names, reasons []string
	for _, p := range pairs {
		if why := p.Unavailable(); why != "" {
			names = append(names, p.Relation.String())
			reasons = append(reasons, fmt.Sprintf("%s (%s)", p.Relation, why))
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case len(names) == len(pairs)-1:
		return []result.Warning{{
			Code:    "one-pair",
			Message: "the run has one CPU, so there is nothing to compare: " + strings.Join(names, ", ") + " need two or more",
			Hint:    "give more by --cpus; gorun topo shows which are ours",
		}}
	}
	return []result.Warning{{Code: "no-pair", Message: "no two CPUs of the run are " + strings.Join(reasons, ", ")}}
}
