package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

// command is what each command that runs an experiment has.
type command struct {
	Options
	env   Env
	x     experiment.Experiment
	flags []matrix.Flag // in which cells can differ
	args  []string      // the words that are no flags, the same for all cells
	kind  kind
}

// Command is `gorun EXPERIMENT`.
type Command struct {
	command
	own experiment.Flags[any]
	cpu cpuFlags
}

// New returns the command of an experiment, whose flags are in the set.
func New(e Env, x experiment.Experiment) (*Command, *experiment.FlagSet) {
	set := experiment.NewFlagSet(x.Name)
	c := &Command{command: command{env: e, x: x, kind: plainRun}, own: x.New()}
	c.own.Register(set)
	set.Group(experiment.GroupOwn)
	if x.Once == nil {
		c.registerPlain(set, x)
	}
	c.cpu.register(set)
	c.registerRest(set)
	if x.Once != nil {
		c.registerDesign(set)
		c.registerApply(set, x)
	}
	return c, set
}

// Run executes a command line; args are its arguments other than flags.
func (c *Command) Run(ctx context.Context, args []string) error {
	c.args = args
	if err := arguments(c.x, c.own, args); err != nil {
		return err
	}
	if c.x.Once != nil && !c.x.Once.Several(c.text) {
		c.kind = onceRun
		if err := c.once(ctx); err != nil {
			return OwnFailure{err}
		}
		return nil
	}
	if c.x.Once != nil {
		c.kind = matrixRun
	}
	if err := cmp.Or(c.validate(), experiment.Validate(c.own)); err != nil {
		return err
	}
	c.settleSeed()
	c.settleBudget(c.given("samples"))
	m, err := openMachine(c.env.Root, c.sysroot)
	if err != nil {
		return err
	}
	m.recorded = c.recorded()
	p, err := c.plan(m, request{settings: []combination{c.setting()}})
	if err != nil {
		return err
	}
	return c.execute(ctx, p)
}

// arguments passes the words that are no flags to an experiment.
func arguments(x experiment.Experiment, flags experiment.Flags[any], args []string) error {
	if taken, err := experiment.Arguments(flags, args); taken || err != nil || len(args) == 0 {
		return err
	}
	return hint.Usage(hint.With(fmt.Errorf("gorun %s takes no arguments, but got %q", x.Name, args[0]),
		fmt.Sprintf("gorun %s --help lists the flags", x.Name)))
}

// setting returns the setting of the command line.
func (c *Command) setting() combination {
	s := combination{
		flags: c.own, cpus: c.cpu, given: c.given,
		sampling: experiment.Sampling{Samples: c.samples, Warmup: c.warmup, Budget: c.budget.Seconds()},
	}
	if c.kind != matrixRun {
		return s
	}
	s.cell.Flags = map[string]string{}
	_, c.flags = newCellFlags(c.x).vary(c.x, func(string) bool { return false })
	for _, flag := range c.flags {
		if c.given(flag.Name) {
			s.cell.Flags[flag.Name] = c.text(flag.Name)
		}
	}
	return s
}

// text returns what a flag has been given, or its default.
func (c *Command) text(flag string) string { return c.set.Lookup(flag).Value.String() }

// once executes one cell once, with input, output and signals passed through: gorun replaces itself by the command, or
// takes one sample of it and shows the result on stderr. The machine is read only if that needs it.
func (c *Command) once(ctx context.Context) (err error) {
	if err := cmp.Or(c.refuseDesign(), c.validate(), experiment.Validate(c.own)); err != nil {
		return err
	}
	if c.apply != "" && !c.dryRun {
		return hint.Usage(hint.With(errors.New("--apply is about the best of several settings, and there is one"),
			fmt.Sprintf("add --%s auto to find the best one, or --dry-run to apply this one", c.x.Once.Unless)))
	}
	c.samples, c.warmup, c.budget = 1, 0, 0
	on := experiment.Machine{Given: c.given}
	var m *machine
	if c.dryRun || c.given("cpus") || c.cpu.ignoreAffinity || c.x.Once.Needs(c.text) {
		if m, err = openMachine(c.env.Root, c.sysroot); err != nil {
			return err
		}
		if on, err = m.share(c.cpu, 0); err != nil {
			return err
		}
		on.Given = c.given
	}
	r, err := c.own.Resolve(on)
	switch {
	case err != nil:
		return err
	case c.dryRun:
	case r.Exec != nil && c.out+c.exportJSON+c.exportMarkdown == "" && !c.given("format"):
		if m != nil {
			for _, w := range m.Warnings {
				c.env.warn(result.Warning{Message: w})
			}
		}
		return r.Exec(c.env.Environ())
	case r.Silent && !c.given("format"):
		c.format = ""
	}
	if m == nil {
		if m, err = openMachine(c.env.Root, c.sysroot); err != nil {
			return err
		}
	}
	p, err := c.plan(m, request{settings: []combination{c.setting()}})
	if err != nil {
		return err
	}
	c.quiet = true
	return c.execute(ctx, p)
}

// refuseDesign returns an error for flags that only comparisons have.
func (c *Command) refuseDesign() (err error) {
	design := experiment.NewFlagSet("")
	new(Options).registerDesign(design)
	new(metricsFlags).register(design)
	design.VisitAll(func(f *pflag.Flag) {
		if err == nil && c.given(f.Name) {
			err = hint.Usage(hint.With(fmt.Errorf("--%s is for comparing, and one command is run once", f.Name),
				fmt.Sprintf("add --%s auto, or use gorun matrix %s", c.x.Once.Unless, c.x.Name)))
		}
	})
	return err
}

// cellFlags are the flags of one cell.
type cellFlags struct {
	set   *experiment.FlagSet
	cpus  cpuFlags
	flags experiment.Flags[any]
}

func newCellFlags(x experiment.Experiment) *cellFlags {
	c := &cellFlags{set: experiment.NewFlagSet(x.Name), flags: x.New()}
	c.flags.Register(c.set)
	c.set.Group(experiment.GroupOwn)
	c.cpus.register(c.set)
	return c
}

// vary returns the flags in which cells can differ: those of a cell, except those that are the same for all cells and those that are
// taken.
func (c *cellFlags) vary(x experiment.Experiment, taken func(name string) bool) (all []*pflag.Flag, flags []matrix.Flag) {
	c.set.VisitAll(func(f *pflag.Flag) {
		if taken(f.Name) || slices.Contains(x.SharedFlags, f.Name) {
			return
		}
		name, _ := pflag.UnquoteUsage(f)
		all, flags = append(all, f), append(flags, matrix.Flag{
			Name: f.Name, Default: f.DefValue,
			Switch: f.Value.Type() == "bool", Joined: f.Value.Type() == experiment.SeveralType, List: name == "list",
			Whole: slices.Contains([]string{"regex", "masks", "codes", "command"}, name),
		})
	})
	return all, flags
}
