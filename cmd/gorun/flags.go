package main

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gorun/internal/cgroup"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/placement"
	"gorun/internal/render"
	"gorun/internal/sysfs"
	"gorun/internal/topology"
)

// machineFlags say which machine, and which of its CPUs.
type machineFlags struct {
	cpus           string
	ignoreAffinity bool
	sysroot        string
}

func (f *machineFlags) register(cmd *cobra.Command, e env) {
	flags := cmd.Flags()
	flags.StringVar(&f.cpus, "cpus", "all", "CPUs of the run: a kernel `list` or selectors, joined by commas\n("+
		selectorNames()+")")
	flags.BoolVar(&f.ignoreAffinity, "ignore-affinity", false, "take CPUs outside the inherited affinity mask too")
	flags.StringVar(&f.sysroot, "sysroot", "", "plan for a captured machine: a `directory` or a .txtar (with --dry-run)")
	completeCPUs(cmd, e, "cpus")
	_ = cmd.MarkFlagFilename("sysroot", "txtar")
}

// machine is the machine of a run and the share of it that the run may use.
type machine struct {
	*topology.Machine
	cpus cpuset.Set // the CPUs of the run
}

// read reads the machine and selects the run's CPUs.
func (f *machineFlags) read(e env) (machine, error) {
	root, err := openRoot(e, f.sysroot)
	if err != nil {
		return machine{}, err
	}
	t, err := readMachine(root)
	if err != nil {
		return machine{}, err
	}
	within := t.Allowed()
	if f.ignoreAffinity {
		within = t.Online()
	}
	cpus, err := t.Select(f.cpus, within)
	if err != nil {
		return machine{}, usageError{fmt.Errorf("--cpus %s: %w", f.cpus, err)}
	}
	return machine{t, cpuset.Of(cpus...)}, nil
}

// openRoot opens the captured machine, or this one when there is none.
func openRoot(e env, sysroot string) (fs.FS, error) {
	if sysroot == "" {
		return e.root, nil
	}
	root, err := sysfs.OpenRoot(sysroot)
	if err != nil {
		return nil, usageError{fmt.Errorf("--sysroot: %w", err)}
	}
	return root, nil
}

// readMachine reads a machine, and the cpuset of the cgroup that gorun is in there.
func readMachine(root fs.FS) (*topology.Machine, error) {
	t, err := topology.Read(root)
	if err != nil && runtime.GOOS != "linux" {
		return nil, hint.With(fmt.Errorf("gorun measures Linux machines, and this is %s: %w", runtime.GOOS, err),
			"gorun topo and --dry-run read a captured Linux machine by --sysroot")
	}
	if err != nil {
		return nil, err
	}
	cpus, err := cgroup.ReadCPUs(root)
	if err != nil {
		return nil, err
	}
	t.SetCgroup(cpus)
	return t, nil
}

func selectorNames() string {
	names := make([]string, len(topology.Selectors))
	for i, s := range topology.Selectors {
		names[i] = s.String()
	}
	return strings.Join(names, ", ")
}

// placementFlags are the four placement modes of a worker, and its priority.
type placementFlags struct {
	lockThread bool
	pinCPUs    string
	pinThread  bool
	nice       int
	sched      string

	changed func(name string) bool
}

func (f *placementFlags) register(cmd *cobra.Command, e env) {
	flags := cmd.Flags()
	flags.BoolVar(&f.lockThread, "lock-thread", false, "lock each worker's goroutine to its thread")
	flags.StringVar(&f.pinCPUs, "pin-cpus", "",
		"pin worker i to the i-th CPU of the `list`, round and round; implies --lock-thread\n"+
			"(--lock-thread=false lets the mask leak with the thread, as the original did)")
	flags.BoolVar(&f.pinThread, "pin-thread", false, "pin each thread to the CPU it first runs a worker on")
	flags.IntVar(&f.nice, "nice", 0, "nice value of the workers' threads, -20 to 19")
	flags.StringVar(&f.sched, "sched", "",
		"scheduling `policy` of the workers' threads: "+strings.Join(linux.PolicyUsages(), ", "))
	flags.Lookup("nice").DefValue = "" // without the flag nothing is set, which is not the same as 0
	f.changed = flags.Changed
	completeCPUs(cmd, e, "pin-cpus")
	completeWords(cmd, "sched", linux.PolicyUsages())
}

// policy makes the placement policy.
func (f *placementFlags) policy(m machine) (placement.Policy, error) {
	p := placement.Policy{Lock: f.lockThread, PinThread: f.pinThread}
	if f.pinCPUs != "" {
		var err error
		if p.PinCPUs, err = m.Select(f.pinCPUs, m.cpus); err != nil {
			return p, usageError{fmt.Errorf("--pin-cpus %s: %w", f.pinCPUs, err)}
		}
		p.Lock = f.lockThread || !f.changed("lock-thread")
	}
	var err error
	p.Nice, p.Sched, err = priority(f.changed, f.nice, f.sched)
	return p, err
}

