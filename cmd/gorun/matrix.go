package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gorun/internal/hint"
	"gorun/internal/matrix"
	"gorun/internal/measure"
	"gorun/internal/metrics"
	"gorun/internal/render"
	"gorun/internal/render/chart"
	"gorun/internal/result"
)

// matrixOptions are the flags of `gorun matrix EXPERIMENT`.
type matrixOptions struct {
	env        env
	experiment oldExperiment
	flags      []matrix.Flag
	axes       []*axis
	output     outputFlags
	metrics    metricsFlags

	file      string
	preset    string
	exclude   []string
	baseline  string
	samples   int
	warmup    int
	budget    time.Duration
	precision share
	margin    share
	seed      uint64
	strict    bool
	resume    bool
	sysroot   string
	svg       string

	argv    []string // the command that an experiment runs
	changed func(name string) bool
}

// What a matrix is unless its flags or its file say otherwise.
const (
	matrixBudget    = time.Minute
	matrixPrecision = 0.02
	matrixMargin    = 0.02
	matrixAlpha     = 0.05
)

func newMatrix(e env, runF func(context.Context, *matrixOptions) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Compare the cells of a table: every flag of an experiment takes several values",
		Long: "Each cell of the table is a command line of the experiment; each sample is a fresh process. Rounds take every\n" +
			"cell once, in a random order that the seed decides, until the differences from the baseline are known to\n" +
			"--precision, or --budget is over. The baseline runs twice: when it differs from itself, nothing is claimed.\n\n" +
			"Values are told apart by commas; CPU lists by spaces, or by giving their flag again.",
		Example: "  gorun matrix primes --workers 2,2000 --lock-thread=false,true\n" +
			"  gorun matrix primes --pin-cpus 'share:1/2 all' --dispatch goroutine,executor --out run.jsonl\n" +
			"  gorun matrix primes --preset quick",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var names []string
			for _, x := range rows {
				names = append(names, x.Name)
			}
			for _, x := range experiments {
				names = append(names, x.name)
			}
			return usageError{hint.With(fmt.Errorf("a matrix of %q is not known", args[0]),
				"gorun matrix takes "+strings.Join(names, ", "))}
		},
		Args: cobra.ArbitraryArgs,
	}
	for _, x := range rows {
		cmd.AddCommand(matrixCommand(e, x))
	}
	for _, x := range experiments {
		cmd.AddCommand(newMatrixOf(e, x, runF))
	}
	return cmd
}

