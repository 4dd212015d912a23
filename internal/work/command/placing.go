package command

import (
	"errors"
	"math"
	"strings"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/guard/dedicate"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/show/apply"
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
	set.StringVar(&p.placement, "placement", "", "a `placement` by its name: "+catalog.List(kinds[:]))
	set.StringVar(&p.mempolicy, "mempolicy", "", "memory `policy`: "+strings.Join(linux.MempolicyUsages(), ", ")+
		" (NODES: 0, near:DEVICE)")
	set.OptionalInt(&p.preferred, "preferred-node",
		"NUMA node that the scheduler prefers, by the prctl of a patched kernel; -1: none", -1, math.MaxInt)
	set.Nice(&p.nice, "")
	set.Sched(&p.sched, "")
	set.IntVar(&p.gomaxprocs, "gomaxprocs", 0, "GOMAXPROCS in the command's environment (0: unchanged)")
	set.On("placement", CompletePlacement)
	set.Complete("mempolicy", linux.MempolicyUsages())
	experiment.Bound(set, &p.gomaxprocs, "gomaxprocs", 0, math.MaxInt)
}

// Validate returns an error for flags that no machine can satisfy.
func (p *Placing) Validate() error {
	if p.placement != "" && p.mempolicy != "" {
		return hint.Usagef("--placement and --mempolicy exclude each other: a placement has its own")
	}
	return nil
}

// Placed is a setting that flags request on a machine.
type Placed struct {
	placement.Setting
	Lines  result.Lines        // ways to have it
	Chosen string              // which CPU it has and why, if one was chosen among others
	Copies []placement.Setting // of each copy; nil: the command is no copy

	masks []cpuset.Set
	pod   *apply.Pod
}

// Placed returns the setting that the flags request on a machine. Without a machine, none of them requests CPUs.
func (p *Placing) Placed(m experiment.Machine) (s Placed, err error) {
	var of Placement
	switch {
	case p.placement != "":
		if of, err = newScope(m, memoryNodes(m)).lookup(p.placement); err != nil {
			return s, hint.Flag("placement", p.placement, err)
		}
	case m.Machine != nil && !m.CPUs.Equal(m.Allowed()):
		of.CPUs = m.CPUs
	}
	return p.placedIn(m, of)
}

// placedIn returns the setting that the other flags request in a placement.
func (p *Placing) placedIn(m experiment.Machine, of Placement) (s Placed, err error) {
	s.Setting = of.Setting()
	if p.mempolicy != "" {
		if s.Mempolicy, s.Nodes, err = parseMempolicy(m, p.mempolicy); err != nil {
			return s, hint.Flag("mempolicy", p.mempolicy, err)
		}
	}
	s.PreferredNode, s.Nice, s.Sched, s.GOMAXPROCS = p.preferred, p.nice, p.sched, p.gomaxprocs
	s.Lines, s.Chosen = apply.Lines(apply.Setting{Setting: s.Setting, Pod: of.Pod}), of.Chosen
	s.masks, s.pod = of.Masks, of.Pod
	return s, nil
}

// Described describes the CPUs, for a cell; nil: those that are inherited.
func (p Placed) Described(m experiment.Machine) map[string]result.CPUs {
	if p.CPUs.Empty() {
		return nil
	}
	return map[string]result.CPUs{"cpus": experiment.DescribeCPUs(m.Machine, p.CPUs.List())}
}

// SettingFlags holds a requested setting by flag name.
type SettingFlags struct {
	CPUs          string `json:"cpus"` // kernel list; "": as inherited
	Mempolicy     string `json:"mempolicy,omitempty"`
	PreferredNode *int   `json:"preferred_node,omitempty"`
	Nice          *int   `json:"nice,omitempty"`
	Sched         string `json:"sched,omitempty"`
	GOMAXPROCS    int    `json:"gomaxprocs,omitempty"`
}

// Spec returns the setting by flag name.
func (p Placed) Spec() SettingFlags {
	spec := SettingFlags{
		CPUs: p.CPUs.String(), Mempolicy: p.MempolicyFlag(), PreferredNode: p.PreferredNode, Nice: p.Nice, GOMAXPROCS: p.GOMAXPROCS,
	}
	if p.Sched != nil {
		spec.Sched = p.Sched.String()
	}
	return spec
}

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

// parseMempolicy parses a policy; its nodes may be given as near to a device or far from it.
func parseMempolicy(m experiment.Machine, text string) (linux.Mempolicy, cpuset.Set, error) {
	name, list, _ := strings.Cut(text, ":")
	if topology.SelectsDevice(list) {
		memory := m.MemoryNodes()
		if allowed := memoryNodes(m); !allowed.Empty() {
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
