package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/launch"
	"gorun/internal/linux"
	"gorun/internal/matrix"
	"gorun/internal/measure"
	"gorun/internal/metrics"
	"gorun/internal/render"
	"gorun/internal/result"
)

// execOptions are the flags of `gorun exec`.
type execOptions struct {
	env     env
	machine machineFlags
	output  outputFlags

	placement  string
	nice       int
	sched      string
	mempolicy  string
	gomaxprocs int

	stat    bool
	timeout time.Duration
	metric  string
	better  string

	placements string
	design     []string // the names of the flags that say how placements are compared

	argv  []string
	flags *pflag.FlagSet
}

// keptOutput is how many bytes of the end of a command's output are kept, for its figure and its last words.
const keptOutput = 1 << 20

func newExec(e env, runF func(context.Context, *execOptions) error) *cobra.Command {
	o := &execOptions{env: e}
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARGS…]",
		Short: "Run a command of your own in a placement, or in all that can matter",
		Long: "The command runs with the CPUs, memory policy, scheduling policy, nice value and GOMAXPROCS that the flags ask\n" +
			"for, each read back before. gorun becomes the command, so that input, output, signals and exit code are its\n" +
			"own; with --stat it stays beside it, and prints on stderr what it used. Exit codes of gorun itself are those\n" +
			"of env(1): 125 the setting cannot be had, 126 the command cannot be run, 127 it was not found; 124 for --timeout.\n\n" +
			"--placements auto runs the command in every placement of this machine that can matter, in turns, and says\n" +
			"which is faster, by how much, and how to have it without gorun. gorun matrix exec compares other settings.",
		Example: "  gorun exec --placement one-llc -- sort -o /dev/null /etc/services\n" +
			"  gorun exec --cpus 0 --nice 5 --stat -- sleep 0.1\n" +
			"  gorun exec --placements auto --metric 'per second: *([0-9.]+)' --better higher -- sysbench cpu run",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.argv = args
			return runF(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.SetInterspersed(false) // what follows the command's name is its own
	flags.StringVar(&o.placement, "placement", "", "a `placement` by its name: "+strings.Join(launch.PlacementNames(), ", "))
	flags.StringVar(&o.mempolicy, "mempolicy", "", "memory `policy`: "+strings.Join(linux.MempolicyUsages(), ", "))
	flags.IntVar(&o.nice, "nice", 0, "nice value, -20 to 19")
	flags.StringVar(&o.sched, "sched", "", "scheduling `policy`: "+strings.Join(linux.PolicyUsages(), ", "))
	flags.Lookup("nice").DefValue = "" // without the flag nothing is set, which is not the same as 0
	flags.IntVar(&o.gomaxprocs, "gomaxprocs", 0, "GOMAXPROCS in the command's environment (0: as it is)")
	flags.DurationVar(&o.timeout, "timeout", 0, "end the command and all its descendants after this time (0: never)")
	flags.StringVar(&o.metric, "metric", "", "the command's own figure: a `regex` with one group, found in its output")
	flags.StringVar(&o.better, "better", "", "which of two figures is better: "+result.Lower+" or "+result.Higher)
	flags.BoolVar(&o.stat, "stat", false, "print on stderr what the command used")
	flags.StringVar(&o.placements, "placements", "",
		"compare these `placements`, by commas, with the first; auto: all that can matter here")
	o.machine.register(cmd, e)
	o.output.register(cmd)
	design := pflag.NewFlagSet("", pflag.ContinueOnError) // their values reach the matrix as they were written
	new(matrixOptions).registerDesign(design)
	new(metricsFlags).register(design)
	design.VisitAll(func(f *pflag.Flag) { o.design = append(o.design, f.Name) })
	flags.AddFlagSet(design)
	o.flags = flags
	completeWords(cmd, "placement", launch.PlacementUsages())
	completeWords(cmd, "placements", append([]string{"auto\tall that can matter here"}, launch.PlacementUsages()...))
	completeWords(cmd, "sched", linux.PolicyUsages())
	completeWords(cmd, "mempolicy", linux.MempolicyUsages())
	completeWords(cmd, "better", []string{result.Lower, result.Higher})
	return cmd
}