func newMatrixOf(e env, x oldExperiment, runF func(context.Context, *matrixOptions) error) *cobra.Command {
	o := &matrixOptions{env: e, experiment: x}
	cmd := &cobra.Command{
		Use:   x.name,
		Short: "Compare cells of gorun " + x.name,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.argv = args
			return runF(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	if x.runs {
		cmd.Use += " [flags] -- COMMAND [ARGS…]"
		cmd.Args = cobra.ArbitraryArgs
		flags.SetInterspersed(false) // what follows the command's name is its own
	}
	flags.StringVar(&o.file, "file", "", "read groups of cells from this YAML `file`")
	flags.StringVar(&o.preset, "preset", "", "a `table` that comes with gorun: "+strings.Join(presetWords("%s: %s"), "; "))
	flags.StringArrayVar(&o.exclude, "exclude", nil, "leave out the cells with these `values`, as workers=50,lock-thread=true (repeatable)")
	flags.StringVar(&o.baseline, "baseline", "", "compare with the cell that has these `values` (default: the first)")
	o.registerDesign(flags)
	flags.StringVar(&o.sysroot, "sysroot", "", "plan for a captured machine: a `directory` or a .txtar (with --dry-run)")
	o.output.register(cmd)
	flags.StringVar(&o.svg, "svg", "", "draw the verdicts into this `file`")
	o.metrics.register(flags)
	o.changed = flags.Changed
	o.axes = registerAxes(cmd, x, e)
	for _, a := range o.axes {
		o.flags = append(o.flags, a.flag)
	}
	completeWords(cmd, "preset", presetWords("%s\t%s"))
	_ = cmd.MarkFlagFilename("file", "yaml", "yml")
	_ = cmd.MarkFlagFilename("sysroot", "txtar")
	_ = cmd.MarkFlagFilename("svg", "svg")
	return cmd
}

// registerDesign registers the flags that say how cells are compared.
func (o *matrixOptions) registerDesign(flags *pflag.FlagSet) {
	flags.IntVar(&o.samples, "samples", 0, "samples of each cell (0: until the differences are known)")
	flags.IntVar(&o.warmup, "warmup", -1, "executions that each process drops first (-1: as many as a pilot finds are needed)")
	flags.DurationVar(&o.budget, "budget", matrixBudget, "begin no round that would not end within this time (0: no limit)")
	o.precision, o.margin = matrixPrecision, matrixMargin
	flags.Var(&o.precision, "precision", "width of the interval at which a cell has been sampled enough")
	flags.Var(&o.margin, "margin", "a difference up to this is none")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the order of samples, kept in the result")
	flags.BoolVar(&o.strict, "strict", false, "exit with code 3 when a sample is suspect or invalid")
	flags.BoolVar(&o.resume, "resume", false, "go on from the journal that --out names")
}

// presetWords are the presets, in a format that takes a name and what it is.
func presetWords(format string) []string {
	words := make([]string, len(matrix.Presets))
	for i, p := range matrix.Presets {
		words[i] = fmt.Sprintf(format, p.Name, p.Usage)
	}
	return words
}

// share is a part of 1, written as 2% or as 0.02.
type share float64

func (s *share) Set(text string) error {
	v, err := matrix.ParseFraction(text)
	*s = share(v)
	return err
}

func (s *share) String() string { return strconv.FormatFloat(100*float64(*s), 'g', 6, 64) + "%" }
func (s *share) Type() string   { return "share" }

// spec is which cells there are: the file's or the preset's, with the axes of the command line over it.
func (o *matrixOptions) spec() (spec matrix.Spec, err error) {
	switch {
	case o.file != "" && o.preset != "":
		return spec, usagef("--file and --preset exclude each other")
	case o.file != "":
		file, err := os.Open(o.file)
		if err != nil {
			return spec, usageError{fmt.Errorf("--file: %w", err)}
		}
		defer file.Close()
		if spec, err = matrix.ReadSpec(file); err != nil {
			return spec, usageError{fmt.Errorf("%s: %w", o.file, err)}
		}
	case o.preset != "":
		if spec, err = matrix.Preset(o.preset); err != nil {
			return spec, usageError{fmt.Errorf("--preset: %w", err)}
		}
	default:
		spec = matrix.Spec{Groups: []matrix.Group{{}}}
	}
	if spec.Experiment != "" && spec.Experiment != o.experiment.name {
		return spec, usageError{hint.With(fmt.Errorf("its cells are of gorun %s", spec.Experiment),
			"gorun matrix "+spec.Experiment)}
	}
	spec.Experiment = o.experiment.name
	var axes []matrix.Axis
	for _, a := range o.axes {
		if o.changed(a.flag.Name) {
			axes = append(axes, matrix.Axis{Flag: a.flag.Name, Values: a.values})
		}
	}
	spec = matrix.Override(spec, axes)
	for _, text := range o.exclude {
		conditions, err := matrix.ParseConditions(text)
		if err != nil {
			return spec, usageError{fmt.Errorf("--exclude %s: %w", text, err)}
		}
		spec.Exclude = append(spec.Exclude, conditions)
	}
	if o.baseline != "" {
		if spec.Baseline, err = matrix.ParseConditions(o.baseline); err != nil {
			return spec, usageError{fmt.Errorf("--baseline %s: %w", o.baseline, err)}
		}
	}
	o.settle(spec)
	return spec, nil
}

// settle takes the run's parameters from the spec where no flag gives them.
func (o *matrixOptions) settle(spec matrix.Spec) {
	take := func(flag string, known bool, set func()) {
		if known && !o.changed(flag) {
			set()
		}
	}
	take("budget", spec.Budget > 0, func() { o.budget = spec.Budget })
	take("samples", spec.Samples != nil, func() { o.samples = *spec.Samples })
	take("warmup", spec.Warmup != nil, func() { o.warmup = *spec.Warmup })
	take("precision", spec.Precision != nil, func() { o.precision = share(*spec.Precision) })
	take("margin", spec.Margin != nil, func() { o.margin = share(*spec.Margin) })
	take("seed", spec.Seed != nil, func() { o.seed = *spec.Seed })
	if o.samples > 0 && !o.changed("budget") {
		o.budget = 0 // a number that was asked for is not cut
	}
}

func (o *matrixOptions) validate() error {
	formats := render.Names()
	if o.output.dryRun {
		formats = render.PlanFormats
	}
	if err := knownFormat(o.output.format, formats); err != nil {
		return err
	}
	switch {
	case o.samples < 0:
		return usagef("--samples %d: it cannot be negative", o.samples)
	case o.warmup < -1:
		return usagef("--warmup %d: it cannot be negative", o.warmup)
	case o.budget < 0:
		return usagef("--budget %v: it cannot be negative", o.budget)
	case o.resume && o.output.out == "":
		return usageError{hint.With(errors.New("--resume has no journal to go on from"), "name it by --out")}
	case o.sysroot != "" && !o.output.dryRun:
		return usageError{hint.With(
			errors.New("--sysroot names a captured machine, which cannot run anything"), "add --dry-run")}
	}
	return o.metrics.validate()
}

// design is the run with its cells and without samples.
func (o *matrixOptions) design() (*result.Run, error) {
	spec, err := o.spec()
	if err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	cells, baseline, err := spec.Cells(o.flags)
	if err != nil {
		return nil, usageError{err}
	}
	if o.experiment.runs && len(o.argv) == 0 {
		return nil, usageError{hint.With(errors.New("no command was given"),
			fmt.Sprintf("gorun matrix %s --nice 0,5 -- COMMAND ARGS…", o.experiment.name))}
	}
	for i := range cells {
		if o.experiment.runs {
			cells[i].Command = append(append(cells[i].Command, "--"), o.argv...)
		}
	}
	run := &result.Run{
		Schema: result.Schema, Tool: tool(), Experiment: o.experiment.name, Seed: o.seed,
		Command: commandLine(o.env.args),
		Spec:    matrix.Common(cells),
		Cells:   cells,
		Matrix: &result.Matrix{
			Title: spec.Title, Datum: o.experiment.datum, Baseline: baseline, Alpha: matrixAlpha, Margin: float64(o.margin),
			Precision: float64(o.precision), Rounds: o.samples, Warmup: o.warmup, Budget: o.budget.Seconds(),
			Columns: spec.Columns,
		},
		Started: o.env.now().UTC().Format(time.RFC3339Nano),
		Samples: []result.Sample{}, Findings: []result.Finding{}, Warnings: []result.Warning{},
	}
	if err := o.compareMetric(run); err != nil {
		return nil, err
	}
	if err := o.place(run); err != nil {
		return nil, err
	}
	board, err := matrix.NewBoard(run)
	if err != nil {
		return nil, usageError{err}
	}
	run.Matrix.Order = board.Order()
	return run, nil
}

// compareMetric has the command's own figure compared, where there is one: in all cells the same.
func (o *matrixOptions) compareMetric(run *result.Run) error {
	common := matrix.Common(run.Cells)
	for _, flag := range []string{"metric", "better"} {
		if slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Flags[flag] != common[flag] }) {
			return usageError{hint.With(fmt.Errorf("--%s is not the same in all cells", flag),
				"cells are compared by one figure")}
		}
	}
	if common["metric"] != "" {
		run.Matrix.Datum, run.Matrix.Better = result.DatumMetric, common["better"]
	}
	return nil
}

