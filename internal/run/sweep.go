package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/matrix"
)

// sweep compares the values of one flag, or runs one cell once.
func (c *Command) sweep(ctx context.Context, args []string) error {
	if values := c.text(c.x.Sweep.List); values != "" {
		return c.compare(ctx, values, args)
	}
	if err := c.once(ctx); err != nil {
		return OwnFailure{err}
	}
	return nil
}

// compare compares the values in a matrix, whose cells share the other flags.
func (c *Command) compare(ctx context.Context, values string, args []string) error {
	if err := cmp.Or(c.validate(), experiment.Validate(c.flags)); err != nil {
		return err
	}
	c.settleSeed(false)
	m, share, err := c.machine()
	if err != nil {
		return err
	}
	s := c.x.Sweep
	switch listed := len(matrix.SplitList(values)) > 1; {
	case values == "auto":
		all, err := s.All(share, c.text)
		if err != nil {
			return err
		}
		values = matrix.JoinList(all)
	case !listed:
		if err := cmp.Or(c.set.Set(s.Flag, values), resolvable(c.flags, share)); err != nil {
			return hint.Flag(s.List, values, err)
		}
		return hint.Flag(s.List, values, hint.With(errors.New("one value cannot be compared"), "give several, joined by commas, or auto"))
	}
	if len(matrix.SplitList(values)) == 1 {
		return hint.With(
			fmt.Errorf("nothing to compare: CPUs %s allow only one %s, %s", share.CPUs, s.Flag, values),
			"give more CPUs, or compare other settings by gorun matrix "+c.x.Name)
	}
	table := &Matrix{env: c.env, x: c.x, Options: c.Options, args: args}
	table.registerAxes(experiment.NewFlagSet(c.x.Name))
	group := matrix.Group{}
	for _, flag := range table.flags {
		axis := matrix.Axis{Flag: flag.Name}
		switch {
		case flag.Name == s.Flag:
			if axis.Values, err = matrix.ParseValues(flag, values); err != nil {
				return hint.Flag(s.List, values, err)
			}
		case c.changed(flag.Name):
			axis.Values = []string{c.set.Lookup(flag.Name).Value.String()}
		default:
			continue
		}
		group.Axes = append(group.Axes, axis)
	}
	spec := matrix.Spec{Experiment: c.x.Name, Groups: []matrix.Group{group}}
	table.settle(spec)
	p, err := table.plan(m, spec)
	if hint.IsUsage(err) {
		err = hint.Flag(s.List, values, err)
	}
	if err != nil {
		return err
	}
	return table.measure(ctx, p)
}

// text returns what a flag has been given, or its default.
func (c *Command) text(flag string) string { return c.set.Lookup(flag).Value.String() }

// resolvable returns an error for flags that a machine cannot resolve.
func resolvable(flags experiment.Flags[any], m experiment.Machine) error {
	_, err := flags.Resolve(m)
	return err
}

// once executes one cell once, with input, output and signals passed through: gorun replaces itself by the command, or
// takes one sample of it and shows the result on stderr.
func (c *Command) once(ctx context.Context) error {
	if err := c.refuseDesign(); err != nil {
		return err
	}
	c.samples, c.warmup, c.budget = 1, 0, 0
	if err := cmp.Or(c.validate(), experiment.Validate(c.flags)); err != nil {
		return err
	}
	var m *machine
	var err error
	share := experiment.Machine{Given: c.changed}
	s := c.x.Sweep
	if c.changed("cpus") || c.cpus.ignoreAffinity || c.changed(s.Flag) || s.Needs != nil && s.Needs(c.text) {
		if m, share, err = c.machine(); err != nil {
			return err
		}
	}
	r, err := c.flags.Resolve(share)
	switch {
	case err != nil:
		return err
	case c.dryRun:
		return c.show(m, share.CPUs, r)
	case r.Become != nil && c.out+c.exportJSON+c.exportMarkdown == "" && !c.changed("format"):
		if m != nil {
			for _, w := range m.Warnings {
				fmt.Fprintf(c.env.Stderr, "gorun: warning: %s\n", hint.Printable(w))
			}
		}
		return r.Become(c.env.Environ())
	}
	if m == nil {
		if m, share, err = c.machine(); err != nil {
			return err
		}
	}
	if r.Silent && !c.changed("format") {
		c.format = ""
	}
	r.Schedule.Samples, c.quiet, c.seed = 1, true, 0
	p, err := c.plan(m, share.CPUs, r)
	if err != nil {
		return err
	}
	p.passed = true
	return drive(ctx, c.env, &c.Options, p)
}

// refuseDesign returns an error for flags that only comparisons have.
func (c *Command) refuseDesign() (err error) {
	design := experiment.NewFlagSet("")
	new(Options).registerDesign(design)
	new(metricsFlags).register(design)
	design.VisitAll(func(f *pflag.Flag) {
		if err == nil && c.changed(f.Name) {
			err = hint.Usage(hint.With(fmt.Errorf("--%s is for comparing, and one command is run once", f.Name),
				fmt.Sprintf("add --%s auto, or use gorun matrix %s", c.x.Sweep.List, c.x.Name)))
		}
	})
	return err
}
