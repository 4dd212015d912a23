package main

import (
	"context"
	"errors"
	"math"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"gorun/internal/catalog"
	"gorun/internal/hint"
	"gorun/internal/metrics"
	"gorun/internal/placement"
	"gorun/internal/primes"
	"gorun/internal/render"
	"gorun/internal/result"
)

// primesOptions are the flags of `gorun primes`.
type primesOptions struct {
	env       env
	machine   machineFlags
	placement placementFlags
	sampling  samplingFlags
	output    outputFlags
	metrics   metricsFlags

	limit      uint64
	method     string
	kernel     string
	workers    int
	serial     bool
	dispatch   string
	split      string
	gomaxprocs int
	barrier    bool
	duration   time.Duration
	detail     bool
}

// dispatches are the ways workers get their threads, the default first.
var dispatches = []string{
	"goroutine\teach worker is a goroutine",
	"executor\tone locked, pinned thread a CPU takes workers from a queue",
}

func newPrimes(e env, runF func(context.Context, *primesOptions) error) *cobra.Command {
	o := &primesOptions{env: e, sampling: samplingFlags{samples: 5, warmup: 1, budget: 5 * time.Second}}
	cmd := &cobra.Command{
		Use:   "primes",
		Short: "Count primes with a pool of workers, placed as you ask",
		Long: "A pool of workers counts the primes from 1 to --limit. Each worker is a goroutine: it floats, or keeps its\n" +
			"thread (--lock-thread), or keeps its thread and its CPU (--pin-cpus); or threads keep their CPU and goroutines\n" +
			"move between them (--pin-thread). What was asked is read back from the kernel, and undone at the end.",
		Example: "  gorun primes --workers 50000 --lock-thread\n" +
			"  gorun primes --pin-cpus one-per-core --dispatch executor --workers 1000\n" +
			"  gorun primes --duration 10m --metrics-listen 127.0.0.1:9464",
		RunE: func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Uint64Var(&o.limit, "limit", 200_000, "count the primes up to this number")
	flags.IntVar(&o.workers, "workers", 0, "number of workers (0: one for each CPU of the run)")
	flags.StringVar(&o.method, "method", primes.Methods[0].Name, "`method`: "+catalog.List(primes.Methods))
	flags.StringVar(&o.kernel, "kernel", primes.Auto, "`kernel` of the method: auto takes the fastest that this CPU has")
	flags.StringVar(&o.split, "split", primes.Splits[0].Name, "how the numbers are dealt: "+catalog.List(primes.Splits))
	flags.StringVar(&o.dispatch, "dispatch", "goroutine", "goroutine: each worker is a goroutine; executor: one locked, pinned\n"+
		"thread a CPU takes the workers from a queue")
	flags.BoolVar(&o.serial, "serial", false, "run the workers one after another, without goroutines")
	o.placement.register(cmd, e)
	flags.IntVar(&o.gomaxprocs, "gomaxprocs", 0, "threads that run Go code at once (0: the runtime's choice)")
	flags.BoolVar(&o.barrier, "barrier", false, "hold all workers until all have started")
	flags.DurationVar(&o.duration, "duration", 0, "repeat the work until this time is over")
	flags.BoolVar(&o.detail, "workers-detail", false, "a row for each worker")
	o.sampling.register(cmd)
	o.machine.register(cmd, e)
	o.output.register(cmd)
	o.metrics.register(flags)
	completeWords(cmd, "method", catalog.Words(primes.Methods))
	completeWords(cmd, "split", catalog.Words(primes.Splits))
	completeWords(cmd, "dispatch", dispatches)
	_ = cmd.RegisterFlagCompletionFunc("kernel",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return primes.KernelWords(o.method), cobra.ShellCompDirectiveNoFileComp
		})
	return cmd
}

