// Package bind is `gorun bind`: it compares processes that are bound to CPUs with the same processes unbound.
package bind

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"gorun/internal/base/bytesize"
	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
	"gorun/internal/start/process"
)

// The cells of a plain run.
const (
	Unbound = iota // the baseline
	Bound
)

const (
	// summed is the default size of an array in bytes, which takes 13 to 40 ms at 20 to 6 GB/s. That is several time
	// slices (3 ms), so that the mean time of processes that share a CPU does not depend on which of them started
	// first.
	summed = 256 << 20

	mostProcesses = 1 << 22 // PID_MAX_LIMIT (include/linux/threads.h)
	mostTrials    = 1000    // the signed-rank statistics of more take seconds to compute
)

// Experiment is `gorun bind`.
var Experiment = experiment.Define(experiment.Definition[Cell]{
	Text: experiment.Text{
		Name:     "bind",
		Short:    "Compare processes bound to CPUs with the same processes unbound",
		Question: "Are processes faster when they are bound to CPUs?",
		Long: "In a trial, --processes start together. Each checks --checks times which CPU it runs on, and then adds up an\n" +
			"array of its own. Bound, process i has CPU i mod n of the n CPUs; unbound, all may use all. A bound and an unbound\n" +
			"trial make a pair; either comes first equally often, in random order. The mean time of the sums is compared.\n" +
			"In gorun matrix bind the processes of each cell are bound, and the cells differ in other flags.",
		Example: "  gorun bind\n" +
			"  gorun bind --cold --svg cold.svg\n" +
			"  gorun bind --processes 4 --cpus one-per-core --array 256KiB --trials 30\n" +
			"  gorun bind --dry-run\n" +
			"  gorun matrix bind --processes 2,20",
	},
	Traits: experiment.Traits{
		Sampling:    experiment.Sampling{Samples: 1, Fixed: true, Compares: true},
		Place:       experiment.Started,
		SharedFlags: []string{"trials"},
		Columns:     columns,
		Picture:     &experiment.Picture{Usage: "draw the table into this `file`", Draw: SVG},
		View:        &shown,
	},
	New: func() experiment.Flags[Cell] { return &flags{} },
	Open: func(s experiment.Environment, _ []Cell) (experiment.Sampler[Cell], error) {
		return sampler{s.Self.In(s.Environ)}, nil
	},
})

// sampler starts new processes for each trial.
type sampler struct{ self launch.Self }

func (s sampler) Sample(ctx context.Context, c Cell) (result.Sample, error) {
	return c.measure(ctx, s.self, nil)
}
func (s sampler) Close() error { return nil }

// flags are the flags of `gorun bind`.
type flags struct {
	processes int
	checks    uint64
	array     uint64 // 0: an L2
	passes    uint64
	trials    int
	cold      bool
	masks     string
}

func (f *flags) Register(set *experiment.FlagSet) {
	set.IntVar(&f.processes, "processes", 20, "processes of a trial")
	set.Uint64Var(&f.checks, "checks", 10_000, "how often each process checks its CPU")
	set.Size(&f.array, "array", "`size` of the array of each process (default: an L2 of the first CPU, or "+
		bytesize.Format(process.UnknownL2)+" where that is not known)")
	set.Uint64Var(&f.passes, "passes", 0, "how often each process adds up its array (0: until it has added "+bytesize.Format(summed)+")")
	set.BoolVar(&f.cold, "cold", false, "time the fill of the array too, in memory that is touched for the first time, and\n"+
		"add it up once")
	set.StringVar(&f.masks, "masks", "", "bind process i to mask i mod n of these `masks`: CPU lists, separated by spaces\n"+
		"(default: a CPU each)")
	set.IntVar(&f.trials, "trials", 10, "bound trials, and the same number of unbound ones")
	experiment.Bound(set, &f.processes, "processes", 1, mostProcesses)
	experiment.Bound(set, &f.checks, "checks", 1, math.MaxUint64)
	experiment.Bound(set, &f.trials, "trials", 1, mostTrials)
}

