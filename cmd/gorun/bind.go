package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"gorun/internal/bytesize"
	"gorun/internal/child"
	"gorun/internal/hint"
	"gorun/internal/matrix"
	"gorun/internal/measure"
	"gorun/internal/metrics"
	"gorun/internal/process"
	"gorun/internal/render"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// bindOptions are the flags of `gorun bind`.
type bindOptions struct {
	env     env
	machine machineFlags
	output  outputFlags
	metrics metricsFlags

	processes int
	checks    uint64
	array     string
	passes    uint64
	trials    int
	margin    share
	seed      uint64
	strict    bool
	svg       string

	changed func(name string) bool
}

const (
	bindProcesses = 20
	bindChecks    = 10_000
	bindTrials    = 10
	// bindSummed is how much a process adds up by default, in bytes: 13 to 40 ms at 20 to 6 GB/s. That is several time
	// slices (3 ms), so that where processes share a CPU their mean time does not hang on which of them went first.
	bindSummed = 256 << 20

	mostProcesses = 1 << 22 // PID_MAX_LIMIT (include/linux/threads.h)
	mostTrials    = 1000    // the signed ranks of more take seconds to count
)

func newBind(e env, runF func(context.Context, *bindOptions) error) *cobra.Command {
	o := &bindOptions{env: e, margin: matrixMargin}
	cmd := &cobra.Command{
		Use:   "bind",
		Short: "Measure processes that are bound to CPUs against the same unbound",
		Long: "In a trial, --processes start together. Each looks --checks times on which CPU it is, and then adds up an\n" +
			"array of its own. Bound, process i has CPU i mod n of the n CPUs; unbound, all may use all. One trial of each\n" +
			"two is bound, and which one comes first is left to chance. What is compared is the mean time of the sums.",
		Example: "  gorun bind\n" +
			"  gorun bind --processes 4 --cpus one-per-core --array 256KiB --trials 30\n" +
			"  gorun bind --dry-run",
		RunE: func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&o.processes, "processes", bindProcesses, "processes of a trial")
	flags.Uint64Var(&o.checks, "checks", bindChecks, "how often each looks on which CPU it is")
	flags.StringVar(&o.array, "array", "", "`size` of the array of each process (default: an L2 of the first CPU, or "+
		bytesize.Format(process.UnknownL2)+" where that is not known)")
	flags.Uint64Var(&o.passes, "passes", 0, "how often each adds its array up (default: as often as makes "+
		bytesize.Format(bindSummed)+")")
	flags.IntVar(&o.trials, "trials", bindTrials, "trials bound, and as many unbound")
	flags.Var(&o.margin, "margin", "a difference up to this is none")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the order of trials, kept in the result")
	flags.BoolVar(&o.strict, "strict", false, "exit with code 3 when a sample is suspect or invalid")
	flags.StringVar(&o.svg, "svg", "", "draw the table into this `file`")
	flags.Lookup("passes").DefValue = ""
	o.machine.register(cmd, e)
	o.output.register(cmd)
	o.metrics.register(flags)
	o.changed = flags.Changed
	_ = cmd.MarkFlagFilename("svg", "svg")
	return cmd
}

// bindSpec is what was asked, by flag name.
type bindSpec struct {
	Processes  int    `json:"processes"`
	Checks     uint64 `json:"checks"`
	ArrayBytes uint64 `json:"array_bytes"`
	Passes     uint64 `json:"passes"`
	Trials     int    `json:"trials"`
	CPUs       string `json:"cpus"`
}

func (o *bindOptions) validate() error {
	if err := o.output.validate(o.machine); err != nil {
		return err
	}
	switch {
	case o.processes < 1:
		return usagef("--processes %d: at least 1 is needed", o.processes)
	case o.processes > mostProcesses:
		return usagef("--processes %d: Linux has no more than %d process IDs", o.processes, mostProcesses)
	case o.checks < 1:
		return usagef("--checks 0: at least 1 is needed")
	case o.changed("passes") && o.passes < 1:
		return usagef("--passes 0: at least 1 is needed")
	case o.trials < 1 || o.trials > mostTrials:
		return usagef("--trials %d: from 1 to %d are possible", o.trials, mostTrials)
	}
	return o.metrics.validate()
}

