package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/journal"
	"gorun/internal/matrix"
	"gorun/internal/measure"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// NewSourced returns the command of a matrix whose cells a source finds before they are planned, such as `gorun bench`.
func NewSourced(e Env, x experiment.Experiment, source experiment.Source) (*Matrix, *experiment.FlagSet) {
	c := &Matrix{env: e, x: x, sourced: &sourced{source: source}}
	set := experiment.NewFlagSet(x.Name)
	source.Register(set)
	set.StringArrayVar(&c.sourced.vary, "vary", nil, "compare these `values` of a flag, as gomaxprocs=1,2 (repeatable;\n"+commaUsage+")")
	set.StringArrayVar(&c.exclude, "exclude", nil, "leave out the cells with these `values`, as placement=one-cpu (repeatable)")
	set.StringVar(&c.svg, "svg", "", "draw the verdicts into this `file`")
	set.Files("svg", "svg")
	set.Group(experiment.GroupCells)
	c.registerDesign(set)
	set.Lookup("budget").Usage = "begin no round that would not end within this time; if given, it also counts\n" +
		"what precedes the samples except building, and ends what is in progress (0: no limit;\n" +
		"default: as long as the number of cells needs)"
	set.Lookup("budget").DefValue = "0s"
	c.registerRest(set)
	c.registerAxes(set)
	return c, set
}

// sourced is what finds the cells of a matrix, and what it found.
type sourced struct {
	source experiment.Source
	vary   []string // NAME=A,B
	found  experiment.Found
}

// find has the source do its work.
func (c *Matrix) find(ctx context.Context) error {
	if err := c.vary(); err != nil {
		return err
	}
	m, err := openMachine(c.env.Root, c.sysroot)
	if err != nil {
		return err
	}
	var recorded *result.Run
	if c.resume { // an error in reading it is reported when the journal is opened
		recorded, _ = journal.ReadHeader(c.out)
	}
	var doing atomic.Pointer[string]
	doing.Store(new(string))
	if !c.quiet {
		p := term.Progress{
			What: c.x.Name, Now: func() string { return *doing.Load() }, Live: func() (live result.Live) { return live },
		}
		defer p.Start(c.env.Stderr, c.env.Progress)()
	}
	c.settleSeed(false)
	s := experiment.Setting{Machine: m.Machine, Self: c.env.Self, Environ: c.env.Environ(), Seed: c.seed}
	c.sourced.found, err = c.sourced.source.Open(ctx, experiment.Opening{
		Setting: s, Args: c.args, Recorded: recorded, Dry: c.dryRun && !c.estimate, Doing: func(what string) { doing.Store(&what) },
	})
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if err == nil && !c.changed("budget") {
		c.budget = c.sourced.found.Budget
	}
	return err
}

// vary gives the flags that --vary names their values.
func (c *Matrix) vary() error {
	for _, text := range c.sourced.vary {
		name, values, found := strings.Cut(text, "=")
		i := slices.IndexFunc(c.axes, func(a *axis) bool { return a.flag.Name == strings.TrimPrefix(name, "--") })
		if !found || i < 0 {
			var names []string
			for _, a := range c.axes {
				names = append(names, a.flag.Name)
			}
			return hint.Flag("vary", text, hint.With(errors.New("it names no flag and its values"), "gomaxprocs=1,2; flags that can vary: "+strings.Join(names, ", ")))
		}
		if err := c.axes[i].Set(values); err != nil {
			return hint.Flag("vary", text, err)
		}
	}
	return nil
}

// groups returns a group of cells for each program.
func (s *sourced) groups() (groups []matrix.Group) {
	for _, program := range s.found.Programs {
		groups = append(groups, matrix.Group{Name: program, Axes: []matrix.Axis{{Flag: s.found.Flag, Values: []string{program}}}})
	}
	if len(groups) < 2 {
		return []matrix.Group{{}}
	}
	return groups
}

// columns returns those of the table: what the source names, the program, and the flags in which its cells differ.
func (s *sourced) columns(axes []matrix.Axis) []result.Column {
	columns := slices.Clone(s.found.Columns)
	for _, axis := range axes {
		if len(axis.Values) > 1 {
			columns = append(columns, result.Column{Title: axis.Flag, Flag: axis.Flag, Style: result.ColumnStyles[0]})
		}
	}
	return columns
}

// alone is the error of a run with nothing to compare.
func (s *sourced) alone() error {
	return hint.Usage(hint.With(fmt.Errorf("there is one program, in one setting: nothing to compare"),
		"--base HEAD compares with the last commit, --vary gomaxprocs=1,2 settings"))
}

// showAlone shows a run without cells, because only one program has something to measure. That is no failure.
func (c *Matrix) showAlone(ctx context.Context) (err error) {
	if c.dryRun {
		for _, w := range c.sourced.found.Alone {
			fmt.Fprintf(c.env.Stderr, "gorun: warning: %s\n", w.Message)
		}
		return nil
	}
	m, err := openMachine(c.env.Root, c.sysroot)
	if err != nil {
		return err
	}
	run := newRun(c.env, c.x.Name, &c.Options)
	run.Host, run.Warnings = measure.ReadHost(c.env.Root, m.Machine, c.env.Environ())
	warn(run, c.sourced.found.Alone)
	d := &driver{plan: plan{x: c.x, run: run}, options: &c.Options, session: &session{env: c.env, run: run}}
	d.tally.begin(c.env.Now)
	defer d.close(&err)
	if err := d.checkOutputs(); err != nil {
		return err
	}
	if err := d.openExports(ctx); err != nil {
		return err
	}
	return d.finish(ctx, &c.Options)
}