// taker is how samples are taken.
func (o *matrixOptions) taker() (take, error) {
	if o.experiment.take != nil {
		return o.experiment.take(o.env)
	}
	return o.child().Sample, nil
}

// child is how a sample's process is started. It gets the variables that the fingerprint names and no others.
func (o *matrixOptions) child() matrix.Child {
	environ := measure.Environment(o.env.environ())
	for _, name := range []string{"PATH", "HOME"} {
		if value, found := os.LookupEnv(name); found {
			environ = append(environ, name+"="+value)
		}
	}
	return matrix.Child{Self: o.env.self.In(environ)}
}

// pilot finds how many executions each process is to drop, where no flag says it, within a tenth of the budget.
func (o *matrixOptions) pilot(ctx context.Context, run *result.Run, take take) (err error) {
	if run.Matrix.Warmup >= 0 {
		return nil
	}
	if o.experiment.take != nil {
		// Each execution is a fresh process, which remembers nothing; what one leaves behind is the page cache.
		run.Matrix.Warmup = 0
		warmup, _ := take(ctx, run.Cells[run.Matrix.Baseline], 0)
		run.Warmups = []result.Sample{warmup}
		if warmup.Quality.Verdict == result.Invalid && ctx.Err() == nil {
			return fmt.Errorf("the baseline cannot be measured: %s", warmup.Quality.Reasons[0])
		}
		return nil
	}
	run.Matrix.Warmup, err = o.child().Pilot(ctx, run.Cells[run.Matrix.Baseline], o.budget/10, run.Matrix.Time)
	if err != nil {
		return hint.With(fmt.Errorf("the baseline cannot be measured: %w", err), hint.Of(err))
	}
	return nil
}

