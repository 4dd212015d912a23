package command

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/dedicate"
	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/launch"
	"gorun/internal/linux"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// Placing holds the flags of the setting in which a command is started.
type Placing struct {
	placement  string
	mempolicy  string
	preferred  *int
	nice       *int
	sched      *linux.Sched
	gomaxprocs int
}

// Register adds the flags.
func (p *Placing) Register(set *experiment.FlagSet) {
	set.StringVar(&p.placement, "placement", "", "a `placement` by its name: "+strings.Join(launch.PlacementNames(), ", "))
	set.StringVar(&p.mempolicy, "mempolicy", "", "memory `policy`: "+strings.Join(linux.MempolicyUsages(), ", ")+
		"\n(NODES: numbers, near:DEVICE, far:DEVICE)")
	set.OptionalInt(&p.preferred, "preferred-node",
		"NUMA node that the scheduler prefers, by the prctl of a patched kernel; -1: none", -1, math.MaxInt)
	set.Nice(&p.nice, "")
	set.Sched(&p.sched, "")
	set.IntVar(&p.gomaxprocs, "gomaxprocs", 0, "GOMAXPROCS in the command's environment (0: unchanged)")
	set.On("placement", launch.CompletePlacement)
	set.Words("mempolicy", linux.MempolicyUsages())
	experiment.Bound(set, &p.gomaxprocs, "gomaxprocs", 0, math.MaxInt)
}

// Validate returns an error for flags that no machine can satisfy.
func (p *Placing) Validate() error {
	if p.placement != "" && p.mempolicy != "" {
		return hint.Usagef("--placement and --mempolicy exclude each other: a placement has its own")
	}
	return nil
}

// Setting returns the setting that the flags request on a machine, and the placement that it is made of.
func (p *Placing) Setting(m experiment.Machine) (s launch.Setting, of launch.Placement, err error) {
	if of, err = p.place(m); err != nil {
		return s, of, err
	}
	s = of.Setting()
	if p.mempolicy != "" {
		if s.Mempolicy, s.Nodes, err = parseMempolicy(m, p.mempolicy); err != nil {
			return s, of, hint.Flag("mempolicy", p.mempolicy, err)
		}
	}
	s.PreferredNode, s.Nice, s.Sched, s.GOMAXPROCS = p.preferred, p.nice, p.sched, p.gomaxprocs
	return s, of, nil
}

// memoryNodes returns the nodes that memory may come from on a machine; empty: all.
func memoryNodes(m experiment.Machine) (nodes cpuset.Set) {
	if m.Live {
		nodes, _ = linux.MemsAllowed() // no restriction if the kernel does not report it
	}
	return nodes
}

// choice returns how a CPU is chosen: as in the run that is continued, or by the seed among equals.
func choice(m experiment.Machine) launch.Choice {
	return launch.Choice{Seed: m.Seed, Recorded: func(placement string) (cpus cpuset.Set) {
		i := slices.IndexFunc(m.Recorded, func(c result.Cell) bool { return c.Flags["placement"] == placement })
		if i >= 0 {
			cpus, _ = cpuset.Parse(m.Recorded[i].CPUs["cpus"].List) // which was checked when it was read
		}
		return cpus
	}}
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
func (p *Placing) place(m experiment.Machine) (of launch.Placement, err error) {
	switch {
	case p.placement != "":
		if of, err = launch.LookupPlacement(m.Machine, m.CPUs, memoryNodes(m), p.placement, choice(m)); err != nil {
			return of, hint.Flag("placement", p.placement, err)
		}
	case m.Machine != nil && !m.CPUs.Equal(m.Allowed()):
		of.CPUs = m.CPUs
	}
	return of, nil
}

// parseMempolicy parses a policy; its nodes may be given as near to a device or far from it.
func parseMempolicy(m experiment.Machine, text string) (linux.Mempolicy, cpuset.Set, error) {
	name, list, _ := strings.Cut(text, ":")
	if topology.SelectsDevice(list) {
		memory := m.MemoryNodes()
		if allowed := memoryNodes(m); !allowed.Empty() {
			memory = memory.Intersect(allowed)
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
