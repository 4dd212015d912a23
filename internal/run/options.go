package run

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/matrix"
	"gorun/internal/output"
	"gorun/internal/render"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// cpuFlags say which CPUs a cell may use. They are axes of a matrix.
type cpuFlags struct {
	cpus           string
	ignoreAffinity bool
}

func (f *cpuFlags) register(flags *experiment.FlagSet) {
	flags.StringVar(&f.cpus, "cpus", "all", "CPUs of the run: a kernel `list` or selectors, joined by commas\n("+
		selectorNames()+")")
	flags.BoolVar(&f.ignoreAffinity, "ignore-affinity", false, "take CPUs outside the inherited affinity mask too")
	flags.CPUList("cpus")
	flags.Group(experiment.GroupCPUs)
}

func selectorNames() string {
	names := make([]string, len(topology.Selectors))
	for i, s := range topology.Selectors {
		names[i] = s.String()
	}
	return strings.Join(names, ", ")
}

// Options are the flags of a run, whatever runs.
type Options struct {
	resultFlags
	metricsFlags
	sysroot string
	samples int // of each cell
	warmup  int
	budget  time.Duration
	seed    uint64
	drawn   bool // the seed, which nobody gave
	strict  bool
	svg     string

	// Of runs that compare cells.
	precision share
	margin    share
	resume    bool
	backup    bool
	resumes   bool // --resume is a flag of the run

	changed  func(name string) bool // reports whether a flag was given
	has      func(name string) bool // reports whether there is such a flag
	budgeted bool                   // the budget was asked for, and is not the default
}

// What a run writes, in addition to its result.
func (o *Options) journal() output.Named { return output.Named{Flag: "out", Path: o.out} }
func (o *Options) picture() output.Named { return output.Named{Flag: "svg", Path: o.svg} }
func (f *metricsFlags) textfileOutput() output.Named {
	return output.Named{Flag: "metrics-textfile", Path: f.textfile}
}

// Defaults of what is compared.
const (
	defaultBudget    = time.Minute
	defaultPrecision = 0.02
	defaultMargin    = 0.02
	defaultAlpha     = 0.05
)

// mostSamples is far more than any run takes, and so few that their number over all cells is a number still.
const mostSamples = 1_000_000_000

// share is a part of 1, written as 2% or as 0.02.
type share float64

func (s *share) Set(text string) error {
	v, err := matrix.ParseFraction(text)
	*s = share(v)
	return err
}

func (s *share) String() string { return strconv.FormatFloat(100*float64(*s), 'g', 6, 64) + "%" }
func (s *share) Type() string   { return "share" }

// resultFlags say where the result goes.
type resultFlags struct {
	format string
	out    string
	quiet  bool
	dryRun bool
}

func (f *resultFlags) register(flags *experiment.FlagSet) {
	flags.StringVar(&f.format, "format", render.Names()[0], FormatUsage(render.Names()))
	flags.StringVar(&f.out, "out", "", "also write every raw sample to this `file`, a JSON line each, as it is taken")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress line")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the plan and stop")
	flags.Words("format", render.Names())
	flags.Files("out", "jsonl")
	flags.Group(experiment.GroupOutput)
}

// FormatUsage is the usage of --format.
func FormatUsage(names []string) string { return "output `format`: " + strings.Join(names, ", ") }

// KnownFormat refuses a format that is not among the names.
func KnownFormat(format string, names []string) error {
	if !slices.Contains(names, format) {
		return hint.Flag("format", format, fmt.Errorf("unknown format: there are %s", strings.Join(names, ", ")))
	}
	return nil
}