// prepare does all that needs no run.
func (o *bindOptions) prepare() (m machine, spec bindSpec, err error) {
	if err = o.validate(); err != nil {
		return m, spec, err
	}
	if m, err = o.machine.read(o.env); err != nil {
		return m, spec, err
	}
	spec = bindSpec{
		Processes: o.processes, Checks: o.checks, Passes: o.passes, Trials: o.trials, CPUs: m.cpus.String(),
	}
	if spec.ArrayBytes, err = o.arrayBytes(m); err != nil {
		return m, spec, err
	}
	if spec.Passes == 0 {
		spec.Passes = max(1, bindSummed/spec.ArrayBytes)
	}
	if spec.Passes > math.MaxInt64/spec.ArrayBytes {
		return m, spec, usageError{hint.With(fmt.Errorf("--passes %d over %d bytes would never end", spec.Passes,
			spec.ArrayBytes), "give fewer --passes")}
	}
	return m, spec, nil
}

// arrayBytes is the size that was asked for, or of an L2.
func (o *bindOptions) arrayBytes(m machine) (uint64, error) {
	if o.array != "" {
		sizes, err := bytesize.ParseList(o.array)
		if err == nil && len(sizes) != 1 {
			err = errors.New("one size is needed")
		}
		if err != nil {
			return 0, usageError{hint.With(fmt.Errorf("--array %s: %w", o.array, err), hint.Of(err))}
		}
		return sizes[0], nil
	}
	root, err := openRoot(o.env, o.machine.sysroot)
	if err != nil {
		return 0, err
	}
	return process.ReadL2(root, m.cpus.First())
}

const bindPlaced = "process i on CPU i mod n of the n CPUs, against none"

func (o *bindOptions) dryRun(m machine, spec bindSpec) *result.Plan {
	bind := &result.PlanBind{CPUs: make([]int, spec.Processes), Order: process.BindOrder(spec.Trials, o.seed)}
	cpus := m.cpus.List()
	for i := range bind.CPUs {
		bind.CPUs[i] = process.BindCPU(cpus, i)
	}
	return &result.Plan{
		Schema: result.Schema, Tool: tool(), Experiment: "bind", Spec: spec, CPUs: m.cpus.String(), Placement: bindPlaced,
		Bind: bind,
	}
}

// design is the run without samples.
func (o *bindOptions) design(m machine, spec bindSpec) *result.Run {
	run := &result.Run{
		Command: commandLine(o.env.args),
		Schema:  result.Schema, Tool: tool(), Experiment: "bind", Spec: spec, Seed: o.seed,
		Started: o.env.now().UTC().Format(time.RFC3339Nano),
		Matrix: &result.Matrix{
			Title: "Processes bound to CPUs", Baseline: process.Unbound, Alpha: matrixAlpha, Margin: float64(o.margin),
			Precision: matrixPrecision, Rounds: spec.Trials,
			Order: result.Order{
				Design: result.Pairs,
				Method: "pairs of a bound and an unbound trial, the order within each left to chance; what is compared of a" +
					" trial is the mean time of its processes' sums; no control",
				BlockCells: 2,
			},
		},
		Samples: []result.Sample{}, Findings: []result.Finding{}, Warnings: []result.Warning{},
	}
	first := []int{process.Unbound, process.Bound}
	if process.BindOrder(1, o.seed)[0] {
		first = []int{process.Bound, process.Unbound}
	}
	run.Matrix.Order.First = [][]int{first}
	command := []string{
		"bind", "--processes", strconv.Itoa(spec.Processes), "--checks", strconv.FormatUint(spec.Checks, 10),
		"--array", bytesize.Format(spec.ArrayBytes), "--passes", strconv.FormatUint(spec.Passes, 10), "--trials", "1",
		"--cpus", spec.CPUs,
	}
	cpus := map[string]result.CPUs{"cpus": matrix.DescribeCPUs(m.Machine, m.cpus.List())}
	for _, name := range []string{process.Unbound: "unbound", process.Bound: "bound"} {
		run.Cells = append(run.Cells, result.Cell{
			Name: name, Flags: map[string]string{"placement": name}, CPUs: cpus, Command: command,
		})
	}
	return run
}

