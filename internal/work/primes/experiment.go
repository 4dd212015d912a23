package primes

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"time"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// Experiment is `gorun primes`.
var Experiment = experiment.Define(experiment.Definition[Cell]{
	Text: experiment.Text{
		Name:     "primes",
		Short:    "Count primes with a pool of workers in a given placement",
		Question: "How long does it take to count these primes, and what limits it?",
		Long: "A pool of workers counts the primes from 1 to --limit. Each worker is a goroutine: it floats, or keeps its\n" +
			"thread (--lock-thread), or keeps its thread and its CPU (--pin-cpus); or threads keep their CPU and goroutines\n" +
			"move between them (--pin-thread). The placement is read back from the kernel, and undone at the end.",
		Example: "  gorun primes --workers 50000 --lock-thread\n" +
			"  gorun primes --pin-cpus one-per-core --dispatch executor --workers 1000\n" +
			"  gorun primes --duration 10m --metrics-listen 127.0.0.1:9464",
		Matrix: "  gorun matrix primes --workers 2,2000 --lock-thread=false,true\n" +
			"  gorun matrix primes --pin-cpus 'share:1/2 all' --dispatch goroutine,executor --out run.jsonl\n" +
			"  gorun matrix primes --preset quick",
	},
	Traits: experiment.Traits{
		Sampling:    experiment.Sampling{Samples: 5, Warmup: 1, Budget: 5},
		Place:       experiment.Here,
		SharedFlags: []string{"duration", "workers-detail"},
		AlsoJudged:  column.List{column.CPU},
		Scaling:     matrix.Scaling{"gomaxprocs": false},
		Columns:     columns,
		Count:       count,
		View:        &experiment.View{Options: []string{"limit", "workers", "method", "kernel", "split", "dispatch", "gomaxprocs"}},
	},
	New: func() experiment.Flags[Cell] { return &flags{} },
	Open: func(_ experiment.Environment, cells []Cell) (experiment.Sampler[Cell], error) {
		pool, err := Open(cells[0].PoolOptions, cells[0].Plan, cells[0].CPULimit)
		return sampler{pool}, err
	},
	Explain: explain,
})

// defaultLimit is where counting ends unless it is asked for.
const defaultLimit = 200_000

// Cell holds the settings of one cell.
type Cell struct {
	PoolOptions
	Plan       placement.Assignment `json:"plan"`
	CPULimit   int                  `json:"cpu_limit"` // the machine's highest CPU number plus one
	GOMAXPROCS int                  `json:"gomaxprocs"`
}

// cpuLimit returns a machine's highest CPU number plus one.
func cpuLimit(m experiment.Machine) int { return m.Machine.CPUs[len(m.Machine.CPUs)-1].CPU + 1 }

// flags are the flags of `gorun primes`.
type flags struct {
	limit      uint64
	workers    int
	method     string
	kernel     string
	split      string
	dispatch   string
	serial     bool
	lockThread bool
	pinCPUs    string
	pinThread  bool
	nice       *int
	sched      *linux.Sched
	gomaxprocs int
	barrier    bool
	duration   time.Duration
	detail     bool

	given func(name string) bool
}

// dispatches lists the ways in which workers get their threads, the default first.
var dispatches = []string{
	"goroutine\teach worker is a goroutine",
	"executor\tone locked, pinned thread per CPU takes workers from a queue",
}

