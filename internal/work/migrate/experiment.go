// Package migrate is `gorun migrate`: what it costs a thread that it is moved to another CPU.
package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/csrc"
	"gorun/internal/base/bytesize"
	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/machine/topology"
)

// Experiment is `gorun migrate`.
var Experiment = experiment.Define(experiment.Definition[Cell]{
	Text: experiment.Text{
		Name:     "migrate",
		Short:    "Measure what it costs to move a thread to another CPU",
		Question: "What does it cost to move a thread to another CPU?",
		Long: "A thread makes accesses to its working set, and is moved to and fro between two CPUs by sched_setaffinity(2).\n" +
			"There is a pair of CPUs for each relation that the machine has, and the pairs take turns. Each is judged, by the\n" +
			"time of an access, against same-cpu: a thread that makes the same calls and stays where it is.\n\n" +
			"A move lasts until the thread runs on the other CPU, less the time of a call that moves nothing. The refill is how\n" +
			"much longer the first passes over the working set take after a move than passes on the same CPU before the moves.",
		Example: "  gorun migrate\n" +
			"  gorun migrate --working-set all --budget 2m\n" +
			"  gorun migrate --relation same-cpu,cross-node --working-set 1MiB\n" +
			"  gorun migrate --every 100us,1ms,10ms --working-set 256KiB\n" +
			"  gorun matrix migrate --access sequential,random,chase --relation same-llc --working-set 256KiB",
	},
	Traits: experiment.Traits{
		Sampling: experiment.Sampling{Samples: 5, Warmup: 1, Budget: 20, Compares: true},
		Place:    experiment.Here,
		RowHint:  "give --relation, --working-set and --every one value each",
		Compared: perAccess.Name,
		Columns:  columns,
		View:     &shown,
	},
	New:  func() experiment.Flags[Cell] { return &flags{} },
	Open: experiment.Alone(sample),
})

// Cell describes the moves of one cell.
type Cell struct {
	A          int           `json:"a"` // the CPU where the thread begins
	B          int           `json:"b"` // the other one
	Relation   string        `json:"relation"`
	Every      time.Duration `json:"every"`
	Moves      int           `json:"moves"`
	WorkingSet uint64        `json:"working_set"` // bytes
	Access     string        `json:"access"`
	MemNode    *int          `json:"mem_node,omitempty"` // nil: the one of A
	Seed       uint64        `json:"seed"`
}

// flags are the flags of `gorun migrate`.
type flags struct {
	relation   string
	relations  []topology.Relation // of it, in its order
	every      string
	times      []time.Duration // of it, in its order
	moves      int
	workingSet string
	sizes      []uint64 // of it, in its order
	access     string
	memNode    string
}

const (
	all = "all" // relations, or sizes

	leastEvery = 10 * time.Microsecond // a move alone takes some microseconds
	mostEvery  = time.Hour
	mostMoves  = 1_000_000
)

func (f *flags) Register(set *experiment.FlagSet) {
	experiment.Parsed(set, &f.relation, &f.relations, "relation", all, "`relations` of the two CPUs, by commas: "+strings.Join(topology.RelationNames, ", ")+
		"; or "+all+"\nthat the machine has; the others are compared with the first", parseRelations)
	experiment.Parsed(set, &f.every, &f.times, "every", "1ms", "`times` between two moves, by commas", parseTimes)
	set.IntVar(&f.moves, "moves", 40, "moves in a sample")
	experiment.Parsed(set, &f.workingSet, &f.sizes, "working-set", "",
		"`sizes` of the memory that the thread goes through, by commas (default: half of the L2, and half of a core's\n"+
			"share of the last-level cache); "+all+": half of the L1, and twice the last-level cache, too", parseSizes)
	set.Choice(&f.access, "access", sequential, "`how` the thread goes through it: "+strings.Join(csrc.MemoryAccesses(), ", ")+
		"; chase only reads, so that both CPUs' caches\ncan keep what they have", csrc.MemoryAccesses())
	set.StringVar(&f.memNode, "mem-node", "",
		"`node` of the memory: a number, near:DEVICE or far:DEVICE (default: that of the CPU where the thread begins)")
	set.On("mem-node", (*topology.Machine).CompleteNodes)
	set.Group("Moves", "relation", "every", "moves")
	set.Group("Memory", "working-set", "access", "mem-node")
	set.Complete("relation", append(slices.Clone(topology.RelationNames), all))
	set.Complete("working-set", []string{all})
	experiment.Bound(set, &f.moves, "moves", 1, mostMoves)
}

// sequential is the default of --access: it writes too, so that what one CPU has written must leave its cache.
const sequential = "sequential"

// perLine are how many accesses of each kind reach a cache line when they reach all lines, and 98% of them at random.
var perLine = map[string]uint64{"random": 4, sequential: csrc.ProbeLine / 8, "chase": 1}

// parseRelations reads --relation.
func parseRelations(text string) ([]topology.Relation, error) {
	if text == all {
		return topology.Relations, nil
	}
	return catalog.ParseList(text, func(word string) (topology.Relation, error) {
		i := slices.Index(topology.RelationNames, word)
		if i < 0 {
			return 0, hint.With(fmt.Errorf("%q is not a relation", word), "there are "+strings.Join(topology.RelationNames, ", ")+"; or "+all)
		}
		return topology.Relation(i), nil
	})
}