// execSpec is what was asked, by flag name.
type execSpec struct {
	Command    []string `json:"command"`
	CPUs       string   `json:"cpus"` // kernel list; "": as inherited
	Mempolicy  string   `json:"mempolicy,omitempty"`
	Nice       *int     `json:"nice,omitempty"`
	Sched      string   `json:"sched,omitempty"`
	GOMAXPROCS int      `json:"gomaxprocs,omitempty"`
	Timeout    float64  `json:"timeout_seconds,omitempty"`
	Metric     string   `json:"metric,omitempty"`
	Better     string   `json:"better,omitempty"`
}

func (o *execOptions) validate() error {
	if err := o.output.validate(o.machine); err != nil {
		return err
	}
	switch {
	case len(o.argv) == 0:
		return usageError{hint.With(errors.New("no command was given"), "gorun exec --cpus 0 -- COMMAND ARGS…")}
	case o.placements != "" && o.placement != "":
		return usagef("--placement and --placements exclude each other")
	case o.placement != "" && o.mempolicy != "":
		return usagef("--placement and --mempolicy exclude each other: a placement has its own")
	case o.gomaxprocs < 0:
		return usagef("--gomaxprocs %d: it cannot be negative", o.gomaxprocs)
	case o.timeout < 0:
		return usagef("--timeout %v: it cannot be negative", o.timeout)
	case o.metric != "" && o.better != result.Lower && o.better != result.Higher:
		return usageError{hint.With(errors.New("--metric does not say by itself which of two figures is better"),
			"add --better higher or --better lower")}
	case o.metric == "" && o.better != "":
		return usagef("--better is about a --metric, and there is none")
	}
	_, _, err := priority(o.flags.Changed, o.nice, o.sched)
	return err
}

// machineHere reads the machine, and the nodes that memory may come from; empty: all.
func (o *execOptions) machineHere() (m machine, mems cpuset.Set, err error) {
	if m, err = o.machine.read(o.env); err == nil && o.machine.sysroot == "" {
		mems, _ = linux.MemsAllowed() // what the kernel does not tell is no restriction
	}
	return m, mems, err
}

// place is where the flags put the command. Where none asks for CPUs, the machine is not even read: a command is to start
// at once.
func (o *execOptions) place() (p launch.Placement, err error) {
	if !o.flags.Changed("cpus") && !o.machine.ignoreAffinity && o.placement == "" {
		return p, nil
	}
	m, mems, err := o.machineHere()
	if err != nil {
		return p, err
	}
	if o.placement != "" {
		if p, err = launch.LookupPlacement(m.Machine, m.cpus, mems, o.placement); err != nil {
			return p, usageError{err}
		}
		return p, nil
	}
	if !m.cpus.Equal(m.Allowed()) {
		p.CPUs = m.cpus
	}
	return p, nil
}

// setting is what the flags come to.
func (o *execOptions) setting() (s launch.Setting, err error) {
	p, err := o.place()
	if err != nil {
		return s, err
	}
	s = p.Setting()
	if o.mempolicy != "" {
		if s.Mempolicy, s.Nodes, err = linux.ParseMempolicy(o.mempolicy); err != nil {
			return s, usageError{fmt.Errorf("--mempolicy %s: %w", o.mempolicy, err)}
		}
	}
	s.Nice, s.Sched, err = priority(o.flags.Changed, o.nice, o.sched)
	s.GOMAXPROCS = o.gomaxprocs
	return s, err
}