// primesSpec is what was asked, by flag name.
type primesSpec struct {
	Limit      uint64  `json:"limit"`
	Workers    int     `json:"workers"`
	Method     string  `json:"method"`
	Kernel     string  `json:"kernel"` // the one that ran
	Split      string  `json:"split"`
	Dispatch   string  `json:"dispatch"`
	Serial     bool    `json:"serial"`
	LockThread bool    `json:"lock_thread"`
	PinCPUs    string  `json:"pin_cpus"`
	PinThread  bool    `json:"pin_thread"`
	Nice       *int    `json:"nice"`
	Sched      string  `json:"sched"`
	GOMAXPROCS int     `json:"gomaxprocs"`
	Barrier    bool    `json:"barrier"`
	Duration   float64 `json:"duration_seconds"`
	CPUs       string  `json:"cpus"`
	Samples    int     `json:"samples"`
	Warmup     int     `json:"warmup"`
	Budget     float64 `json:"budget_seconds"`
}

// validate finds what no machine can do.
func (o *primesOptions) validate() error {
	if _, _, err := primes.Lookup(o.method, o.kernel); err != nil {
		return usageError{err}
	}
	if _, err := primes.LookupSplit(o.split); err != nil {
		return usageError{err}
	}
	if err := o.output.validate(o.machine); err != nil {
		return err
	}
	switch {
	case o.limit > primes.MaxLimit:
		return usagef("--limit %d: limits end at %d", o.limit, uint64(primes.MaxLimit))
	case o.workers < 0 || o.workers > primes.MaxWorkers:
		return usagef("--workers %d: from 1 to %d are possible", o.workers, primes.MaxWorkers)
	case o.dispatch != "goroutine" && o.dispatch != "executor":
		return usagef("unknown dispatch %q: there are goroutine, executor", o.dispatch)
	case o.gomaxprocs < 0 || o.gomaxprocs > math.MaxInt16:
		return usagef("--gomaxprocs %d: from 1 to %d are possible", o.gomaxprocs, math.MaxInt16)
	case o.duration < 0:
		return usagef("--duration %v: it cannot be negative", o.duration)
	case o.serial && o.dispatch == "executor":
		return usagef("--serial and --dispatch executor exclude each other")
	case o.barrier && (o.serial || o.dispatch == "executor"):
		return usageError{hint.With(
			errors.New("--barrier needs all workers alive at once"), "leave --serial and --dispatch executor away")}
	}
	if o.duration > 0 && !o.sampling.changed("budget") {
		o.sampling.budget = 0 // a time that was asked for is not cut
	}
	return errors.Join(o.sampling.validate(), o.metrics.validate())
}

// lay makes the plan, and fills in what depends on the machine.
func (o *primesOptions) lay(m machine) (placement.Plan, primes.Options, error) {
	policy, err := o.placement.policy(m)
	if err != nil {
		return placement.Plan{}, primes.Options{}, err
	}
	if o.workers == 0 {
		o.workers = m.cpus.Len()
	}
	plan, err := placement.NewPlan(policy, m.cpus, o.workers, o.dispatch == "executor")
	opts := primes.Options{
		Limit: o.limit, Method: o.method, Kernel: o.kernel, Workers: o.workers, Split: o.split,
		Serial: o.serial, Executor: o.dispatch == "executor", Barrier: o.barrier, Detail: o.detail,
	}
	if o.duration > 0 {
		opts.AtLeast = max(shortestSample, o.duration/mostSamples)
	}
	return plan, opts, err
}

// What a run with --duration keeps stays within a thousand samples or so, and ten a second.
const (
	shortestSample = 100 * time.Millisecond
	mostSamples    = 1000
)

func (o *primesOptions) spec(m machine, plan placement.Plan, kernel string) primesSpec {
	s := primesSpec{
		Limit: o.limit, Workers: o.workers, Method: o.method, Kernel: kernel, Split: o.split, Dispatch: o.dispatch,
		Serial: o.serial, LockThread: plan.Policy.Lock, PinCPUs: placement.List(plan.Policy.PinCPUs),
		PinThread: plan.Policy.PinThread, Nice: plan.Policy.Nice, Sched: o.placement.sched,
		GOMAXPROCS: runtime.GOMAXPROCS(0), Barrier: o.barrier, Duration: o.duration.Seconds(), CPUs: m.cpus.String(),
		Samples: o.sampling.samples, Warmup: o.sampling.warmup, Budget: o.sampling.budget.Seconds(),
	}
	return s
}

