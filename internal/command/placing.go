package command

import (
	"errors"
	"fmt"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/dedicate"
	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/launch"
	"gorun/internal/linux"
	"gorun/internal/topology"
)

// memoryNodes returns the nodes that memory may come from on a machine; empty: all.
func memoryNodes(m experiment.Machine) (nodes cpuset.Set) {
	if m.Live {
		nodes, _ = linux.MemsAllowed() // no restriction if the kernel does not report it
	}
	return nodes
}

// noDedicate is the value of --dedicate that moves no thread.
const noDedicate = "none"

func (f *flags) dedicates() bool { return f.dedicate != "" && f.dedicate != noDedicate }

// dedicated returns the request for --dedicate; nil if nothing is moved.
func (f *flags) dedicated(m experiment.Machine) (*dedicate.Request, error) {
	if !f.dedicates() {
		return nil, nil
	}
	cpu, err := m.One(f.dedicate)
	if err == nil && m.CPUs.Union(m.Allowed()).Len() == 1 {
		err = hint.With(errors.New("it is the only CPU that gorun may use, and other processes would have none left"),
			"give gorun more CPUs (taskset, cpuset)")
	}
	if err != nil {
		return nil, hint.Flag("dedicate", f.dedicate, err)
	}
	return &dedicate.Request{CPU: cpu, All: f.all}, nil
}

// place returns the placement that the flags request. Without a machine, none of them requests CPUs.
func (f *flags) place(m experiment.Machine) (p launch.Placement, err error) {
	switch {
	case f.placement != "":
		if p, err = launch.LookupPlacement(m.Machine, m.CPUs, memoryNodes(m), f.placement); err != nil {
			return p, hint.Flag("placement", f.placement, err)
		}
	case m.Machine != nil && !m.CPUs.Equal(m.Allowed()):
		p.CPUs = m.CPUs
	}
	return p, nil
}

// parseMempolicy parses a policy; its nodes may be given as near to a device or far from it.
func parseMempolicy(m experiment.Machine, text string) (linux.Mempolicy, cpuset.Set, error) {
	name, list, _ := strings.Cut(text, ":")
	if topology.SelectsDevice(list) {
		var memory cpuset.Set
		allowed := memoryNodes(m)
		for _, n := range m.Nodes {
			if n.HasMemory() && (allowed.Empty() || allowed.Contains(n.Node)) {
				memory = memory.With(n.Node)
			}
		}
		nodes, err := m.SelectNodes(list, memory)
		if err != nil {
			return 0, cpuset.Set{}, err
		}
		if without := nodes.Minus(memory); !without.Empty() {
			return 0, cpuset.Set{}, hint.With(fmt.Errorf("node %d has no memory for us", without.First()),
				"there is memory on nodes "+memory.String())
		}
		text = name + ":" + nodes.String()
	}
	return linux.ParseMempolicy(text)
}