// registerPlain adds the flags of a plain run of an experiment, with its defaults.
func (o *Options) registerPlain(flags *experiment.FlagSet, x experiment.Experiment) {
	o.samples, o.warmup = x.Sampling.Samples, x.Sampling.Warmup
	o.budget = time.Duration(x.Sampling.Budget * float64(time.Second))
	o.precision, o.margin = defaultPrecision, defaultMargin
	if x.Sampling.Compares {
		if !x.Sampling.Fixed {
			flags.Var(&o.precision, "precision", "width of the interval at which a cell has been sampled enough; given without\n"+
				"--samples, rounds go on until all cells have, or the budget is over")
		}
		flags.Var(&o.margin, "margin", "a difference up to this is none")
	}
	if x.Picture != nil {
		flags.StringVar(&o.svg, "svg", "", x.Picture.Usage)
		flags.Files("svg", "svg")
	}
	if !x.Sampling.Fixed {
		flags.IntVarP(&o.samples, "samples", "r", o.samples, "samples to take; a number given here is not cut by the default budget")
		flags.IntVarP(&o.warmup, "warmup", "w", o.warmup, "executions to drop first")
		flags.DurationVar(&o.budget, "budget", o.budget, "begin no sample after this time; given here, it also cuts the\n"+
			"sample in progress (0: no limit)")
	}
	o.registerOrder(flags)
	for name, usage := range x.Sampling.Usage {
		flags.Lookup(name).Usage = usage
	}
	flags.Group(experiment.GroupSamples)
}

// registerOrder adds the flags of every run that takes samples in an order.
func (o *Options) registerOrder(flags *experiment.FlagSet) {
	flags.Uint64Var(&o.seed, "seed", 0, "`number` that the order of samples follows from (default: drawn at random,\n"+
		"and kept in the result)")
	flags.BoolVar(&o.strict, "strict", false, "exit with code 3 when a sample is suspect or invalid")
}

// settleSeed draws a seed where none is given. A run that goes on has that of its journal: what keeps the journal from
// being read is reported when it is opened. A drawn seed has 32 bits, so that it is short to type, and exact in readers
// of JSON that have floating-point numbers only.
func (o *Options) settleSeed(given bool) {
	if given || o.changed("seed") {
		return
	}
	o.seed, o.drawn = uint64(rand.Uint32()), true
	if !o.resume {
		return
	}
	if header, err := result.ReadHeader(o.out); err == nil {
		o.seed = header.Seed
	}
}

// registerRest adds the flags that every run has, after the CPUs.
func (o *Options) registerRest(flags *experiment.FlagSet) {
	flags.StringVar(&o.sysroot, "sysroot", "", "plan for a captured machine: a `directory` or a .txtar (with --dry-run)")
	flags.Files("sysroot", "txtar")
	flags.Group(experiment.GroupCPUs)
	o.resultFlags.register(flags)
	o.metricsFlags.register(flags)
	o.changed = flags.Changed
	o.has = func(name string) bool { return flags.Lookup(name) != nil }
}

// registerDesign adds the flags that say how the cells of a matrix are compared.
func (o *Options) registerDesign(flags *experiment.FlagSet) {
	o.precision, o.margin, o.resumes = defaultPrecision, defaultMargin, true
	flags.IntVarP(&o.samples, "samples", "r", 0, "samples of each cell (0: until the differences are known)")
	flags.IntVarP(&o.warmup, "warmup", "w", -1, "executions that each process drops first (-1: as many as a pilot finds are needed)")
	flags.DurationVar(&o.budget, "budget", defaultBudget, "begin no round that would not end within this time; given here,\n"+
		"it also cuts gorun's own work in progress (0: no limit)")
	flags.Var(&o.precision, "precision", "width of the interval at which a cell has been sampled enough")
	flags.Var(&o.margin, "margin", "a difference up to this is none")
	o.registerOrder(flags)
	flags.BoolVar(&o.resume, "resume", false, "go on from the journal that --out names")
	flags.BoolVar(&o.backup, "backup", false, "rename a journal that --out names and that does not go on to\n"+
		"FILE-COMMIT.jsonl, by the commit of the gorun that wrote it, and compare the two runs at the end")
	flags.Group(experiment.GroupSamples)
}

