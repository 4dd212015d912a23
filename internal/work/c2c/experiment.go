package c2c

import (
	"fmt"
	"strconv"
	"time"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
	"gorun/internal/show/chart"
	"gorun/internal/work/contend"
)

// Experiment is `gorun c2c`.
var Experiment = experiment.Define(experiment.Definition[Cell]{
	Text: experiment.Text{
		Name:     "c2c",
		Short:    "Measure how long a cache line takes to get from one CPU to another",
		Question: "How long does a cache line take to get from one CPU to another?",
		Long: "Two threads, each pinned to its CPU, pass a cache line back and forth; half of a round trip is the " +
			"latency from\n" +
			"core to core. Every pair gets a new line, and the pairs are in random order. If not all pairs fit in\n" +
			"--budget, fewer are measured, including every relation of two CPUs. With --samples and no --budget,\n" +
			"the default budget is the time of one sample of each pair.",
		Example: "  gorun c2c\n" +
			"  gorun c2c --cpus one-per-core --format csv\n" +
			"  gorun c2c --pairs per-llc --svg map.svg\n" +
			"  gorun c2c --mem-node far",
	},
	Traits: experiment.Traits{
		Sampling: experiment.Sampling{Samples: 1, Budget: mapTime.Seconds()},
		Place:    experiment.Here,
		RowHint:  "give each cell two CPUs: --cpus '0,1 0,2'",
		Compared: oneWay.Name,
		Columns:  columns,
		Picture: &experiment.Picture{
			Usage: "draw the map into this `file`",
			None: fmt.Errorf("cannot draw the heat map: this run of gorun c2c has no good sample of a pair of CPUs, or has more than %d CPUs",
				chart.MapLimit),
		},
		View: &shown,
	},
	New:  func() experiment.Flags[Cell] { return &flags{} },
	Open: open,
})

// mapTime is the default limit for the time of one sample of each pair.
const mapTime = time.Minute

// Cell is a pair of CPUs and how to measure it.
type Cell struct {
	A        int           `json:"a"` // the lower CPU
	B        int           `json:"b"`
	NodeA    int           `json:"node_a"`
	NodeB    int           `json:"node_b"`
	Relation string        `json:"relation"` // topology.Relation
	Method   string        `json:"method"`   // of Methods
	Each     time.Duration `json:"each"`     // duration of the round trips
	MemNode  int           `json:"mem_node"` // of the cache line; firstTouch: the node from which CPU a first touches it
}

// CellOf returns the cell of a pair of CPUs, by the default method, with a line that the first CPU touches first.
func CellOf(m *topology.Machine, pair topology.CPUPair) Cell {
	return Cell{
		A: pair.A, B: pair.B, NodeA: m.NodeOf(pair.A), NodeB: m.NodeOf(pair.B), Relation: pair.Relation.String(),
		Method: Methods[0].Name, Each: mostPair, MemNode: firstTouch,
	}
}

// Resources returns what the cell needs.
func (c Cell) Resources() experiment.Resources { return experiment.Resources{Threads: 2} }

// flags are the flags of `gorun c2c`.
type flags struct {
	pairs   string
	method  string
	memNode string
}

func (f *flags) Register(set *experiment.FlagSet) {
	set.Choice(&f.pairs, "pairs", "", "`which` pairs: "+catalog.List(topology.Pairings[:])+
		" (default: the most that fit in the budget)", catalog.Completions(topology.Pairings[:]))
	set.Choice(&f.method, "method", Methods[0].Name, "`method` of passing the line: "+catalog.List(Methods[:]), catalog.Completions(Methods[:]))
	set.StringVar(&f.memNode, "mem-node", "", "`node` of the line's memory: a number, near:DEVICE, near (the first CPU's, or the\n"+
		"nearest with memory) or far (the farthest from it) (default: where the first CPU's first touch puts it)")
	set.Complete("mem-node", []string{memNear, memFar})
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	times := float64(m.Sampling.Samples) + float64(m.Sampling.Warmup) // measurements of each pair
	budget := time.Duration(m.Sampling.Budget * float64(time.Second))
	uncut := m.Given("samples") && !m.Given("budget") // the budget is 0, but the default budget limits the pairs
	if uncut && f.pairs == "" {
		times, budget = 1, mapTime
	}
	plan, err := planPairs(m.Machine, m.CPUs, f.pairs, budget, times)
	if err != nil {
		return r, hint.Usage(err)
	}
	shuffle(plan.Pairs, m.Seed)
	cpus := map[int]bool{} // of all pairs
	nodes := map[int]int{} // of the line's memory, by the node of the first CPU
	r.Cells = make([]experiment.Cell[Cell], len(plan.Pairs))
	for i, pair := range plan.Pairs {
		cpus[pair.A], cpus[pair.B] = true, true
		c := CellOf(m.Machine, pair)
		if _, found := nodes[c.NodeA]; !found {
			if nodes[c.NodeA], err = memNode(f.memNode, m, c.NodeA); err != nil {
				return r, hint.Flag("mem-node", f.memNode, err)
			}
		}
		c.Method, c.Each, c.MemNode = f.method, plan.Each, nodes[c.NodeA]
		list := strconv.Itoa(pair.A) + "," + strconv.Itoa(pair.B)
		r.Cells[i] = experiment.Cell[Cell]{
			Do: c,
			Row: experiment.Row{
				Name:    "--cpus " + list,
				Flags:   map[string]string{"cpus": list},
				Running: fmt.Sprintf("CPUs %d and %d", pair.A, pair.B),
			},
		}
	}
	r.Spec = &spec{
		Pairs: plan.Which, Method: f.method, MemNode: f.memNode, Each: plan.Each.Seconds(),
		SamplingSpec: experiment.SamplingSpec{CPUs: m.CPUs.String()},
	}
	r.Placement = "a thread pinned to each CPU of the pair"
	r.Resources.Threads = len(cpus)
	if all := topology.Pairings[0].Count(m.Machine, m.CPUs); f.pairs == "" && len(plan.Pairs) < all {
		way, why := "--pairs all measures them all", fmt.Sprintf("so that the map fits in %v", budget)
		switch {
		case all > mostPairs:
			way, why = "give fewer --cpus to measure all of their pairs", fmt.Sprintf("since one run can measure %d", mostPairs)
		case !uncut:
			way = fmt.Sprintf("--pairs all --budget %v measures them all", shortestBudget(all, times))
		}
		r.Warnings = []result.Warning{{
			Code:    "fewer-pairs",
			Message: fmt.Sprintf("%d of %d pairs are measured (%s), %s", len(plan.Pairs), all, plan.Which, why),
			Hint:    way,
		}}
	}
	r.Plan = func(p *result.Plan) { p.Threads, p.Pairs = 2, plan.Document() }
	return r, nil
}

// spec holds the requested values by flag name.
type spec struct {
	Pairs   string  `json:"pairs"`
	Method  string  `json:"method"`
	MemNode string  `json:"mem_node,omitempty"` // as written in the flag; absent: first touch
	Each    float64 `json:"pair_seconds"`
	experiment.SamplingSpec
}

// sampler takes samples with one runner.
type sampler struct{ *contend.Runner }

func open(_ experiment.Environment, cells []Cell) (experiment.Sampler[Cell], error) {
	nodes := map[int]int{} // of the CPUs
	for _, c := range cells {
		nodes[c.A], nodes[c.B] = c.NodeA, c.NodeB
	}
	runner, err := contend.Open(nodes, "")
	return sampler{runner}, err
}