func runBind(ctx context.Context, o *bindOptions) (err error) {
	m, spec, err := o.prepare()
	if err != nil {
		return err
	}
	if o.output.dryRun {
		return render.Plan(o.env.stdout, o.dryRun(m, spec), o.output.format)
	}
	if err := enoughProcesses(o.env, spec.Processes, spec.ArrayBytes); err != nil {
		return hint.With(err, hint.Of(err)+"; or give fewer --processes, or a smaller --array")
	}
	s := &session{env: o.env, run: o.design(m, spec)}
	defer s.close(&err)
	if s.run.Host, err = measure.ReadHost(o.env.root, m.Machine, o.env.environ()); err != nil {
		return err
	}
	if s.watcher, err = measure.OpenOutside(o.env.root, m.cpus); err != nil {
		return err
	}
	draw, err := s.openSVG(o.svg, render.BindSVG)
	if err != nil {
		return err
	}
	s.tally.cpus = m.cpus.Len()
	info := metrics.Info{Experiment: "bind", Version: version, Placement: bindPlaced}
	if err := s.start(o.output, o.metrics, s.tally.worked, info); err != nil {
		return err
	}
	s.tally.plan(result.Course{Samples: 2 * spec.Trials * spec.Processes}, 0)
	if err := s.bindTrials(ctx, o, m, spec); err != nil {
		return err
	}
	if err := matrix.Judge(s.run); err != nil {
		return err
	}
	s.run.Findings = process.Deviations(s.run.Samples)
	if err := draw(); err != nil {
		return err
	}
	return s.finish(ctx, o.output, o.metrics, o.strict)
}

// bindTrials takes all trials, the samples of each being stored as it ends. Of one that is interrupted, the samples are
// partial.
func (s *session) bindTrials(ctx context.Context, o *bindOptions, m machine, spec bindSpec) error {
	self := s.env.self.In(s.env.environ())
	request := process.BindRequest{
		Processes: spec.Processes, CPUs: m.cpus.List(), Checks: spec.Checks, ArrayBytes: spec.ArrayBytes,
		Passes: spec.Passes,
	}
	var running atomic.Int64
	if !o.output.quiet {
		progress := term.Progress{What: "bind", Live: s.live, Now: func() string {
			return fmt.Sprintf("trial %d of %d", running.Load()+1, 2*spec.Trials)
		}}
		defer progress.Start(s.env.stderr, s.env.progress)()
	}
	begun := s.env.now()
	for i, bound := range process.BindOrder(spec.Trials, o.seed) {
		running.Store(int64(i))
		request.Trial, request.Bound = i/2, bound
		samples, err := s.bindTrial(ctx, self, request)
		if err != nil && ctx.Err() == nil {
			return err
		}
		for _, sample := range samples {
			sample.Index = len(s.run.Samples)
			sample.Slot = &result.Slot{Cell: process.Unbound, Round: i / 2, Elapsed: s.env.now().Sub(begun).Seconds()}
			if bound {
				sample.Cell = process.Bound
			}
			s.run.Samples = append(s.run.Samples, sample)
			s.tally.add(sample)
			if err := s.journal.Write(result.Line{Sample: &sample}); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			s.run.Partial = true
			return nil
		}
	}
	return nil
}

// bindTrial takes one trial. What disturbed it is on each of its samples.
func (s *session) bindTrial(ctx context.Context, self child.Self, r process.BindRequest) ([]result.Sample, error) {
	finish := s.watcher.Watch()
	samples, err := process.MeasureBind(ctx, self, r)
	if err != nil {
		return nil, err
	}
	trial := result.Sample{Placement: result.Placement{Verified: true}}
	finish(&trial)
	for i := range samples {
		samples[i].Quality.Signals = trial.Quality.Signals
		measure.Judge(&samples[i], s.run.Cells[process.Bound].CPUs["cpus"].Count)
	}
	return samples, nil
}
