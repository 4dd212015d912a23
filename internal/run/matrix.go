package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/files/input"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/show/term"
)

// Matrix is a command whose flags of an experiment take several values each: `gorun matrix EXPERIMENT`, `gorun ab`, `gorun bench`.
type Matrix struct {
	command
	axes     []*axis
	source   experiment.Source // of the groups of cells
	exclude  []string
	baseline string
}

// axis is a flag of an experiment that takes several values.
type axis struct {
	flag   matrix.Flag
	kind   string // of the values, for help
	values []string
}

// Set appends values: a flag may be given several times.
func (a *axis) Set(text string) error {
	values, err := matrix.ParseValues(a.flag, text)
	a.values = append(a.values, values...)
	if a.flag.Joined {
		a.values = []string{strings.Join(a.values, "\n")}
	}
	return err
}

func (a *axis) String() string { return matrix.JoinList(a.values) }
func (a *axis) Type() string   { return a.kind }

// NewMatrix returns the command of a matrix whose groups of cells a source supplies, and its flags.
func NewMatrix(e Env, x experiment.Experiment, source experiment.Source) (*Matrix, *experiment.FlagSet) {
	c := &Matrix{command: command{env: e, x: x, kind: matrixRun}, source: source}
	set := experiment.NewFlagSet(x.Name)
	source.Register(set)
	set.StringArrayVar(&c.exclude, "exclude", nil, "leave out the cells with these `values`: FLAG=VALUE,FLAG=VALUE… (repeatable)")
	set.StringVar(&c.baseline, "baseline", "", "compare with the cell that has these `values` (default: the first)")
	set.StringVar(&c.svg, "svg", "", "draw the verdicts into this `file`")
	set.Files("svg", "svg")
	set.Group(experiment.GroupCells)
	set.Rare("exclude", "svg")
	set.Neutral("svg")
	c.registerDesign(set)
	c.registerApply(set, x)
	c.registerRest(set)
	c.registerAxes(set)
	return c, set
}

// NewSearch returns the command that looks for a change in the history that a source supplies, and its flags.
func NewSearch(e Env, x experiment.Experiment, source experiment.Source) (*Matrix, *experiment.FlagSet) {
	c := &Matrix{command: command{env: e, x: x, kind: matrixRun}, source: source}
	set := experiment.NewFlagSet(x.Name)
	source.Register(set)
	c.registerSearch(set)
	c.registerRest(set)
	c.registerAxes(set)
	return c, set
}

// registerAxes adds the flags of a cell, each for several values, except those that the matrix has itself.
func (c *Matrix) registerAxes(set *experiment.FlagSet) {
	cell := newCellFlags(c.x)
	all, flags := cell.vary(c.x, func(name string) bool { return set.Lookup(name) != nil })
	c.flags = flags
	for i, f := range all {
		a := &axis{kind: f.Value.Type(), flag: flags[i]}
		c.axes = append(c.axes, a)
		added := set.VarPF(a, f.Name, "", f.Usage)
		added.DefValue, added.NoOptDefVal, added.Annotations, added.Hidden = f.DefValue, f.NoOptDefVal, f.Annotations, f.Hidden
		if !c.searches { // which takes one value, as exec does
			set.OwnedBy(c.x.Name, f.Name)
		}
	}
	var names []string
	var values []experiment.Completion
	for _, a := range c.axes {
		if !a.flag.Whole {
			names = append(names, a.flag.Name)
		}
		for _, completion := range cell.set.Completions {
			if completion.Flag == a.flag.Name {
				if completion.Between = ","; a.flag.List { // its commas join the CPUs of a value
					completion.Between = " "
				}
				values = append(values, completion)
			}
		}
	}
	set.Completions = append(set.Completions, values...)
	if set.Lookup("vary") != nil {
		set.Vary("vary", names, values)
	}
}

// Run executes a command line; args are its arguments other than flags.
func (c *Matrix) Run(ctx context.Context, args []string) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	m, err := openMachine(c.env.Root, c.sysroot)
	if err != nil {
		return err
	}
	m.recorded = c.recorded()
	c.settleSeed()
	if err := c.checkValues(m); err != nil {
		return err
	}
	defer func() { err = worseOutcome(err, c.source.Close()) }()
	found, err := c.find(ctx, m, args)
	switch {
	case ctx.Err() != nil:
		return ErrInterrupted
	case err != nil:
		return err
	case len(found.Alone) > 0:
		return c.showAlone(ctx, m, found.Alone)
	}
	if found.Within > 0 && !c.given("budget") {
		c.budget = found.Within
	}
	q, missing, err := c.request(found)
	if err != nil {
		return err
	}
	p, err := c.plan(m, q)
	if err = cmp.Or(err, missing); err != nil {
		return err
	}
	p.addTo = found.Plan
	return c.execute(ctx, p)
}

