package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorun/internal/cpuset"
	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/result"
)

// Command is an experiment on the command line: its flags, and those of a run.
type Command struct {
	env   Env
	x     experiment.Experiment
	set   *experiment.FlagSet
	flags experiment.Flags[any]
	cpus  cpuFlags
	Options
}

// New returns the command of a plain run, whose flags are in the set.
func New(e Env, x experiment.Experiment) (*Command, *experiment.FlagSet) {
	c := &Command{env: e, x: x, set: experiment.NewFlagSet(x.Name), flags: x.New()}
	c.flags.Register(c.set)
	c.set.Group(experiment.GroupOwn)
	if x.Sweep == nil {
		c.registerPlain(c.set, x)
	}
	c.cpus.register(c.set)
	c.registerRest(c.set)
	if x.Sweep != nil {
		c.registerDesign(c.set)
	}
	return c, c.set
}

// Run executes a command line; args are its arguments other than flags.
func (c *Command) Run(ctx context.Context, args []string) error {
	if taken, err := experiment.Arguments(c.flags, args); err != nil {
		return err
	} else if !taken && len(args) > 0 {
		return hint.Usage(hint.With(fmt.Errorf("gorun %s takes no arguments, but got %q", c.x.Name, args[0]),
			fmt.Sprintf("gorun %s --help lists the flags", c.x.Name)))
	}
	if c.x.Sweep != nil {
		return c.sweep(ctx, args)
	}
	if err := c.validate(); err != nil {
		return err
	}
	if err := experiment.Validate(c.flags); err != nil {
		return err
	}
	c.settleSeed(false)
	m, share, err := c.machine()
	if err != nil {
		return err
	}
	c.settleBudget()
	share.Sampling = experiment.Sampling{Samples: c.samples, Warmup: c.warmup, Budget: c.budget.Seconds()}
	r, err := c.flags.Resolve(share)
	if err != nil {
		return err
	}
	c.settleSchedule(&r.Schedule)
	c.budgeted = c.changed("budget")
	if c.dryRun {
		return c.show(m, share.CPUs, r)
	}
	p, err := c.plan(m, share.CPUs, r)
	if err != nil {
		return err
	}
	return drive(ctx, c.env, &c.Options, p)
}

// machine returns the machine, and the share of it that the flags select.
func (c *Command) machine() (m *machine, share experiment.Machine, err error) {
	if m, err = openMachine(c.env.Root, c.sysroot); err != nil {
		return nil, share, err
	}
	m.recorded = c.recorded()
	share, err = m.share(c.cpus, c.seed)
	share.Given = c.changed
	return m, share, err
}

// settleBudget lifts the default budget if a number of samples was given, which is not cut.
func (c *Command) settleBudget() {
	if c.changed("samples") && !c.changed("budget") {
		c.budget = 0
	}
}

// settleSchedule applies the flags of the run to the schedule.
func (c *Command) settleSchedule(s *experiment.Schedule) {
	if s.Duration > 0 && !c.changed("budget") {
		c.budget = 0 // an explicit duration is not cut
	}
	if s.Budget > 0 && !c.changed("budget") && !c.changed("samples") {
		c.budget = time.Duration(s.Budget * float64(time.Second))
	}
	if s.Samples > 0 && !c.changed("samples") {
		c.samples = s.Samples
		if !c.changed("budget") {
			c.budget = 0 // as with --samples
		}
	}
	switch {
	case s.Order == experiment.Pairs:
		s.Samples = len(s.First)
	case s.Order == experiment.Blocks && !c.changed("samples") && (s.Open || c.changed("precision")):
		s.Samples = 0
	default:
		s.Samples = c.samples
	}
}

// show prints what the run would do. If the experiment adds nothing to a plan, the cells are listed.
func (c *Command) show(m *machine, cpus cpuset.Set, r experiment.Resolution[any]) error {
	p := &result.Plan{
		Schema: result.Schema, Tool: c.env.Tool, Experiment: c.x.Name, Spec: r.Spec, CPUs: cpus.String(),
		Placement: r.Placement, Threads: r.Resources.Threads,
	}
	if c.drawn || c.changed("seed") { // a command that is executed once has no order
		p.Seed = &c.seed
	}
	if r.Plan != nil {
		r.Plan(p)
	} else if len(r.Cells) > 1 {
		for _, cell := range r.Cells {
			p.Cells = append(p.Cells, shown(m, cpus, cell))
		}
		compare(p.Cells, r.Cells)
	}
	return c.env.Views.Plan(c.env.Stdout, p, c.format)
}

// plan makes a run from the resolved flags.
func (c *Command) plan(m *machine, cpus cpuset.Set, r experiment.Resolution[any]) (plan, error) {
	run := newRun(c.env, c.x.Name, &c.Options)
	run.Spec = r.Spec
	run.Warnings = append(run.Warnings, r.Warnings...)
	if r.Header != nil {
		r.Header(run)
	}
	p := plan{
		x: c.x, machine: m, cpus: cpus, schedule: r.Schedule, resources: r.Resources, labels: r.Labels,
		placement: r.Placement, name: c.x.Name, run: run,
	}
	for _, cell := range r.Cells {
		if cell.Lacking == "" {
			p.cells = append(p.cells, cell)
		}
	}
	switch {
	case len(p.cells) == 0 && len(r.Cells) > 0:
		return p, fmt.Errorf("no row can be measured: %s", r.Cells[0].Lacking)
	case len(p.cells) == 0:
		return p, errNothing
	}
	s := r.Schedule
	if s.Order == experiment.Turns || len(p.cells) == 1 {
		if len(p.cells) == 1 {
			// A single cell is not compared, so no difference decides when it is sampled enough.
			p.schedule.Order, p.schedule.Samples = experiment.Turns, c.samples
		}
		return p, nil
	}
	run.Matrix = &result.Matrix{
		Title: s.Title, Datum: s.Datum, Figures: c.x.Figures(s.Datum), Baseline: s.Baseline, Alpha: defaultAlpha, Margin: float64(c.margin),
		Precision: float64(c.precision), Rounds: s.Samples, Budget: c.budget.Seconds(),
	}
	if err := c.failOn.Check(run); err != nil {
		return p, err
	}
	for _, cell := range p.cells {
		run.Cells = append(run.Cells, shown(m, cpus, cell))
	}
	if compare(run.Cells, p.cells); run.Cells[0].Against != nil {
		run.Matrix.Baseline = *run.Cells[0].Against
	}
	return p, nil
}

// compare sets the baseline of each cell to the one that it names.
func compare(cells []result.Cell, with []experiment.Cell[any]) {
	for i, cell := range with {
		if cell.Against == "" {
			continue
		}
		if at := slices.IndexFunc(with, func(c experiment.Cell[any]) bool { return c.Name == cell.Against }); at >= 0 {
			cells[i].Against = &at
		}
	}
}

// shown returns a cell as in results and plans.
func shown(m *machine, cpus cpuset.Set, cell experiment.Cell[any]) result.Cell {
	lists := map[string]result.CPUs{"cpus": experiment.DescribeCPUs(m.Machine, cpus.List())}
	maps.Copy(lists, cell.CPUs)
	return result.Cell{
		Name: cell.Name, Flags: cell.Flags, CPUs: lists, Command: append([]string{}, cell.Command...), Lines: cell.Lines,
		Chosen: cell.Chosen, Lacking: cell.Lacking,
	}
}
