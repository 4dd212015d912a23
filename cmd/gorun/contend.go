package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"gorun/internal/catalog"
	"gorun/internal/contend"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/metrics"
	"gorun/internal/render"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// contendOptions are the flags of `gorun contend`.
type contendOptions struct {
	env      env
	machine  machineFlags
	sampling samplingFlags
	output   outputFlags
	metrics  metricsFlags

	ops       string
	load      string
	rows      string
	count     uint64
	time      time.Duration
	window    time.Duration
	dist      string
	distBytes string
	memNode   string
	nodes     string
	variant   string
	svg       string

	changed func(name string) bool
}

// A row lasts as long as a hundred windows, each of them long beside a timer's interrupt.
const (
	contendTime   = 100 * time.Millisecond
	contendWindow = time.Millisecond
)

func newContend(e env, runF func(context.Context, *contendOptions) error) *cobra.Command {
	o := &contendOptions{env: e, sampling: samplingFlags{samples: 1}}
	cmd := &cobra.Command{
		Use:   "contend",
		Short: "Measure operations that CPUs make on the same memory at once",
		Long: "Each row of the load pattern has some CPUs repeat one operation at once, each by a thread that is pinned there,\n" +
			"all released together. By default (--time) only the windows count in which all of them ran. With --count each\n" +
			"makes so many operations, and towards the end some run alone, which flatters the average.",
		Example: "  gorun contend --op cmpxchg --load cpu-increase\n" +
			"  gorun contend --op xadd,cas-loop,faa-go\n" +
			"  gorun contend --op xadd --dist-bytes 0,8,64,128 --format csv",
		RunE: func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.ops, "op", "cmpxchg", "`operations`, by commas, or all: "+catalog.List(contend.Ops[:]))
	flags.StringVar(&o.load, "load", contend.Loads[0].Name, "load `pattern`: "+catalog.List(contend.Loads[:]))
	flags.Uint64Var(&o.count, "count", 0, "operations that each thread makes (0: by --time)")
	flags.DurationVar(&o.time, "time", contendTime,
		"how long a row lasts; windows in which not all threads ran do not count")
	flags.DurationVar(&o.window, "window", contendWindow, "length of a window")
	flags.StringVar(&o.dist, "dist", "", "`words` of 8 bytes between the words of two threads, 0 to 8, by commas\n(default: one word for all)")
	flags.StringVar(&o.distBytes, "dist-bytes", "",
		"`bytes` between the words of two threads, by commas, for false sharing")
	flags.StringVar(&o.memNode, "mem-node", "",
		"`node` of the memory: numbers, local (the row's first CPU's), or all (default: the first node)")
	flags.StringVar(&o.nodes, "nodes", "", "take the CPUs of these `nodes` only")
	flags.StringVar(&o.variant, "variant", "", "which instruction, where there are several: "+
		strings.Join(contend.Variants("arm64"), ", ")+" on arm64\n(default: what this CPU does best)")
	flags.StringVar(&o.rows, "rows", "", "measure these `rows` of the plan only, by their numbers from 0")
	flags.StringVar(&o.svg, "svg", "", "draw time and throughput over the number of CPUs into this `file`")
	o.sampling.register(cmd)
	o.machine.register(cmd, e)
	o.output.register(cmd)
	o.metrics.register(flags)
	o.changed = flags.Changed
	completeWords(cmd, "op", catalog.Words(contend.Ops[:]))
	completeWords(cmd, "load", catalog.Words(contend.Loads[:]))
	completeWords(cmd, "variant", contend.Variants("arm64"))
	_ = cmd.MarkFlagFilename("svg", "svg")
	return cmd
}

// contendSpec is what was asked, by flag name.
type contendSpec struct {
	Op        string  `json:"op"`
	Load      string  `json:"load"`
	Mode      string  `json:"mode"`
	Count     uint64  `json:"count"`
	Time      float64 `json:"time_seconds"`
	Window    float64 `json:"window_seconds"`
	DistBytes string  `json:"dist_bytes"`
	MemNode   string  `json:"mem_node"`
	Nodes     string  `json:"nodes"` // that have CPUs of the run, ascending
	Variant   string  `json:"variant"`
	Rows      string  `json:"rows"`
	CPUs      string  `json:"cpus"`
	Samples   int     `json:"samples"`
	Warmup    int     `json:"warmup"`
	Budget    float64 `json:"budget_seconds"`
}

// contendPlan is what the options come to on a machine.
type contendPlan struct {
	rows   []result.ContendRow
	nodes  map[int]int // of the CPUs
	timing contend.Timing
	spec   contendSpec
}