// priority returns what --nice and --sched ask for: nil where they were not given.
func priority(changed func(flag string) bool, nice int, sched string) (*int, *linux.Sched, error) {
	var policy *linux.Sched
	if sched != "" {
		parsed, err := linux.ParseSched(sched)
		if err != nil {
			return nil, nil, usageError{fmt.Errorf("--sched %s: %w", sched, err)}
		}
		policy = &parsed
	}
	if !changed("nice") {
		return nil, policy, nil
	}
	if err := linux.CheckNice(nice); err != nil {
		return nil, nil, usageError{fmt.Errorf("--nice %d: %w", nice, err)}
	}
	return &nice, policy, nil
}

// samplingFlags say how many samples are taken.
type samplingFlags struct {
	samples int
	warmup  int
	budget  time.Duration
	seed    uint64
	strict  bool

	changed func(name string) bool
}

// register gives cmd the flags; what f holds is their defaults.
func (f *samplingFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.samples, "samples", f.samples, "samples to take; a number given here is not cut by the default budget")
	flags.IntVar(&f.warmup, "warmup", f.warmup, "executions to drop first")
	flags.DurationVar(&f.budget, "budget", f.budget, "begin no sample after this time (0: no limit)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the order of samples, kept in the result")
	flags.BoolVar(&f.strict, "strict", false, "exit with code 3 when a sample is suspect or invalid")
	f.changed = flags.Changed
}

func (f *samplingFlags) validate() error {
	switch {
	case f.samples < 1:
		return usagef("--samples %d: at least 1 is needed", f.samples)
	case f.warmup < 0:
		return usagef("--warmup %d: it cannot be negative", f.warmup)
	case f.budget < 0:
		return usagef("--budget %v: it cannot be negative", f.budget)
	}
	if f.changed("samples") && !f.changed("budget") {
		f.budget = 0
	}
	return nil
}

// outputFlags say where the result goes.
type outputFlags struct {
	format string
	out    string
	quiet  bool
	dryRun bool
}

func (f *outputFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", render.Names()[0], formatUsage(render.Names()))
	flags.StringVar(&f.out, "out", "", "also write every raw sample to this `file`, a JSON line each, as it is taken")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress line")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the plan and stop")
	completeWords(cmd, "format", render.Names())
	_ = cmd.MarkFlagFilename("out", "jsonl")
}

// validate refuses a format that is not known, and a captured machine for anything but a plan.
func (f *outputFlags) validate(m machineFlags) error {
	formats := render.Names()
	if f.dryRun {
		formats = render.PlanFormats
	}
	if err := knownFormat(f.format, formats); err != nil {
		return err
	}
	if m.sysroot != "" && !f.dryRun {
		return usageError{hint.With(
			errors.New("--sysroot names a captured machine, which cannot run anything"), "add --dry-run")}
	}
	return nil
}

func formatUsage(names []string) string { return "output `format`: " + strings.Join(names, ", ") }

// knownFormat refuses a format that is not among the names.
func knownFormat(format string, names []string) error {
	if !slices.Contains(names, format) {
		return usagef("unknown format %q: there are %s", format, strings.Join(names, ", "))
	}
	return nil
}

// metricsFlags say where Prometheus finds the metrics.
type metricsFlags struct {
	listen   string
	linger   time.Duration
	textfile string
	push     string

	pushEvery time.Duration
	webConfig string
	changed   func(name string) bool
}

// leastPush keeps a run from being nothing but pushes.
const leastPush = time.Second

func (f *metricsFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "metrics-listen", "", "serve Prometheus metrics on this `address` during the run (127.0.0.1:9464)")
	flags.DurationVar(&f.linger, "metrics-linger", 0, "keep serving the metrics this long after the end")
	flags.StringVar(&f.textfile, "metrics-textfile", "", "write the metrics to this `file` (node_exporter's textfile collector)")
	flags.StringVar(&f.webConfig, "metrics-web-config", "",
		"serve with the TLS and the users of this `file` (Prometheus's web configuration)")
	flags.StringVar(&f.push, "metrics-push", "", "push the metrics to the Pushgateway at this `URL` at the end")
	flags.DurationVar(&f.pushEvery, "metrics-push-every", 0, "push them this often meanwhile too")
	f.changed = flags.Changed
	_ = cobra.MarkFlagFilename(flags, "metrics-web-config", "yml", "yaml")
}

func (f *metricsFlags) validate() error {
	if f.linger < 0 {
		return usagef("--metrics-linger %v: it cannot be negative", f.linger)
	}
	if f.linger > 0 && f.listen == "" {
		return usageError{hint.With(errors.New("--metrics-linger has nothing to serve"), "give --metrics-listen too")}
	}
	if f.webConfig != "" && f.listen == "" {
		return usageError{hint.With(errors.New("--metrics-web-config has nothing to serve"), "give --metrics-listen too")}
	}
	if f.changed("metrics-push-every") {
		switch {
		case f.push == "":
			return usageError{hint.With(errors.New("--metrics-push-every has nowhere to push to"), "give --metrics-push too")}
		case f.pushEvery < leastPush:
			return usagef("--metrics-push-every %v: at least %v is needed", f.pushEvery, leastPush)
		}
	}
	return nil
}

// completeWords completes a flag from a fixed list; a description may follow each word after a tab.
func completeWords(cmd *cobra.Command, flag string, words []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}