// spec holds the requested values by flag name.
type spec struct {
	Processes  int    `json:"processes"`
	Checks     uint64 `json:"checks"`
	ArrayBytes uint64 `json:"array_bytes"`
	Passes     uint64 `json:"passes"`
	Trials     int    `json:"trials,omitempty"` // only in a plain run
	CPUs       string `json:"cpus"`
	Cold       bool   `json:"cold,omitempty"`
	Masks      string `json:"masks,omitempty"`
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	bytes, odd := process.ArrayBytes(f.array, m.Root, m.CPUs.First())
	r.Warnings = result.OddMachine(odd)
	passes := max(1, summed/bytes)
	if f.cold {
		passes = 1
	}
	passes = cmp.Or(f.passes, passes)
	if passes > math.MaxInt64/bytes {
		return r, hint.Usage(hint.With(fmt.Errorf("--passes %d over %d bytes would never end", passes, bytes),
			"give fewer --passes"))
	}
	c := Cell{
		Processes: f.processes, Given: f.masks != "", Checks: f.checks, ArrayBytes: bytes, Passes: passes, Cold: f.cold,
	}
	each := strings.Trim(fmt.Sprint(m.CPUs.List()), "[]") // a CPU each
	if c.Masks, err = m.Masks(cmp.Or(f.masks, each)); err != nil {
		return r, hint.Flag("masks", f.masks, err)
	}
	spec := spec{
		Processes: f.processes, Checks: f.checks, ArrayBytes: bytes, Passes: passes, CPUs: c.all().String(), Cold: f.cold,
	}
	if c.Given {
		var masks []string
		for _, mask := range c.Masks {
			masks = append(masks, mask.String())
		}
		spec.Masks = strings.Join(masks, " ")
	}
	r.Resources = experiment.Resources{
		Processes: f.processes, ProcessBytes: bytes,
		Less: "give fewer --processes, or a smaller --array",
	}
	bound := experiment.Cell[Cell]{Do: c, Row: experiment.Row{Name: "bound", Running: "bound processes"}}
	bound.Do.Bound = true
	if m.Sampling.Samples == 0 { // a matrix, in which "unbound" is not a flag
		r.Cells, r.Spec = []experiment.Cell[Cell]{bound}, spec
		return r, nil
	}
	spec.Trials = f.trials
	order := Order(f.trials, m.Seed)
	unbound := experiment.Cell[Cell]{Do: c, Row: experiment.Row{Name: "unbound", Running: "unbound processes"}}
	r.Cells = []experiment.Cell[Cell]{Unbound: unbound, Bound: bound}
	for i := range r.Cells {
		r.Cells[i].Flags = map[string]string{"placement": r.Cells[i].Name}
		r.Cells[i].Command = []string{
			"bind", "--processes", strconv.Itoa(f.processes), "--checks", strconv.FormatUint(f.checks, 10),
			"--array", bytesize.Format(bytes), "--passes", strconv.FormatUint(passes, 10), "--trials", "1",
			"--cpus", spec.CPUs,
		}
		if f.cold {
			r.Cells[i].Command = append(r.Cells[i].Command, "--cold")
		}
		if spec.Masks != "" {
			r.Cells[i].Command = append(r.Cells[i].Command, "--masks", spec.Masks)
		}
	}
	r.Schedule = matrix.Schedule{
		Order: matrix.Pairs, Title: "Processes bound to CPUs", Baseline: Unbound,
		Method: "pairs of a bound and an unbound trial; each comes first equally often, in random order; what is compared" +
			" of a trial is the mean time of its processes' sums; this verdict has no control",
	}
	for i := 0; i < len(order); i += 2 {
		first := Unbound
		if order[i] {
			first = Bound
		}
		r.Schedule.First = append(r.Schedule.First, first)
	}
	r.Spec = spec
	r.Placement = c.requested() + ", against none"
	r.Plan = func(p *result.Plan) {
		p.Bind = &result.PlanBind{CPUs: make([]int, f.processes), Order: order}
		for i := range p.Bind.CPUs {
			p.Bind.CPUs[i] = bound.Do.cpu(i)
			if c.Given {
				p.Bind.Masks = append(p.Bind.Masks, bound.Do.mask(i).String())
			}
		}
	}
	return r, nil
}

// Order returns whether each of 2 × trials measurements is bound. Consecutive measurements form pairs of one bound
// and one unbound measurement. In each block of four pairs each kind comes first twice, in random order, so that
// neither a drift of the machine nor an effect of the first measurement on the second looks like a difference. In an
// incomplete block of odd length, chance decides which kind comes first once more.
func Order(trials int, seed uint64) []bool {
	source := rand.New(rand.NewPCG(seed, 0))
	order := make([]bool, 0, 2*trials)
	for left := trials; left > 0; left -= 4 {
		first := make([]bool, min(4, left))
		chance := source.IntN(2)
		for i := range first {
			first[i] = i%2 == chance
		}
		source.Shuffle(len(first), func(i, j int) { first[i], first[j] = first[j], first[i] })
		for _, bound := range first {
			order = append(order, bound, !bound)
		}
	}
	return order
}