// request is what the options come to, with nobody who sees the command.
func (o *execOptions) request() (r launch.Request, err error) {
	if err := o.validate(); err != nil {
		return r, err
	}
	if r.Setting, err = o.setting(); err != nil {
		return r, err
	}
	r.Command = launch.Command{
		Self: o.env.self.In(o.env.environ()), Argv: o.argv, Timeout: o.timeout, Keep: keptOutput,
	}
	if o.metric != "" {
		metric, err := launch.ParseMetric(o.metric)
		if err != nil {
			return r, usageError{err}
		}
		r.Metric = &metric
	}
	return r, nil
}

func (o *execOptions) spec(r launch.Request) execSpec {
	spec := execSpec{
		Command: o.argv, CPUs: r.CPUs.String(), Mempolicy: r.MempolicyFlag(), Nice: r.Nice, GOMAXPROCS: r.GOMAXPROCS,
		Timeout: o.timeout.Seconds(), Metric: o.metric, Better: o.better,
	}
	if r.Sched != nil {
		spec.Sched = r.Sched.String()
	}
	return spec
}

func (o *execOptions) dryRun(r launch.Request) (*result.Plan, error) {
	p, err := o.place()
	if err != nil {
		return nil, err
	}
	lines := r.Lines()
	lines.Kubernetes = p.Kubernetes
	return &result.Plan{
		Schema: result.Schema, Tool: tool(), Experiment: "exec", Spec: o.spec(r), CPUs: r.CPUs.String(),
		Placement: r.Setting.String(), Lines: &lines,
	}, nil
}

// planExec is what a command line with --dry-run would show.
func planExec(e env, args []string) (plan *result.Plan, err error) {
	cmd := newExec(e, func(_ context.Context, o *execOptions) error {
		r, err := o.request()
		if err == nil {
			plan, err = o.dryRun(r)
		}
		return err
	})
	return plan, planBy(cmd, args)
}

func runExec(ctx context.Context, o *execOptions) error {
	if o.placements != "" {
		return o.sweep(ctx)
	}
	for _, name := range o.design {
		if o.flags.Changed(name) {
			return usageError{hint.With(fmt.Errorf("--%s is for comparing, and one command is run once", name),
				"add --placements auto, or use gorun matrix exec")}
		}
	}
	r, err := o.request()
	switch {
	case err != nil:
		return err
	case o.output.dryRun:
		plan, err := o.dryRun(r)
		if err != nil {
			return err
		}
		return render.Plan(o.env.stdout, plan, o.output.format)
	case !o.stat && o.timeout == 0 && o.metric == "" && o.output.out == "" && !o.flags.Changed("format"):
		return launch.Exec(r.Setting, r.Argv, r.Self.Env)
	}
	return o.watch(ctx, r)
}

// exitTimedOut is that of timeout(1).
const exitTimedOut = 124

// exitStatus is the exit code of a command that gorun stayed beside.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("the command ended with exit code %d", int(e)) }