func (f *flags) Register(set *experiment.FlagSet) {
	set.Uint64Var(&f.limit, "limit", defaultLimit, "count the primes up to this number")
	set.IntVar(&f.workers, "workers", 0, "number of workers (0: one for each CPU of the run)")
	set.Choice(&f.method, "method", Methods[0].Name, "`method`: "+catalog.List(Methods), catalog.Completions(Methods))
	set.StringVar(&f.kernel, "kernel", Auto, "`kernel` of the method: auto takes the fastest that this CPU has")
	set.Choice(&f.split, "split", Splits[0].Name, "how the numbers are divided among the workers: "+catalog.List(Splits), catalog.Completions(Splits))
	set.Choice(&f.dispatch, "dispatch", "goroutine", "goroutine: each worker is a goroutine; executor: one locked, pinned\n"+
		"thread per CPU takes the workers from a queue", dispatches)
	set.BoolVar(&f.serial, "serial", false, "run the workers one after another, without goroutines")
	set.BoolVar(&f.lockThread, "lock-thread", false, "lock each worker's goroutine to its thread")
	set.StringVar(&f.pinCPUs, "pin-cpus", experiment.NoCPUs,
		"pin worker i to the i-th CPU of the `list`, round robin; implies --lock-thread\n"+
			"(--lock-thread=false lets the mask leak with the thread, as the original did)")
	set.BoolVar(&f.pinThread, "pin-thread", false, "pin each thread to the CPU it first runs a worker on")
	set.Nice(&f.nice, " of the workers' threads")
	set.Sched(&f.sched, " of the workers' threads")
	set.IntVar(&f.gomaxprocs, "gomaxprocs", 0, "threads that run Go code at once (0: the runtime's choice)")
	set.BoolVar(&f.barrier, "barrier", false, "hold all workers until all have started")
	set.DurationVar(&f.duration, "duration", 0, "repeat the work until this time is over")
	set.BoolVar(&f.detail, "workers-detail", false, "keep a row for each worker, with its thread, nice value, policy and CPU")
	set.Group("Placement", "lock-thread", "pin-cpus", "pin-thread", "nice", "sched", "gomaxprocs")
	set.Group("Work")
	set.CPUList("pin-cpus")
	set.WordsOf("kernel", func() []string { return KernelWords(f.method) })
	experiment.Bound(set, &f.limit, "limit", 0, MaxLimit)
	experiment.Bound(set, &f.workers, "workers", 0, MaxWorkers)
	experiment.Bound(set, &f.gomaxprocs, "gomaxprocs", 0, math.MaxInt16)
	experiment.Bound(set, &f.duration, "duration", 0, math.MaxInt64)
	f.given = set.Changed
}

func (f *flags) Validate() error {
	if _, err := Lookup(f.method, f.kernel); err != nil {
		return hint.Flag("kernel", f.kernel, err)
	}
	switch {
	case f.serial && f.dispatch == "executor":
		return hint.Usagef("--serial and --dispatch executor exclude each other")
	case f.barrier && (f.serial || f.dispatch == "executor"):
		return hint.Usage(hint.With(
			errors.New("--barrier needs all workers to run at the same time"), "leave out --serial and --dispatch executor"))
	}
	return nil
}

// policy returns the requested placement of every worker.
func (f *flags) policy(m experiment.Machine) (p placement.Policy, err error) {
	p = placement.Policy{Lock: f.lockThread, PinThread: f.pinThread, Nice: f.nice, Sched: f.sched}
	if f.pinCPUs != experiment.NoCPUs {
		if p.PinCPUs, err = m.Select(f.pinCPUs, m.CPUs); err != nil {
			return p, hint.Flag("pin-cpus", f.pinCPUs, err)
		}
		p.Lock = f.lockThread || !f.given("lock-thread")
	}
	return p, nil
}