// validate refuses what no run can do. least is the lowest number of samples and of warm-ups.
func (o *Options) validate(leastSamples, leastWarmup int) error {
	formats := render.Names()
	if o.dryRun {
		formats = render.PlanFormats
	}
	if err := KnownFormat(o.format, formats); err != nil {
		return err
	}
	switch {
	case o.sysroot != "" && !o.dryRun:
		return hint.Usage(hint.With(errors.New("--sysroot names a captured machine, which cannot run anything"), "add --dry-run"))
	case o.samples < leastSamples && leastSamples > 0:
		return hint.Usagef("--samples %d: at least %d is needed", o.samples, leastSamples)
	case o.samples < leastSamples:
		return hint.Usagef("--samples %d: it cannot be negative", o.samples)
	case o.samples > mostSamples:
		return hint.Usagef("--samples %d: at most %d are possible", o.samples, mostSamples)
	case o.warmup > mostSamples:
		return hint.Usagef("--warmup %d: at most %d are possible", o.warmup, mostSamples)
	case o.warmup < leastWarmup:
		return hint.Usagef("--warmup %d: it cannot be negative", o.warmup)
	case o.budget < 0:
		return hint.Usagef("--budget %v: it cannot be negative", o.budget)
	case o.resume && o.out == "":
		return hint.Usage(hint.With(errors.New("--resume has no journal to go on from"), "name it by --out"))
	case o.backup && o.out == "":
		return hint.Usage(hint.With(errors.New("--backup has no journal to rename"), "name it by --out"))
	}
	return o.metricsFlags.validate()
}

// metricsFlags say where Prometheus finds the metrics.
type metricsFlags struct {
	listen   string
	linger   time.Duration
	textfile string
	push     string

	pushEvery time.Duration
	webConfig string
	given     func(name string) bool
}

// textfileExt is how the names end of all files that node_exporter's textfile collector reads. It skips others without
// a word (collector/textfile.go), so a run would seem to have no metrics.
const textfileExt = ".prom"

// special reports whether a path is stdout, a pipe or a device, which something else than node_exporter reads.
func special(path string) bool {
	if path == "-" {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// leastPush keeps a run from being nothing but pushes.
const leastPush = time.Second

func (f *metricsFlags) register(flags *experiment.FlagSet) {
	flags.StringVar(&f.listen, "metrics-listen", "", "serve Prometheus metrics on this `address` during the run (127.0.0.1:9464)")
	flags.DurationVar(&f.linger, "metrics-linger", 0, "keep serving the metrics this long after the end")
	flags.StringVar(&f.textfile, "metrics-textfile", "",
		"write the metrics to this `file` (.prom, for node_exporter's textfile collector)")
	flags.StringVar(&f.webConfig, "metrics-web-config", "",
		"serve with the TLS and the users of this `file` (Prometheus's web configuration)")
	flags.StringVar(&f.push, "metrics-push", "", "push the metrics to the Pushgateway at this `URL` at the end")
	flags.DurationVar(&f.pushEvery, "metrics-push-every", 0, "push them this often meanwhile too")
	f.given = flags.Changed
	flags.Files("metrics-web-config", "yml", "yaml")
	flags.Group(experiment.GroupMetrics)
}

func (f *metricsFlags) validate() error {
	needs := func(flag, lacking, other string) error {
		return hint.Usage(hint.With(fmt.Errorf("--%s %s", flag, lacking), "give --"+other+" too"))
	}
	switch {
	case f.linger < 0:
		return hint.Usagef("--metrics-linger %v: it cannot be negative", f.linger)
	case f.textfile != "" && filepath.Ext(f.textfile) != textfileExt && !special(f.textfile):
		return hint.Flag("metrics-textfile", f.textfile,
			hint.With(fmt.Errorf("node_exporter reads only files that end in %s", textfileExt),
				"name it "+strings.TrimSuffix(f.textfile, filepath.Ext(f.textfile))+textfileExt))
	case f.linger > 0 && f.listen == "":
		return needs("metrics-linger", "has nothing to serve", "metrics-listen")
	case f.webConfig != "" && f.listen == "":
		return needs("metrics-web-config", "has nothing to serve", "metrics-listen")
	case f.given("metrics-push-every") && f.push == "":
		return needs("metrics-push-every", "has nowhere to push to", "metrics-push")
	case f.given("metrics-push-every") && f.pushEvery < leastPush:
		return hint.Usagef("--metrics-push-every %v: at least %v is needed", f.pushEvery, leastPush)
	}
	return nil
}