// dryRun is the plan as it is shown.
func (o *primesOptions) dryRun(m machine, plan placement.Plan) *result.Plan {
	_, kernel, _ := primes.Lookup(o.method, o.kernel) // validated
	p := &result.Plan{
		Schema: result.Schema, Tool: tool(), Experiment: "primes", Spec: o.spec(m, plan, kernel.Name),
		CPUs: m.cpus.String(), Placement: plan.String(), Workers: o.workers, Threads: o.threads(plan, m),
	}
	for _, share := range plan.Shares() {
		c, _ := m.CPU(share.CPU) // it was selected from this machine
		p.Shares = append(p.Shares, result.PlanShare{
			CPU: c.CPU, Core: c.Core, LLC: c.LLC, Node: c.Node, Workers: share.Workers,
		})
	}
	return p
}

// threads is how many threads run workers at once, or wait to.
func (o *primesOptions) threads(plan placement.Plan, m machine) int {
	switch {
	case plan.Executors != nil:
		return len(plan.Executors)
	case o.serial:
		return 1
	case o.barrier && plan.Policy.Lock:
		return o.workers
	case o.gomaxprocs > 0:
		return min(o.workers, o.gomaxprocs)
	}
	return min(o.workers, m.cpus.Len())
}

// info labels the metrics of the run.
func (o *primesOptions) info(plan placement.Plan, kernel string) metrics.Info {
	return metrics.Info{
		Experiment: "primes", Version: version, Method: o.method, Kernel: kernel, Dispatch: o.dispatch, Split: o.split,
		Placement: plan.String(),
	}
}

// progress is the line that is shown meanwhile.
func (o *primesOptions) progress() render.Progress {
	p := render.Progress{What: "primes", Duration: o.duration}
	if samples := uint64(o.sampling.samples + o.sampling.warmup); o.duration == 0 && o.limit <= math.MaxUint64/samples {
		p.Planned = o.limit * samples
	}
	return p
}

// prepare does all that needs no run.
func (o *primesOptions) prepare() (m machine, plan placement.Plan, opts primes.Options, err error) {
	if err = o.validate(); err != nil {
		return m, plan, opts, err
	}
	if m, err = o.machine.read(o.env); err != nil {
		return m, plan, opts, err
	}
	plan, opts, err = o.lay(m)
	return m, plan, opts, err
}

// planPrimes is what a command line with --dry-run would show.
func planPrimes(e env, args []string) (plan *result.Plan, err error) {
	cmd := newPrimes(e, func(_ context.Context, o *primesOptions) error {
		m, p, _, err := o.prepare()
		if err == nil {
			plan = o.dryRun(m, p)
		}
		return err
	})
	return plan, planBy(cmd, args)
}

func runPrimes(ctx context.Context, o *primesOptions) (err error) {
	m, plan, opts, err := o.prepare()
	if err != nil {
		return err
	}
	if o.output.dryRun {
		return render.Plan(o.env.stdout, o.dryRun(m, plan), o.output.format)
	}
	if err := enoughThreads(o.env, o.threads(plan, m)); err != nil {
		return err
	}
	s, err := openSession(o.env, m, "primes", o.gomaxprocs, o.threads(plan, m))
	if err != nil {
		return err
	}
	defer s.close(&err)
	pool, err := primes.Open(opts, plan, m.CPUs[len(m.CPUs)-1].CPU+1)
	if err != nil {
		return err
	}
	s.run.Spec = o.spec(m, plan, pool.Kernel())
	s.run.Seed = o.sampling.seed
	if err := s.start(o.output, o.metrics, ownSwitches(pool.Live), o.info(plan, pool.Kernel())); err != nil {
		return err
	}
	if err := s.measure(ctx, o.sampling, o.duration, o.output.quiet, o.progress(), pool.Run); err != nil {
		return err
	}
	s.run.Summary = result.Summarise(s.run.Samples)
	setting := primes.Setting{
		Opts: opts, PinCPUs: plan.Policy.PinCPUs, Leaks: plan.Policy.Leaks(), PinThread: plan.Policy.PinThread,
		CPUs: m.cpus.Len(), GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
	if sample := result.Typical(result.Good(s.run.Samples)); sample != nil {
		s.run.Findings = primes.Explain(setting, *sample)
	}
	return s.finish(ctx, o.output, o.metrics, o.sampling.strict)
}