// A run with --duration keeps at most about a thousand samples, and ten per second.
const (
	shortestSample = 100 * time.Millisecond
	mostSamples    = 1000
)

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	policy, err := f.policy(m)
	if err != nil {
		return r, err
	}
	workers := cmp.Or(f.workers, m.CPUs.Len())
	plan := placement.Assign(policy, m.CPUs, workers, f.dispatch == "executor")
	kernel, _ := Lookup(f.method, f.kernel) // Validate has looked it up
	split, _ := LookupSplit(f.split)        // a choice
	if split.Faulty {
		r.Warnings = append(r.Warnings, result.Warning{
			Code:    "faulty-split",
			Message: "--split " + split.Name + " is faulty on purpose: each worker skips its last number, so its times are too short",
			Hint:    "compare it with --split " + Splits[0].Name + ", which skips none",
		})
	}
	c := Cell{
		PoolOptions: PoolOptions{
			Limit: f.limit, Method: f.method, Kernel: f.kernel, Workers: workers, Split: f.split, Serial: f.serial,
			Executor: f.dispatch == "executor", Barrier: f.barrier, Detail: f.detail,
		},
		Plan: plan, CPULimit: cpuLimit(m), GOMAXPROCS: f.gomaxprocs,
	}
	if f.duration > 0 {
		c.AtLeast = max(shortestSample, f.duration/mostSamples)
	}
	procs := f.gomaxprocs
	if procs == 0 {
		procs = runtime.GOMAXPROCS(0)
		if !m.CPUs.Equal(m.Allowed()) {
			procs = m.CPUs.Len()
		}
	}
	r.Cells = []experiment.Cell[Cell]{{Do: c, Row: experiment.Row{AtOnce: f.atOnce(plan, m.CPUs.Len())}}}
	requested := &spec{
		Limit: f.limit, Workers: workers, Method: f.method, Kernel: kernel.Name, Split: f.split, Dispatch: f.dispatch,
		Serial: f.serial, LockThread: policy.Lock, PinCPUs: cpuset.FormatList(policy.PinCPUs), PinThread: policy.PinThread,
		Nice: f.nice, GOMAXPROCS: procs, Barrier: f.barrier, Duration: f.duration.Seconds(),
		SamplingSpec: experiment.SamplingSpec{CPUs: m.CPUs.String()},
	}
	if f.sched != nil {
		requested.Sched = f.sched.String()
	}
	r.Spec, r.Placement = requested, plan.String()
	r.Labels = experiment.Labels{Method: f.method, Kernel: kernel.Name, Dispatch: f.dispatch, Split: f.split}
	r.Schedule.Duration = f.duration.Seconds()
	r.Resources = experiment.Resources{Threads: f.threads(plan, m.CPUs.Len()), GOMAXPROCS: f.gomaxprocs}
	r.Resources.Bytes, r.Resources.Less = f.bytes(workers), "give fewer --workers"
	if f.duration == 0 {
		r.Resources.Numbers = split.numbers(f.limit, workers)
	}
	r.Plan = func(p *result.Plan) {
		p.Workers = workers
		for _, share := range plan.Shares() {
			cpu, _ := m.CPU(share.CPU) // it was selected from this machine
			p.Shares = append(p.Shares, result.PlanShare{
				CPU: cpu.CPU, Core: cpu.Core, LLC: cpu.LLC, Node: cpu.Node, Workers: share.Workers,
			})
		}
	}
	return r, nil
}

// Memory of a worker, in bytes, measured as the growth of VmHWM from one to two million workers (Linux 6.18, Go 1.26,
// amd64): its record, its row of details, and its goroutine if all run at the same time.
const (
	workerBytes    = 160
	detailBytes    = 110
	goroutineBytes = 2700
)

// bytes returns the memory that the workers take, in bytes.
func (f *flags) bytes(workers int) uint64 {
	each := uint64(workerBytes)
	if f.detail {
		each += detailBytes
	}
	if f.barrier {
		each += goroutineBytes
	}
	return each * uint64(workers)
}

// atOnce returns the number of CPUs that the workers can use at the same time; 0 for all.
func (f *flags) atOnce(plan placement.Assignment, cpus int) int {
	at := plan.Workers
	if f.serial {
		at = 1
	}
	if at >= cpus {
		return 0
	}
	return at
}

// threads returns the number of threads that run workers or wait to run one.
func (f *flags) threads(plan placement.Assignment, cpus int) int {
	switch {
	case plan.Executors != nil:
		return len(plan.Executors)
	case f.serial:
		return 1
	case f.barrier && plan.Policy.Lock:
		return plan.Workers
	case f.gomaxprocs > 0:
		return min(plan.Workers, f.gomaxprocs)
	}
	return min(plan.Workers, cpus)
}

// spec holds the requested values by flag name.
type spec struct {
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
	experiment.SamplingSpec
}

// sampler takes samples with one pool.
type sampler struct{ *Pool }

func (s sampler) Sample(ctx context.Context, _ Cell) (result.Sample, error) { return s.Run(ctx) }
func (s sampler) Close() error                                              { return nil }

// explain adds findings on what limited the run, from its typical sample.
func explain(run *result.Run, cells []Cell) {
	sample := result.Typical(result.Good(run.Samples))
	if run.Matrix != nil || sample == nil {
		return
	}
	c := cells[0]
	c.GOMAXPROCS = runtime.GOMAXPROCS(0)
	run.Findings = causes(c, *sample)
}