// checkValues returns an error for a value of a flag that is wrong by itself, before the source does work.
func (c *Matrix) checkValues(m *machine) error {
	for _, a := range c.axes {
		f := newCellFlags(c.x)
		for _, value := range a.values {
			if err := f.set.Set(a.flag.Name, value); err != nil {
				return err
			}
			if f.cpus.ignoreAffinity = len(c.values("ignore-affinity")) > 0; a.flag.Name == "cpus" {
				if _, err := m.share(f.cpus, 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// find has the source do its work.
func (c *Matrix) find(ctx context.Context, m *machine, args []string) (experiment.Found, error) {
	var doing atomic.Pointer[string]
	var show sync.Once
	stop := func() {}
	defer func() { stop() }()
	return c.source.Open(ctx, experiment.Opening{
		Environment: experiment.Environment{Machine: m.Machine, Self: c.env.Self, Environ: c.env.Environ(), Files: c.env.Files(), Seed: c.seed},
		Args:        args, Values: c.values, Vary: c.vary, Recorded: c.header(), Dry: c.dryRun && !c.estimate, One: c.plans() && c.apply != "",
		Captured: !m.live,
		Doing: func(what string) {
			doing.Store(&what)
			if !c.quiet {
				show.Do(func() {
					p := term.Progress{
						What: c.x.Name, Now: func() string { return *doing.Load() }, Live: func() (live result.State) { return live },
					}
					stop = p.Start(c.env.Stderr, c.env.Progress)
				})
			}
		},
	})
}

// axis returns the axis of a flag; nil: there is none.
func (c *Matrix) axis(flag string) *axis {
	if i := slices.IndexFunc(c.axes, func(a *axis) bool { return a.flag.Name == flag }); i >= 0 {
		return c.axes[i]
	}
	return nil
}

// values returns the values of a flag on the command line; none: it was not given.
func (c *Matrix) values(flag string) []string {
	if a := c.axis(flag); a != nil {
		return a.values
	}
	return nil
}

// vary gives a flag the values of a text NAME=A,B.
func (c *Matrix) vary(text string) error {
	name, values, found := strings.Cut(text, "=")
	if a := c.axis(strings.TrimPrefix(name, "--")); found && a != nil {
		if err := a.Set(values); err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, value := range a.values {
			if seen[value] {
				return fmt.Errorf("--%s has the value %q twice", a.flag.Name, value)
			}
			seen[value] = true
		}
		return nil
	}
	var names []string
	for _, a := range c.axes {
		names = append(names, a.flag.Name)
	}
	return hint.With(errors.New("it names no flag and its values"), hint.Near(name, names)+"gomaxprocs=1,2; flags that can vary: "+strings.Join(names, ", "))
}

// request returns the cells that a source found, with the values of the command line, and what that lacks.
func (c *Matrix) request(found experiment.Found) (q request, missing, err error) {
	missing = found.Missing
	spec := found.Spec
	c.args, spec.Experiment = found.Args, c.x.Name
	var axes []matrix.Axis
	columns := found.FirstColumns
	for _, a := range c.axes {
		if len(a.values) == 0 || slices.Contains(found.Has, a.flag.Name) {
			continue
		}
		if c.searches && len(a.values) > 1 {
			return q, missing, hint.Usage(hint.Flag(a.flag.Name, a.String(), errOneCell))
		}
		axes = append(axes, matrix.Axis{Flag: a.flag.Name, Values: a.values})
		if len(a.values) > 1 {
			columns = append(columns, result.FlagColumn{Title: a.flag.Name, Flag: a.flag.Name, Style: result.FlagStyles[0]})
		}
	}
	spec = matrix.Override(spec, axes)
	if len(found.FirstColumns) > 0 && len(spec.Groups) == 1 && len(columns) == len(found.FirstColumns) {
		missing = cmp.Or(missing, hint.Usage(found.Few))
	}
	for _, text := range c.exclude {
		conditions, err := matrix.ParseConditions(text)
		if err != nil {
			return q, missing, hint.Flag("exclude", text, err)
		}
		spec.Exclude = append(spec.Exclude, conditions)
	}
	if c.baseline != "" {
		if spec.Baseline, err = matrix.ParseConditions(c.baseline); err != nil {
			return q, missing, hint.Flag("baseline", c.baseline, err)
		}
	}
	c.settleSpec(spec)
	q = request{Spec: spec, rows: found.Rows, history: found.History}
	if c.searches {
		c.budgeted = false // it is that of a stage
	}
	cells, baseline, err := spec.Cells(c.flags)
	if errors.As(err, new(matrix.TooFew)) {
		q.One, missing = true, cmp.Or(missing, hint.Usage(err))
	} else if err != nil {
		return q, missing, hint.Usage(err)
	}
	hasCommand := func(cell result.Cell) bool { return cell.Flags["command"] != "" }
	if c.x.TakesCommand && len(c.args) == 0 && !slices.ContainsFunc(cells, hasCommand) {
		c.args = []string{"true"} // by which the flags are checked
		missing = cmp.Or(missing, hint.Usage(hint.With(errors.New("no command was given"), fmt.Sprintf("gorun matrix %s %s", c.x.Name, c.x.Args))))
	}
	for _, cell := range cells {
		s, err := c.setting(cell)
		if err != nil {
			return q, missing, hint.Usagef("cell %s: %w", cell.Name, err)
		}
		q.settings = append(q.settings, s)
	}
	if q.baseline = baseline; len(found.FirstColumns) > 0 {
		q.Columns = columns // some of these flags are those of rows
	}
	q.contrasts, err = spec.Contrasted(c.flags, cells, baseline)
	return q, missing, hint.Usage(err)
}

// setting returns the setting of a cell.
func (c *Matrix) setting(cell result.Cell) (combination, error) {
	f := newCellFlags(c.x)
	for _, flag := range c.flags { // in order: some depend on others
		if value, given := cell.Flags[flag.Name]; given {
			if err := f.set.Set(flag.Name, value); err != nil {
				return combination{}, err
			}
		}
	}
	return combination{cell: cell, flags: f.flags, cpus: f.cpus}, cmp.Or(arguments(c.x, f.flags, c.args), experiment.Validate(f.flags))
}

// showAlone shows a run without cells, because only one program has something to measure. That is no failure.
func (c *Matrix) showAlone(ctx context.Context, m *machine, alone []result.Warning) (err error) {
	if c.dryRun {
		for _, w := range alone {
			c.env.warn(w)
		}
		return nil
	}
	run := newRun(c.env, c.x.Name, &c.Options)
	run.Host, run.Warnings = measure.ReadHost(c.env.Root, m.Machine, c.env.Environ())
	warn(run, alone)
	d := &driver{plan: plan{x: c.x, run: run}, options: &c.Options, session: &session{env: c.env, run: run}}
	d.state.begin(c.env.Now)
	defer d.close(&err)
	if err := d.checkOutputs(); err != nil {
		return err
	}
	if err := d.openExports(ctx); err != nil {
		return err
	}
	return d.finish(ctx, &c.Options)
}

// File supplies the cells of `gorun matrix`: those of a file, of a preset, or all combinations of the flags.
type File struct {
	Experiment string // their name
	file       string
	preset     string
}

// Register implements experiment.Source.
func (s *File) Register(set *experiment.FlagSet) {
	set.StringVar(&s.file, "file", "", "read groups of cells from this YAML `file`")
	presets := matrix.PresetsOf(s.Experiment)
	tables := make([]string, len(presets))
	for i, p := range presets {
		tables[i] = p.Name + ": " + p.Usage
	}
	set.StringVar(&s.preset, "preset", "", "a predefined `table`: "+strings.Join(tables, "; "))
	set.Lookup("preset").Hidden = len(presets) == 0
	set.Complete("preset", catalog.Completions(presets))
	set.Files("file", "yaml", "yml")
}

// Open implements experiment.Source.
func (s *File) Open(ctx context.Context, o experiment.Opening) (f experiment.Found, err error) {
	f.Args = o.Args
	switch {
	case s.file != "" && s.preset != "":
		return f, hint.Usagef("--file and --preset exclude each other")
	case s.file != "":
		file, err := o.Files.Open(ctx, s.file, input.List)
		if err != nil {
			return f, hint.Flag("file", s.file, err)
		}
		defer file.Close()
		if f.Spec, err = matrix.ReadSpec(file); err != nil {
			return f, hint.Flag("file", s.file, err)
		}
	case s.preset != "":
		if f.Spec, err = matrix.Preset(s.preset); err != nil {
			return f, hint.Flag("preset", s.preset, err)
		}
	}
	if of := f.Experiment; of != "" && of != s.Experiment {
		flag, value := "file", s.file
		if s.file == "" {
			flag, value = "preset", s.preset
		}
		return f, hint.Flag(flag, value, hint.With(fmt.Errorf("its cells are for gorun %s", of), "gorun matrix "+of))
	}
	return f, nil
}

// Close implements experiment.Source.
func (s *File) Close() error { return nil }