func (o *contendOptions) validate() error {
	if err := o.output.validate(o.machine); err != nil {
		return err
	}
	switch {
	case o.count > 0 && o.changed("time"):
		return usagef("--count and --time exclude each other")
	case o.changed("count") && o.count == 0:
		return usagef("--count 0: at least 1 is needed")
	case o.window < contend.LeastWindow:
		return usagef("--window %v: it must be at least %v", o.window, contend.LeastWindow)
	case o.time < contend.LeastWindows*o.window || o.time > contend.MostWindows*o.window:
		return usageError{hint.With(fmt.Errorf("--time %v is not %d to %d windows of %v", o.time, contend.LeastWindows,
			contend.MostWindows, o.window),
			"give another --time or --window")}
	}
	return errors.Join(o.sampling.validate(), o.metrics.validate())
}

// prepare does all that needs no run.
func (o *contendOptions) prepare() (m machine, p contendPlan, err error) {
	if err = o.validate(); err != nil {
		return m, p, err
	}
	// A captured machine is planned as if it were of this architecture.
	ops, err := contend.ParseOps(o.ops, runtime.GOARCH)
	if err != nil {
		return m, p, usageError{fmt.Errorf("--op %s: %w", o.ops, err)}
	}
	load, err := contend.LookupLoad(o.load)
	if err != nil {
		return m, p, usageError{fmt.Errorf("--load %s: %w", o.load, err)}
	}
	variant, err := contend.LookupVariant(o.variant, runtime.GOARCH)
	if err != nil {
		return m, p, usageError{fmt.Errorf("--variant %s: %w", o.variant, err)}
	}
	distances, err := contend.ParseDistances(o.dist, o.distBytes)
	if err != nil {
		return m, p, usageError{err}
	}
	if m, err = o.machine.read(o.env); err != nil {
		return m, p, err
	}
	nodes, err := contend.NodesOf(m.Machine, m.cpus, o.nodes)
	if err != nil {
		return m, p, usageError{fmt.Errorf("--nodes %s: %w", o.nodes, err)}
	}
	memNodes, local, err := contend.ParseMemNode(o.memNode, m.Machine, nodes)
	if err != nil {
		return m, p, usageError{fmt.Errorf("--mem-node %s: %w", o.memNode, err)}
	}
	p.rows = contend.Rows(contend.Options{
		Ops: ops, Load: load, Nodes: nodes, DistBytes: distances, MemNodes: memNodes, MemLocal: local,
		Arch: runtime.GOARCH, Variant: variant,
	})
	if p.rows, err = chosen(p.rows, o.rows); err != nil {
		return m, p, usageError{fmt.Errorf("--rows %s: %w", o.rows, err)}
	}
	if o.svg != "" && len(p.rows) > 0 && !slices.ContainsFunc(p.rows,
		func(row result.ContendRow) bool { return row.CPUs != p.rows[0].CPUs }) {
		return m, p, usageError{hint.With(errors.New("--svg draws a curve over the number of CPUs, and all rows have the same"),
			"give --load cpu-increase and several CPUs")}
	}
	p.timing = contend.Timing{Count: o.count, Time: o.time, Window: o.window}
	o.describe(&p, m, nodes, variant)
	return m, p, nil
}

// chosen are the rows that --rows names.
func chosen(rows []result.ContendRow, list string) ([]result.ContendRow, error) {
	if list == "" {
		return rows, nil
	}
	numbers, err := cpuset.Parse(list)
	if err != nil {
		return nil, err
	}
	if last := numbers.Last(); last >= len(rows) {
		return nil, hint.With(fmt.Errorf("there is no row %d", last),
			fmt.Sprintf("the plan has rows 0 to %d (--dry-run shows them)", len(rows)-1))
	}
	return slices.DeleteFunc(rows, func(row result.ContendRow) bool { return !numbers.Contains(row.Row) }), nil
}

// describe fills in what follows from the rows.
func (o *contendOptions) describe(p *contendPlan, m machine, nodes []contend.NodeCPUs, variant string) {
	var ids []int
	for _, n := range nodes {
		ids = append(ids, n.Node)
	}
	p.nodes = map[int]int{}
	var ops, memNodes, distances []string
	for _, row := range p.rows {
		cpus, _ := cpuset.Parse(row.CPUList) // made by Rows
		for cpu := range cpus.All() {
			c, _ := m.CPU(cpu)
			p.nodes[cpu] = c.Node
		}
		ops = append(ops, row.Op)
		memNodes = append(memNodes, fmt.Sprint(row.MemNode))
		distances = append(distances, fmt.Sprint(row.DistBytes))
	}
	p.spec = contendSpec{
		Op: distinct(ops), Load: o.load, Mode: p.timing.Mode(), Count: o.count, DistBytes: distinct(distances),
		MemNode: distinct(memNodes), Nodes: cpuset.Of(ids...).String(), Variant: variant, Rows: o.rows, CPUs: m.cpus.String(),
		Samples: o.sampling.samples, Warmup: o.sampling.warmup, Budget: o.sampling.budget.Seconds(),
	}
	if o.count == 0 {
		p.spec.Time, p.spec.Window = o.time.Seconds(), o.window.Seconds()
	}
}

