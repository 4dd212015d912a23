package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"gorun/internal/catalog"
	"gorun/internal/contend"
	"gorun/internal/metrics"
	"gorun/internal/render"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// c2cOptions are the flags of `gorun c2c`.
type c2cOptions struct {
	env      env
	machine  machineFlags
	sampling samplingFlags
	output   outputFlags
	metrics  metricsFlags

	pairs  string
	method string
	svg    string
}

// c2cBudget is how long a map takes, unless more is asked for.
const c2cBudget = time.Minute

func newC2C(e env, runF func(context.Context, *c2cOptions) error) *cobra.Command {
	o := &c2cOptions{env: e, sampling: samplingFlags{samples: 1, budget: c2cBudget}}
	cmd := &cobra.Command{
		Use:   "c2c",
		Short: "Measure how long a cache line takes from one CPU to another",
		Long: "Two threads, each pinned to its CPU, hand a cache line back and forth; half of a round trip is the latency from\n" +
			"core to core. Every pair gets a fresh line, and the pairs come in a random order. Where all pairs do not fit in\n" +
			"--budget, fewer are taken, such that every relation of two CPUs is among them.",
		Example: "  gorun c2c\n" +
			"  gorun c2c --cpus one-per-core --format csv\n" +
			"  gorun c2c --pairs per-llc --svg map.svg",
		RunE: func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.pairs, "pairs", "", "`which` pairs: "+catalog.List(topology.Pairings[:])+" (default: the most that fit in the budget)")
	flags.StringVar(&o.method, "method", contend.Methods[0].Name, "`how` the line is handed over: "+catalog.List(contend.Methods[:]))
	flags.StringVar(&o.svg, "svg", "", "draw the map into this `file`")
	o.sampling.register(cmd)
	o.machine.register(cmd, e)
	o.output.register(cmd)
	o.metrics.register(flags)
	completeWords(cmd, "pairs", catalog.Words(topology.Pairings[:]))
	completeWords(cmd, "method", catalog.Words(contend.Methods[:]))
	_ = cmd.MarkFlagFilename("svg", "svg")
	return cmd
}

// c2cSpec is what was asked, by flag name.
type c2cSpec struct {
	Pairs   string  `json:"pairs"`
	Method  string  `json:"method"`
	Each    float64 `json:"pair_seconds"`
	CPUs    string  `json:"cpus"`
	Samples int     `json:"samples"`
	Warmup  int     `json:"warmup"`
	Budget  float64 `json:"budget_seconds"`
}

func (o *c2cOptions) validate() error {
	if err := o.output.validate(o.machine); err != nil {
		return err
	}
	if err := contend.LookupMethod(o.method); err != nil {
		return usageError{fmt.Errorf("--method %s: %w", o.method, err)}
	}
	budget := o.sampling.budget
	err := errors.Join(o.sampling.validate(), o.metrics.validate())
	o.sampling.budget = budget // which is shared out among the pairs, however often they are sampled
	return err
}

// prepare does all that needs no run.
func (o *c2cOptions) prepare() (m machine, plan contend.PairPlan, err error) {
	if err = o.validate(); err != nil {
		return m, plan, err
	}
	if m, err = o.machine.read(o.env); err != nil {
		return m, plan, err
	}
	plan, err = contend.Fit(m.Machine, m.cpus, o.pairs, o.sampling.budget, o.times())
	if err != nil {
		return m, plan, usageError{err}
	}
	contend.Shuffle(plan.Pairs, o.sampling.seed)
	return m, plan, nil
}

// times is how often each pair is measured.
func (o *c2cOptions) times() int { return o.sampling.samples + o.sampling.warmup }

func (o *c2cOptions) spec(m machine, plan contend.PairPlan) c2cSpec {
	return c2cSpec{
		Pairs: plan.Which, Method: o.method, Each: plan.Each.Seconds(), CPUs: m.cpus.String(),
		Samples: o.sampling.samples, Warmup: o.sampling.warmup, Budget: o.sampling.budget.Seconds(),
	}
}

func runC2C(ctx context.Context, o *c2cOptions) (err error) {
	m, plan, err := o.prepare()
	if err != nil {
		return err
	}
	const placed = "a thread pinned to each CPU of the pair"
	if o.output.dryRun {
		return render.Plan(o.env.stdout, &result.Plan{
			Schema: result.Schema, Tool: tool(), Experiment: "c2c", Spec: o.spec(m, plan), CPUs: m.cpus.String(),
			Placement: placed, Threads: 2, Pairs: plan.Document(),
		}, o.output.format)
	}
	nodes := map[int]int{}
	for _, pair := range plan.Pairs {
		for _, cpu := range []int{pair.A, pair.B} {
			c, _ := m.CPU(cpu) // selected from this machine
			nodes[cpu] = c.Node
		}
	}
	if err := enoughThreads(o.env, len(nodes)); err != nil {
		return err
	}
	s, err := openSession(o.env, m, "c2c", 0, len(nodes))
	if err != nil {
		return err
	}
	defer s.close(&err)
	runner, err := contend.Open(nodes, "")
	if err != nil {
		return err
	}
	s.closers = append(s.closers, runner.Close)
	draw, err := s.openSVG(o.svg, render.C2CSVG)
	if err != nil {
		return err
	}
	s.run.Spec, s.run.Seed = o.spec(m, plan), o.sampling.seed
	info := metrics.Info{Experiment: "c2c", Version: version, Placement: placed}
	if err := s.start(o.output, o.metrics, ownSwitches(s.tally.worked), info); err != nil {
		return err
	}
	if err := s.preheat(ctx, runner); err != nil {
		return err
	}
	s.fewer(o, m, plan)
	var taken atomic.Int64
	pair := func(n int64) topology.Pair { return plan.Pairs[n%int64(len(plan.Pairs))] }
	sampling := o.sampling
	sampling.samples *= len(plan.Pairs)
	sampling.warmup *= len(plan.Pairs)
	err = s.measure(ctx, sampling, 0, o.output.quiet, term.Progress{What: "c2c", Now: func() string {
		p := pair(taken.Load())
		return fmt.Sprintf("CPUs %d and %d", p.A, p.B)
	}}, func(ctx context.Context) (result.Sample, error) {
		defer taken.Add(1)
		return runner.PingPong(ctx, pair(taken.Load()), o.method, plan.Each)
	})
	if err != nil {
		return err
	}
	if err := draw(); err != nil {
		return err
	}
	return s.finish(ctx, o.output, o.metrics, o.sampling.strict)
}

// fewer says when not all pairs are measured, and nobody asked for that.
func (s *session) fewer(o *c2cOptions, m machine, plan contend.PairPlan) {
	if o.pairs != "" || plan.Which == topology.Pairings[0].Name {
		return
	}
	all := topology.Pairings[0].Count(m.Machine, m.cpus)
	s.run.Warnings = append(s.run.Warnings, result.Warning{
		Code: "fewer-pairs",
		Message: fmt.Sprintf("%d of %d pairs are measured (%s), so that the map fits in %v", len(plan.Pairs), all,
			plan.Which, o.sampling.budget),
		Hint: fmt.Sprintf("--pairs all --budget %v measures them all", contend.AtLeast(all, o.times())),
	})
}