// watch runs the command once, with everything passed through, and tells what it used.
func (o *execOptions) watch(ctx context.Context, r launch.Request) (err error) {
	m, _, err := o.machineHere()
	if err != nil {
		return err
	}
	e := o.env
	e.stdout, e.show = e.stderr, e.progress // stdout is the command's
	host, err := measure.ReadHost(e.root, m.Machine, e.environ())
	if err != nil {
		return err
	}
	s := &session{env: e, run: &result.Run{
		Command: commandLine(e.args),
		Schema:  result.Schema, Tool: tool(), Host: host, Experiment: "exec", Spec: o.spec(r),
		Started: e.now().UTC().Format(time.RFC3339Nano),
		Samples: []result.Sample{}, Findings: []result.Finding{}, Warnings: []result.Warning{},
	}}
	defer s.close(&err)
	if s.watcher, err = measure.OpenOutside(e.root, m.cpus); err != nil {
		return err
	}
	if err := s.start(o.output, metricsFlags{}, s.tally.worked, metrics.Info{Experiment: "exec", Version: version}); err != nil {
		return err
	}
	r.Stdin, r.Stdout, r.Stderr = os.Stdin, os.Stdout, os.Stderr
	r.Passed = true
	r.Migrations = o.stat || o.flags.Changed("format") || o.output.out != ""
	if r.Metric == nil {
		r.Keep = 0 // nothing stands between the command and its output
	}
	finish := s.watcher.Watch()
	// Signals are the command's: it decides whether they end it.
	sample, outcome, err := r.Measure(context.WithoutCancel(ctx), m.Machine)
	if err != nil {
		return err
	}
	if outcome.MovesWorse != nil {
		s.run.Warnings = append(s.run.Warnings, *outcome.MovesWorse)
	}
	finish(&sample)
	s.run.Samples = append(s.run.Samples, sample)
	if err := s.journal.Write(result.Line{Sample: &sample}); err != nil {
		return err
	}
	s.run.Summary = result.Summarise(s.run.Samples)
	output := o.output
	if !o.stat && o.metric == "" && !o.flags.Changed("format") {
		output.format = ""
	}
	if err := s.finish(ctx, output, metricsFlags{}, false); err != nil {
		return err
	}
	switch {
	case outcome.TimedOut:
		return exitStatus(exitTimedOut)
	case outcome.ExitCode != 0:
		return exitStatus(outcome.ExitCode)
	}
	return nil
}

// sweep is gorun matrix exec over placements: the same flags, and --placement with several values.
func (o *execOptions) sweep(ctx context.Context) error {
	if err := o.validate(); err != nil {
		return err
	}
	m, mems, err := o.machineHere()
	if err != nil {
		return err
	}
	names := o.placements
	if names == "auto" {
		var all []string
		for _, p := range launch.Placements(m.Machine, m.cpus, mems) {
			all = append(all, p.Name)
		}
		names = strings.Join(all, ",")
	}
	if !strings.Contains(names, ",") {
		return hint.With(fmt.Errorf("there is nothing to compare: on CPUs %s there is one placement, %s", m.cpus, names),
			"give more CPUs, or compare other settings by gorun matrix exec")
	}
	args := []string{"--placement=" + names}
	o.flags.Visit(func(f *pflag.Flag) {
		if f.Name != "placements" && f.Name != "stat" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	cmd := newMatrixOf(o.env, experimentNamed("exec"), runMatrix)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(append(args, "--"), o.argv...))
	return cmd.ExecuteContext(ctx)
}

// takeExec runs the command of a cell, with its output kept for its figure and for its last words.
func takeExec(e env) (take, error) {
	m, err := readMachine(e.root)
	if err != nil {
		return nil, err
	}
	watcher, err := measure.OpenOutside(e.root, m.Allowed())
	if err != nil {
		return nil, err
	}
	requests := map[string]launch.Request{} // by cell
	return func(ctx context.Context, cell result.Cell, warmup int) (result.Sample, []result.Warning) {
		r, known := requests[cell.Name]
		if !known {
			if r, err = requestOf(e, cell); err != nil {
				return matrix.InvalidSample(err), nil
			}
			requests[cell.Name] = r
		}
		for {
			finish := watcher.Watch()
			sample, outcome, err := r.Measure(ctx, m)
			if err != nil {
				return matrix.InvalidSample(err), nil
			}
			if warmup--; warmup >= 0 {
				continue
			}
			if failure := outcome.Failure(); failure != "" {
				sample.Doubts = append([]result.Doubt{{Verdict: result.Invalid, Reason: failure}}, sample.Doubts...)
			}
			finish(&sample)
			return sample, nil
		}
	}, nil
}

// requestOf is what a cell's command line comes to.
func requestOf(e env, cell result.Cell) (r launch.Request, err error) {
	cmd := newExec(e, func(_ context.Context, o *execOptions) (err error) {
		r, err = o.request()
		return err
	})
	return r, planBy(cmd, cell.Command[1:])
}