// distinct joins the words, each once, in order of their first place.
func distinct(words []string) string {
	var list []string
	for _, word := range words {
		if !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return strings.Join(list, ",")
}

func (o *contendOptions) dryRun(m machine, p contendPlan) *result.Plan {
	return &result.Plan{
		Schema: result.Schema, Tool: tool(), Experiment: "contend", Spec: p.spec, CPUs: m.cpus.String(),
		Placement: "a thread pinned to each CPU of the row", Threads: len(p.nodes), ContendRows: p.rows,
	}
}

// planContend is what a command line with --dry-run would show.
func planContend(e env, args []string) (plan *result.Plan, err error) {
	cmd := newContend(e, func(_ context.Context, o *contendOptions) error {
		m, p, err := o.prepare()
		if err == nil {
			plan = o.dryRun(m, p)
		}
		return err
	})
	return plan, planBy(cmd, args)
}

func runContend(ctx context.Context, o *contendOptions) (err error) {
	m, p, err := o.prepare()
	if err != nil {
		return err
	}
	if o.output.dryRun {
		return render.Plan(o.env.stdout, o.dryRun(m, p), o.output.format)
	}
	if err := enoughThreads(o.env, len(p.nodes)); err != nil {
		return err
	}
	s, err := openSession(o.env, m, "contend", 0, len(p.nodes))
	if err != nil {
		return err
	}
	defer s.close(&err)
	runner, err := contend.Open(p.nodes, p.spec.Variant)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, runner.Close)
	draw, err := s.openSVG(o.svg, render.ContendSVG)
	if err != nil {
		return err
	}
	s.run.Spec, s.run.Seed = p.spec, o.sampling.seed
	info := metrics.Info{Experiment: "contend", Version: version, Placement: "a thread pinned to each CPU of the row"}
	if err := s.start(o.output, o.metrics, ownSwitches(s.tally.worked), info); err != nil {
		return err
	}
	if err := s.preheat(ctx, runner); err != nil {
		return err
	}
	next := rounds(p.rows, o.sampling.warmup, o.sampling.seed)
	var running atomic.Pointer[result.ContendRow]
	sampling := o.sampling
	sampling.samples *= len(p.rows)
	sampling.warmup *= len(p.rows)
	err = s.measure(ctx, sampling, 0, o.output.quiet, term.Progress{What: "contend", Now: func() string {
		if row := running.Load(); row != nil {
			return row.Op + " on CPUs " + row.CPUList
		}
		return ""
	}}, func(ctx context.Context) (result.Sample, error) {
		row := next()
		running.Store(&row)
		return runner.Measure(ctx, row, p.timing)
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(s.run.Samples, func(a, b result.Sample) int { return cmp.Compare(rowOf(a), rowOf(b)) })
	if err := draw(); err != nil {
		return err
	}
	return s.finish(ctx, o.output, o.metrics, o.sampling.strict)
}

// rowOf is the row that a sample is of.
func rowOf(s result.Sample) int {
	v, ok := result.Typed[result.Contend](&s)
	if !ok {
		return 0
	}
	return v.Row
}

// rounds gives the rows one after another: first those of the warm-ups and of the first round in their order, then each
// round in an order of its own, so that what drifts does not fall on the same rows each time.
func rounds(rows []result.ContendRow, warmup int, seed uint64) func() result.ContendRow {
	random := rand.New(rand.NewPCG(seed, 0))
	order := slices.Clone(rows)
	taken := 0
	return func() result.ContendRow {
		if taken%len(order) == 0 && taken/len(order) > warmup {
			random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		taken++
		return order[(taken-1)%len(order)]
	}
}

// preheat brings the CPUs to the clock frequency that they keep.
func (s *session) preheat(ctx context.Context, runner *contend.Runner) error {
	settled, err := runner.Preheat(ctx)
	if err == nil && !settled && ctx.Err() == nil {
		s.run.Warnings = append(s.run.Warnings, result.Warning{
			Code: "unsettled-clock", Message: "the CPUs' speed did not settle within a second, so rows differ by more than their operations",
			Hint: "other programs or a changing clock frequency disturb them: wait, or take more --samples",
		})
	}
	return err
}
