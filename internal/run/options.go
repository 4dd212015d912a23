package run

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/files/output"
	"gorun/internal/judge/matrix"
	"gorun/internal/machine/topology"
	"gorun/internal/publish/document"
	"gorun/internal/publish/metrics"
	"gorun/internal/publish/render"
	"gorun/internal/show/apply"
)

// cpuFlags are the flags that select the CPUs of a cell. They are axes of a matrix.
type cpuFlags struct {
	cpus           string
	ignoreAffinity bool
}

func (f *cpuFlags) register(flags *experiment.FlagSet) {
	flags.StringVar(&f.cpus, "cpus", "all", "CPUs of the run: a kernel `list` or selectors, joined by commas\n("+
		selectorNames()+")")
	flags.BoolVar(&f.ignoreAffinity, "ignore-affinity", false, "allow CPUs outside the inherited affinity mask")
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

// Options are the flags of every run.
type Options struct {
	resultFlags
	metricsFlags
	sysroot  string
	estimate bool // print the plan, and measure the baseline to estimate how long the run takes
	samples  int  // of each cell
	warmup   int
	budget   time.Duration
	seed     uint64
	drawn    bool // the seed was drawn, not given
	strict   bool
	svg      string
	apply    string // the way; "": none

	// For runs that compare cells.
	precision experiment.Share
	margin    experiment.Share
	resume    bool
	resumes   bool // the run has the flag --resume
	// A run continues although a program has changed.
	resumeChanged bool
	failOn        matrix.FailOn
	// The run goes on to the precision: because that was given, and although --fail-on is answered.
	precise, untilPrecision bool
	exitUndecided           int // the exit code where --fail-on is not answered
	best                    bool
	everyStep               bool
	searches                bool // the run looks for a change in a history

	given    func(name string) bool // reports whether a flag was given
	set      *experiment.FlagSet    // of the command
	asked    map[string]string      // flags that decide what a sample measures
	budgeted bool                   // the budget was given and is not the default
}

// The outputs of a run, in addition to its result.
func (o *Options) journal() output.Named { return output.Named{Flag: "out", Path: o.out} }
func (o *Options) picture() output.Named { return output.Named{Flag: "svg", Path: o.svg} }
func (f *metricsFlags) textfileOutput() output.Named {
	return output.Named{Flag: "metrics-textfile", Path: f.textfile}
}

// Defaults of comparisons.
const (
	defaultBudget    = time.Minute
	defaultPrecision = 0.02
	defaultMargin    = 0.02
	defaultAlpha     = 0.05
)

// mostSamples is far more than any run takes, and small enough that the number of samples of all cells does not
// overflow.
const mostSamples = 1_000_000_000

// resultFlags are the flags that select where the result is written.
type resultFlags struct {
	format string
	out    string

	exportJSON, exportMarkdown string

	quiet   bool
	verbose bool
	why     Why
	dryRun  bool
}

func (f *resultFlags) register(flags *experiment.FlagSet) {
	AddFormat(flags, &f.format, document.For[render.Run]())
	flags.StringVar(&f.out, "out", "", "also write every raw sample to this `file`, a JSON line each, as it is taken")
	flags.StringVar(&f.exportJSON, "export-json", "", "also write the result into this `file`, as --format json does")
	flags.StringVar(&f.exportMarkdown, "export-markdown", "", "also write the result into this `file`, as --format markdown does")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress line")
	flags.BoolVar(&f.verbose, "verbose", false, VerboseUsage)
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the plan and stop; nothing is run")
	flags.Files("out", "jsonl")
	flags.Files("export-json", "json")
	flags.Files("export-markdown", "md")
	flags.Group(experiment.GroupOutput)
	flags.Neutral("format", "out", "export-json", "export-markdown", "quiet", "verbose", "dry-run")
}

// export is a file into which the result is written in a format.
type export struct {
	output.Named
	format string
}

// exports returns the files of the flags that are also hyperfine(1)'s; the path is empty if the flag was not given.
func (f *resultFlags) exports() []export {
	return []export{
		{output.Named{Flag: "export-json", Path: f.exportJSON}, "json"},
		{output.Named{Flag: "export-markdown", Path: f.exportMarkdown}, "markdown"},
	}
}

// FailOnUsage is the usage of --fail-on.
const FailOnUsage = "exit with code 3 when a cell has one of these `verdicts`: slower, faster,\n" +
	"difference, undecided, 'worse>5%', 'cpu:slower' (gorun help ci)"

// ErrExitUndecided is the error of --exit-undecided alone.
var ErrExitUndecided = hint.Usagef("--exit-undecided is about --fail-on, which was not given")

// AddExitUndecided adds the flag --exit-undecided, which is about --fail-on.
func AddExitUndecided(flags *experiment.FlagSet, code *int) {
	flags.IntVar(code, "exit-undecided", 0, "exit with this `code` when --fail-on is not answered: 125 is git bisect's skip")
	experiment.Bound(flags, code, "exit-undecided", 0, 255)
}

// VerboseUsage is the usage of --verbose.
const VerboseUsage = "show more in a table: all figures, the verdict on each of them and what more rounds\n" +
	"would give, and all reasons"

// Why is the value of --why.
type Why string

// The values of --why; none: it was not given.
const (
	WhyShown   Why = "show"    // the parts of the time
	WhyConfirm Why = "confirm" // also take samples that confirm the causes
)

// Set sets the value.
func (w *Why) Set(text string) error {
	switch *w = Why(text); *w {
	case WhyShown, WhyConfirm:
		return nil
	}
	return hint.With(errors.New("there is no such value"), "--why shows where the time went; --why=confirm also takes samples that confirm it")
}

func (w *Why) String() string { return string(*w) }

// Type returns what the value is, for help.
func (w *Why) Type() string { return "what" }

// AddWhy adds the flag --why.
func AddWhy(flags *experiment.FlagSet, w *Why) {
	flags.Var(w, "why", "show in which parts of the time the differences are (gorun help verdicts);\n"+
		"=confirm: also measure what takes a difference away")
	flags.Lookup("why").NoOptDefVal = string(WhyShown)
	flags.Complete("why", []string{string(WhyShown), string(WhyConfirm)})
}

// AddFormat adds the flag --format, for a kind of document that has these formats.
func AddFormat(flags *experiment.FlagSet, format *string, formats document.Formats) {
	names := formats.Names()
	flags.StringVar(format, "format", names[0], "output `format`: "+strings.Join(names, ", "))
	flags.Complete("format", names)
}

// registerPlain adds the flags of a plain run of an experiment, with its defaults.
func (o *Options) registerPlain(flags *experiment.FlagSet, x experiment.Experiment) {
	o.samples, o.warmup = x.Sampling.Samples, x.Sampling.Warmup
	o.budget = time.Duration(x.Sampling.Budget * float64(time.Second))
	o.precision, o.margin = defaultPrecision, defaultMargin
	if x.Sampling.Compares {
		if !x.Sampling.Fixed {
			flags.Var(&o.precision, "precision", "width of the interval at which a cell is sampled enough; given without\n"+
				"--samples, rounds continue until all cells are, or the budget is used up")
		}
		flags.Var(&o.margin, "margin", "differences up to this size do not matter")
	}
	if x.Picture != nil {
		flags.StringVar(&o.svg, "svg", "", x.Picture.Usage)
		flags.Files("svg", "svg")
		flags.Neutral("svg")
	}
	if !x.Sampling.Fixed {
		flags.IntVarP(&o.samples, "samples", "r", o.samples, "samples to take; a number given here is not cut by the default budget,\n"+
			"only by one that is given")
		flags.IntVarP(&o.warmup, "warmup", "w", o.warmup, "executions to drop first")
		flags.DurationVar(&o.budget, "budget", o.budget, "begin no sample after this time; if given, it also cuts the\n"+
			"sample in progress (0: no limit)")
		experiment.Bound(flags, &o.samples, "samples", 1, mostSamples)
		experiment.Bound(flags, &o.warmup, "warmup", 0, mostSamples)
		experiment.Bound(flags, &o.budget, "budget", 0, math.MaxInt64)
	}
	o.registerOrder(flags)
	for name, usage := range x.Sampling.Usage {
		flags.Lookup(name).Usage = usage
	}
	flags.Group(experiment.GroupSamples)
	flags.Neutral("samples", "warmup", "budget", "precision", "margin")
}

// registerApply adds the flag of an experiment whose runs recommend a setting.
func (o *Options) registerApply(flags *experiment.FlagSet, x experiment.Experiment) {
	if x.View == nil || !x.View.Recommends {
		return
	}
	flags.StringVar(&o.apply, "apply", "", "print only how to apply the best setting, in one `way`: "+catalog.List(apply.Ways[:]))
	flags.Complete("apply", catalog.Completions(apply.Ways[:]))
	flags.Group(experiment.GroupSamples, "apply")
	flags.Rare("apply")
	flags.Neutral("apply")
}

// registerOrder adds the flags of every run that takes samples in an order.
func (o *Options) registerOrder(flags *experiment.FlagSet) {
	flags.Uint64Var(&o.seed, "seed", 0, "`number` that determines the order of samples (default: drawn at random,\n"+
		"and kept in the result)")
	flags.BoolVar(&o.strict, "strict", false, "exit with code 3 when a sample is suspect or invalid")
	flags.Group(experiment.GroupOrder, "seed", "strict")
	flags.Neutral("seed", "strict")
}

// registerRest adds the flags that every run has, after the CPUs.
func (o *Options) registerRest(flags *experiment.FlagSet) {
	flags.StringVar(&o.sysroot, "sysroot", "", "plan for a captured machine: a `directory` or a .txtar (with --dry-run)")
	flags.Files("sysroot", "txtar")
	flags.Group(experiment.GroupCPUs)
	o.resultFlags.register(flags)
	o.metricsFlags.register(flags)
	flags.Neutral("sysroot")
	o.given, o.set = flags.Changed, flags
}

// registerDesign adds the flags for comparing the cells of a matrix.
func (o *Options) registerDesign(flags *experiment.FlagSet) {
	o.precision, o.margin, o.resumes = defaultPrecision, defaultMargin, true
	flags.IntVarP(&o.samples, "samples", "r", 0, "samples of each cell (0: until the differences are known)")
	flags.IntVarP(&o.warmup, "warmup", "w", -1, "executions that each process drops first (-1: as many as a pilot finds necessary)")
	flags.DurationVar(&o.budget, "budget", defaultBudget, "begin no round that would not end within this time (0: no limit)")
	experiment.Bound(flags, &o.samples, "samples", 0, mostSamples)
	experiment.Bound(flags, &o.warmup, "warmup", -1, mostSamples)
	experiment.Bound(flags, &o.budget, "budget", 0, math.MaxInt64)
	flags.Var(&o.precision, "precision", "width of the interval at which a cell is sampled enough (gorun help method)")
	flags.Var(&o.margin, "margin", "differences up to this size do not matter")
	o.registerOrder(flags)
	flags.BoolVar(&o.resume, "resume", false, "continue the run in the journal that --out names")
	flags.BoolVar(&o.resumeChanged, "resume-changed", false, "with --resume: go on although a program has changed, and note it in the journal")
	flags.Var(&o.failOn, "fail-on", FailOnUsage)
	flags.Lists("fail-on", matrix.Failures)
	flags.BoolVar(&o.best, "best", false, "end when the best cell is known (gorun help method)")
	flags.BoolVar(&o.everyStep, "every-step", false, "sample all numbers of --copies or --gomaxprocs and compare them with the first, not\n"+
		"in order up to the one that does not scale (gorun help copies)")
	AddWhy(flags, &o.why)
	flags.BoolVar(&o.untilPrecision, "until-precision", false, "go on to the --precision, also when --fail-on is answered")
	AddExitUndecided(flags, &o.exitUndecided)
	flags.BoolVar(&o.estimate, "estimate", false, "print the plan as --dry-run does, with the time that the run will take; to know it,\n"+
		"the baseline is run once, with what is given to run before and after it")
	flags.Group(experiment.GroupSamples)
	flags.Rare("warmup", "precision", "margin", "every-step", "estimate", "resume-changed", "until-precision", "exit-undecided", "why")
	flags.Neutral("samples", "warmup", "budget", "precision", "margin", "resume", "resume-changed", "best", "fail-on", "until-precision", "exit-undecided", "estimate", "why")
}

// registerSearch adds the flags for searching a history.
func (o *Options) registerSearch(flags *experiment.FlagSet) {
	o.precision, o.margin, o.resumes, o.searches = defaultPrecision, defaultMargin, true, true
	flags.IntVarP(&o.samples, "samples", "r", 0, "most samples of each revision in a stage (0: no limit)")
	flags.DurationVar(&o.budget, "budget", searchBudget, "end a stage that is undecided after this time (0: no limit)")
	experiment.Bound(flags, &o.samples, "samples", 0, mostSamples)
	experiment.Bound(flags, &o.budget, "budget", 0, math.MaxInt64)
	flags.Var(&o.margin, "margin", "differences up to this size do not matter")
	o.registerOrder(flags)
	flags.BoolVar(&o.resume, "resume", false, "continue the search in the journal that --out names")
	flags.IntVar(&o.exitUndecided, "exit-undecided", 0, "exit with this `code` when no commit is named because a stage is undecided")
	experiment.Bound(flags, &o.exitUndecided, "exit-undecided", 0, 255)
	flags.Group(experiment.GroupSamples)
	flags.Neutral("samples", "budget", "margin", "resume", "exit-undecided")
}

// searchBudget is the default time of a stage of a search: three times that of a comparison (see stats.TestSearchOperating).
const searchBudget = 3 * defaultBudget

// plans reports whether the plan is printed and not executed.
func (o *Options) plans() bool { return o.dryRun || o.estimate }

// validate returns an error for options that no run can have.
func (o *Options) validate() error {
	formats := document.For[render.Run]()
	if o.plans() {
		formats = document.For[render.Plan]()
	}
	if err := formats.Check(o.format); err != nil {
		return err
	}
	if o.apply != "" {
		if _, err := apply.Find(o.apply); err != nil {
			return hint.Flag("apply", o.apply, err)
		}
	}
	switch {
	case o.apply != "" && o.given("format"):
		return hint.Usagef("--apply and --format exclude each other: each says what is printed")
	case o.sysroot != "" && (!o.dryRun || o.estimate):
		return hint.Usage(hint.With(errors.New("--sysroot names a captured machine, which cannot run anything"), "add --dry-run, without --estimate"))
	case o.best && (len(o.failOn) > 0 || o.given("precision")):
		return hint.Usagef("--best says when the run ends, and so do --fail-on and --precision: give one of them")
	case o.untilPrecision && len(o.failOn) == 0:
		return hint.Usagef("--until-precision is about --fail-on, which was not given")
	case o.exitUndecided != 0 && len(o.failOn) == 0 && !o.searches:
		return ErrExitUndecided
	case o.resumeChanged && !o.resume:
		return hint.Usagef("--resume-changed is about --resume, which was not given")
	case o.resume && o.out == "":
		return hint.Usage(hint.With(errors.New("--resume has no journal to continue"), "name it by --out"))
	}
	if o.set != nil {
		o.asked = o.set.Asked()
	}
	for name, value := range o.asked {
		o.asked[name] = CommandLine([]string{value})[0]
	}
	return o.metricsFlags.validate()
}

// metricsFlags are the flags that export the metrics to Prometheus.
type metricsFlags struct {
	listen   string
	linger   time.Duration
	textfile string
}

// textfileExt is the extension of all files that node_exporter's textfile collector reads. It silently skips others
// (collector/textfile.go), so a run would seem to have no metrics.
const textfileExt = ".prom"

// special reports whether a path is stdout, a pipe or a device, which node_exporter does not read.
func special(path string) bool {
	if path == "-" {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// runName returns the run's name in its metrics: that of the textfile, or else that of the journal, which does not change
// over time or by a resume; "" if there is neither.
func (o *Options) runName() string {
	path := cmp.Or(o.textfile, o.out)
	if path == "" || special(path) {
		return ""
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if !utf8.ValidString(name) { // labels are UTF-8; replaced bytes could make two names equal
		name = strings.Trim(strconv.Quote(name), `"`)
	}
	return name
}

func (f *metricsFlags) register(flags *experiment.FlagSet) {
	flags.StringVar(&f.listen, "metrics-listen", "", "serve Prometheus metrics on this `address` during the run (127.0.0.1:9464)")
	flags.DurationVar(&f.linger, "metrics-linger", 0, "keep serving the metrics this long after the end")
	experiment.Bound(flags, &f.linger, "metrics-linger", 0, math.MaxInt64)
	flags.StringVar(&f.textfile, "metrics-textfile", "",
		"write the metrics to this `file` (.prom, for node_exporter's textfile collector)")
	flags.Group(experiment.GroupMetrics)
	flags.Neutral("metrics-listen", "metrics-linger", "metrics-textfile")
}

func (f *metricsFlags) validate() error {
	needs := func(flag, lacking, other string) error {
		return hint.Usage(hint.With(fmt.Errorf("--%s %s", flag, lacking), "give --"+other+" too"))
	}
	if f.listen != "" {
		if _, err := metrics.Address(f.listen); err != nil {
			return hint.Flag("metrics-listen", f.listen, err)
		}
	}
	switch {
	case f.textfile != "" && filepath.Ext(f.textfile) != textfileExt && !special(f.textfile):
		return hint.Flag("metrics-textfile", f.textfile,
			hint.With(fmt.Errorf("node_exporter reads only files that end in %s", textfileExt),
				"name it "+strings.TrimSuffix(f.textfile, filepath.Ext(f.textfile))+textfileExt))
	case f.linger > 0 && f.listen == "":
		return needs("metrics-linger", "has nothing to serve", "metrics-listen")
	}
	return nil
}