func runMatrix(ctx context.Context, o *matrixOptions) (err error) {
	run, err := o.design()
	if err != nil {
		return err
	}
	if o.output.dryRun {
		return o.dryRun(ctx, run)
	}
	if err := o.fingerprint(run); err != nil {
		return err
	}
	s := &session{env: o.env, run: run}
	defer s.close(&err)
	draw, err := s.openSVG(o.svg, chart.MatrixSVG)
	if err != nil {
		return err
	}
	if err := s.openJournal(o.output.out, o.resume); err != nil {
		return err
	}
	board, err := matrix.NewBoard(s.run)
	if err != nil {
		return err
	}
	take, err := o.taker()
	if err != nil {
		return err
	}
	if s.resumed {
		s.run.Matrix.Budget = o.budget.Seconds()
		if err := board.Replay(); err != nil {
			return hint.With(fmt.Errorf("%s: %w", o.output.out, err), "the file was changed, and cannot be gone on from")
		}
	} else if err := o.pilot(ctx, s.run, take); err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return err
	}
	info := metrics.Info{Experiment: "matrix " + o.experiment.name, Version: version}
	for _, sample := range s.run.Samples {
		s.tally.add(sample)
	}
	for _, cell := range run.Cells {
		s.tally.cpus = max(s.tally.cpus, cell.CPUs["cpus"].Count)
	}
	if err := s.startMetrics(o.metrics, s.tally.worked, info); err != nil {
		return err
	}
	s.tally.plan(result.Course{Samples: run.Matrix.Rounds * board.Round(), Budget: o.budget.Seconds()}, board.Elapsed())
	if !s.resumed {
		if err := s.journal.Write(result.Line{Header: s.run}); err != nil {
			return err
		}
	}
	if err := s.takeTurns(ctx, board, o.output.quiet, o.turn(s, take)); err != nil {
		return err
	}
	o.explain(s.run)
	if err := draw(); err != nil {
		return err
	}
	return s.finish(ctx, o.output, o.metrics, o.strict)
}

// turn takes a sample of the cell whose turn it is.
func (o *matrixOptions) turn(s *session, take take) func(context.Context, result.Slot) (result.Sample, error) {
	return func(ctx context.Context, slot result.Slot) (result.Sample, error) {
		sample, warnings := take(ctx, s.run.Cells[slot.Cell], s.run.Matrix.Warmup)
		for _, warning := range warnings {
			if !slices.Contains(s.run.Warnings, warning) {
				s.run.Warnings = append(s.run.Warnings, warning)
			}
		}
		return sample, nil
	}
}

// openCells is the code of the warning that the budget ended too early.
const openCells = "open-cells"

// explain says what the reader of the verdicts should know.
func (o *matrixOptions) explain(run *result.Run) {
	run.Warnings = slices.DeleteFunc(run.Warnings, func(w result.Warning) bool { return w.Code == openCells }) // of before a resume
	open := 0
	for _, cell := range run.Cells {
		if cell.Verdict != nil && cell.Verdict.MoreRounds > 0 {
			open++
		}
	}
	if open == 0 || run.Partial || run.Matrix.Rounds > 0 {
		return
	}
	w := result.Warning{
		Code:    openCells,
		Message: fmt.Sprintf("the budget ended before all could be told: %d of %d cells are open", open, len(run.Cells)-1),
		Hint:    "give a longer --budget, or fewer cells",
	}
	if o.output.out != "" {
		w.Hint = "go on with --resume and a longer --budget"
	}
	run.Warnings = append(run.Warnings, w)
}

// dryRun shows the cells, the order and the time. The time comes from running the baseline once; on a captured machine
// there is none.
func (o *matrixOptions) dryRun(ctx context.Context, run *result.Run) error {
	plan := &result.Plan{
		Schema: result.Schema, Tool: tool(), Experiment: o.experiment.name, Spec: run.Spec,
		Cells: run.Cells, Baseline: run.Matrix.Baseline, Order: run.Matrix.Order,
	}
	seconds := 0.0
	if o.sysroot == "" {
		take, err := o.taker()
		if err != nil {
			return err
		}
		begun := o.env.now()
		sample, _ := take(ctx, run.Cells[run.Matrix.Baseline], max(1, run.Matrix.Warmup))
		if sample.Quality.Verdict == result.Invalid {
			return fmt.Errorf("the baseline cannot be measured: %s", strings.Join(sample.Quality.Reasons, "; "))
		}
		seconds = o.env.now().Sub(begun).Seconds()
	}
	plan.Estimate = estimate(run.Matrix, seconds)
	return render.Plan(o.env.stdout, plan, o.output.format)
}

// estimate takes every sample to cost what the baseline's did; 0 seconds are not known.
func estimate(m *result.Matrix, baseline float64) *result.Estimate {
	samples := 0
	for _, block := range m.Order.First {
		samples += len(block)
	}
	e := &result.Estimate{
		BaselineSeconds: baseline, RoundSeconds: baseline * float64(samples), BudgetSeconds: m.Budget,
		Rounds: cmp.Or(m.Rounds, matrix.LeastRounds), Asked: m.Rounds > 0,
	}
	e.Seconds = e.RoundSeconds * float64(e.Rounds)
	return e
}