// parseTimes reads --every.
func parseTimes(text string) ([]time.Duration, error) {
	return catalog.ParseList(text, func(word string) (time.Duration, error) {
		d, err := time.ParseDuration(word)
		switch {
		case err != nil:
			return 0, hint.With(fmt.Errorf("%q is not a time", word), "write times such as 500us and 10ms, joined by commas")
		case d < leastEvery || d > mostEvery:
			return 0, fmt.Errorf("%v is not between %v and %v", d, leastEvery, mostEvery)
		}
		return d, nil
	})
}

// pairs returns a pair for each relation of --relation; with all, also for relations that no two CPUs have.
func (f *flags) pairs(m experiment.Machine) (pairs []topology.CPUPair, err error) {
	has := m.PerRelation(m.CPUs)
	for _, r := range f.relations {
		p := has[r]
		if p.Unavailable() != "" && len(f.relations) < len(topology.Relations) {
			return nil, hint.With(fmt.Errorf("no two CPUs of the run are %s: %s", r, r.Unavailable()),
				"gorun topo shows the CPUs, and --relation "+all+" takes what there is")
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	pairs, err := f.pairs(m)
	if err != nil {
		return r, hint.Flag("relation", f.relation, err)
	}
	sizes := f.sizesOn(m, &r)
	var memNode *int
	if f.memNode != "" {
		node, err := m.MemoryNode(f.memNode)
		if err != nil {
			return r, hint.Flag("mem-node", f.memNode, err)
		}
		memNode = &node
	}
	measured := slices.DeleteFunc(slices.Clone(pairs), func(p topology.CPUPair) bool { return p.Unavailable() != "" })
	for _, every := range f.times {
		for _, size := range sizes {
			baseline := ""
			for _, p := range measured {
				c := f.cell(m, p, every, size, memNode)
				c.Name = f.name(p.Relation, every, size, len(sizes))
				baseline = cmp.Or(baseline, c.Name)
				if len(measured) > 1 && len(f.times)*len(sizes) > 1 {
					c.Against = baseline
				}
				r.Cells = append(r.Cells, c)
			}
		}
	}
	for _, p := range pairs {
		if p.Unavailable() != "" {
			r.Cells = append(r.Cells, experiment.Cell[Cell]{Row: experiment.PairRow(p)})
		}
	}
	r.Warnings = append(r.Warnings, experiment.UnavailablePairs(pairs)...)
	if len(measured) > 1 {
		r.Schedule = matrix.Schedule{
			Order: matrix.RandomBlocks, Title: compared, Compared: perAccess.Name, Open: true,
		}
	}
	r.Spec = &spec{
		Relation: f.relation, Every: f.every, Moves: f.moves, WorkingSet: list(sizes), Access: f.access, MemNode: memNode,
		SamplingSpec: experiment.SamplingSpec{CPUs: m.CPUs.String()},
	}
	r.Placement = "a thread pinned to each CPU of the pair in turns"
	r.Resources = experiment.Resources{
		Threads: 1, Bytes: slices.Max(sizes), Less: "give a smaller --working-set",
	}
	return r, nil
}

// list has sizes as --working-set does.
func list(sizes []uint64) string {
	words := make([]string, len(sizes))
	for i, size := range sizes {
		words[i] = bytesize.Format(size)
	}
	return strings.Join(words, ",")
}

// name is made of the values in which cells differ; "" of one cell.
func (f *flags) name(r topology.Relation, every time.Duration, size uint64, sizes int) string {
	var words []string
	if len(f.relations) > 1 {
		words = append(words, r.String())
	}
	if sizes > 1 {
		words = append(words, bytesize.Format(size))
	}
	if len(f.times) > 1 {
		words = append(words, "every "+every.String())
	}
	return strings.Join(words, " ")
}

func (f *flags) cell(m experiment.Machine, p topology.CPUPair, every time.Duration, size uint64, memNode *int) experiment.Cell[Cell] {
	c := experiment.Cell[Cell]{Row: experiment.PairRow(p)}
	relation, bytes := p.Relation.String(), bytesize.Format(size)
	c.Do = Cell{
		A: p.A, B: p.B, Relation: relation, Every: every, Moves: f.moves, WorkingSet: size, Access: f.access, MemNode: memNode, Seed: m.Seed,
	}
	c.AtOnce = 1
	c.Flags["every"], c.Flags["working-set"], c.Flags["access"] = every.String(), bytes, f.access
	c.Running += ", " + bytes
	c.Command = []string{
		"migrate", "--relation", relation, "--working-set", bytes, "--every", every.String(), "--moves", strconv.Itoa(f.moves),
		"--access", f.access,
	}
	if memNode != nil {
		c.Command = append(c.Command, "--mem-node", strconv.Itoa(*memNode))
	}
	c.Command = append(c.Command, "--cpus", m.CPUs.String())
	return c
}

// spec holds the values of the flags, by flag name.
type spec struct {
	Relation   string `json:"relation"`
	Every      string `json:"every"`
	Moves      int    `json:"moves"`
	WorkingSet string `json:"working_set"`
	Access     string `json:"access"`
	MemNode    *int   `json:"mem_node,omitempty"`
	experiment.SamplingSpec
}
