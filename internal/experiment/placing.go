package experiment

import (
	"math"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/place/named"
	"gorun/internal/place/placement"
)

// Placing holds the flags of the setting in which a command is started.
type Placing struct {
	Placement string // by its name
	Mempolicy string

	asked placement.Setting // by the other flags
}

// Register adds the flags.
func (p *Placing) Register(set *FlagSet) {
	set.StringVar(&p.Placement, "placement", "", "a `placement` by its name: "+named.List())
	set.StringVar(&p.Mempolicy, "mempolicy", "", "memory `policy`: "+strings.Join(linux.MempolicyUsages(), ", ")+
		" (NODES: 0, near:DEVICE)")
	set.OptionalInt(&p.asked.PreferredNode, "preferred-node",
		"NUMA node that the scheduler prefers, by the prctl of a patched kernel; -1: none", -1, math.MaxInt)
	set.Nice(&p.asked.Nice, "")
	set.Sched(&p.asked.Sched, "")
	set.IntVar(&p.asked.GOMAXPROCS, "gomaxprocs", 0, "GOMAXPROCS in the command's environment (0: unchanged)")
	set.On("placement", named.Complete)
	set.Complete("mempolicy", linux.MempolicyUsages())
	Bound(set, &p.asked.GOMAXPROCS, "gomaxprocs", 0, math.MaxInt)
}

// Validate returns an error for flags that no machine can satisfy.
func (p *Placing) Validate() error {
	if p.Placement != "" && p.Mempolicy != "" {
		return hint.Usagef("--placement and --mempolicy exclude each other: a placement has its own")
	}
	return nil
}

// Placed returns what the flags request on a machine. Without a machine, none of them requests CPUs.
func (p *Placing) Placed(m Machine) (named.Placement, error) {
	return p.PlacedBy(m, func(name string) (named.Placement, error) { return m.Placements().Lookup(name) })
}

// PlacedBy is Placed with another way to find a placement by its name.
func (p *Placing) PlacedBy(m Machine, lookup func(name string) (named.Placement, error)) (of named.Placement, err error) {
	switch {
	case p.Placement != "":
		if of, err = lookup(p.Placement); err != nil {
			return of, hint.Flag("placement", p.Placement, err)
		}
	case m.Machine != nil && !m.CPUs.Equal(m.Allowed()):
		of.CPUs = m.CPUs
	}
	return p.PlacedIn(m, of)
}

// PlacedIn returns a placement with what the other flags request.
func (p *Placing) PlacedIn(m Machine, of named.Placement) (_ named.Placement, err error) {
	asked := p.asked
	asked.CPUs, asked.Mempolicy, asked.Nodes = of.CPUs, of.Mempolicy, of.Nodes
	if p.Mempolicy != "" {
		if asked.Mempolicy, asked.Nodes, err = parseMempolicy(m, p.Mempolicy); err != nil {
			return of, hint.Flag("mempolicy", p.Mempolicy, err)
		}
	}
	of.Setting = asked
	return of, nil
}

// PreferredNode returns the value of --preferred-node; nil: it is not given.
func (p *Placing) PreferredNode() *int { return p.asked.PreferredNode }

// SettingFlags holds a requested setting by flag name.
type SettingFlags struct {
	CPUs          string `json:"cpus"` // kernel list; "": as inherited
	Mempolicy     string `json:"mempolicy,omitempty"`
	PreferredNode *int   `json:"preferred_node,omitempty"`
	Nice          *int   `json:"nice,omitempty"`
	Sched         string `json:"sched,omitempty"`
	GOMAXPROCS    int    `json:"gomaxprocs,omitempty"`
}

// FlagsOf returns a setting by flag name.
func FlagsOf(s placement.Setting) SettingFlags {
	flags := SettingFlags{
		CPUs: s.CPUs.String(), Mempolicy: s.MempolicyFlag(), PreferredNode: s.PreferredNode, Nice: s.Nice, GOMAXPROCS: s.GOMAXPROCS,
	}
	if s.Sched != nil {
		flags.Sched = s.Sched.String()
	}
	return flags
}

// Placements returns those that a command can have on the CPUs of the cell.
func (m Machine) Placements() named.Scope {
	g := named.In(m.Machine, m.CPUs, m.memory())
	g.Seed, g.Recorded = m.Seed, m.Recorded
	return g
}

// memory returns the nodes that memory may come from; empty: all.
func (m Machine) memory() (nodes cpuset.Set) {
	if m.Live {
		nodes, _ = linux.MemsAllowed() // no restriction if the kernel does not report it
	}
	return nodes
}

// parseMempolicy parses a policy; its nodes may be given as near to a device or far from it.
func parseMempolicy(m Machine, text string) (linux.Mempolicy, cpuset.Set, error) {
	name, list, _ := strings.Cut(text, ":")
	if topology.SelectsDevice(list) {
		memory := m.MemoryNodes()
		if allowed := m.memory(); !allowed.Empty() {
			memory = memory.Intersect(allowed)
		}
		nodes, err := m.SelectNodes(list, memory, "no memory for us")
		if err != nil {
			return 0, cpuset.Set{}, err
		}
		text = name + ":" + nodes.String()
	}
	return linux.ParseMempolicy(text)
}
