package run

import (
	"cmp"
	"context"
	"errors"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/judge/matrix"
	"gorun/internal/publish/document"
	"gorun/internal/record/result"
	"gorun/internal/show/apply"
	"gorun/internal/show/term"
)

// execute executes a plan, or shows it.
func (c *command) execute(ctx context.Context, p plan) error {
	if c.plans() {
		return c.show(ctx, p)
	}
	return drive(ctx, c.env, &c.Options, p)
}

// show prints what a run would do and, with --estimate, how long it takes.
func (c *command) show(ctx context.Context, p plan) (err error) {
	run := p.run
	shown := &result.Plan{Schema: result.Schema, Tool: c.env.Tool, Experiment: c.x.Name, Spec: run.Spec}
	if c.drawn || c.given("seed") { // a command that is executed once has no order
		shown.Seed = &run.Seed
	}
	switch {
	case c.apply != "" && len(p.cells) != 1:
		return hint.Usage(hint.With(errors.New("--apply with --dry-run needs one setting: the best is not known before the run"),
			"name it: --placement NAME alone"))
	case c.apply != "":
		for _, w := range run.Warnings {
			c.env.warn(w)
		}
		return apply.Print(c.env.Stdout, c.env.Stderr, c.apply, "The setting is "+p.placement, p.cells[0].Lines, shell.Join(c.args))
	case p.kind == matrixRun:
		shown.Cells, shown.Baseline, shown.Order, shown.Contrasts = run.Cells, run.Matrix.Baseline, run.Matrix.Order, run.Matrix.Contrasts
		shown.Steps = run.Matrix.Steps
		least := matrix.LeastRounds
		if len(shown.Steps) > 0 { // those of the first
			judging, err := matrix.NewJudging(run, c.x.Columns)
			if err != nil {
				return hint.Usage(err)
			}
			least = judging.ToFirst()
		}
		seconds := 0.0
		if c.estimate {
			if seconds, err = c.takeBaseline(ctx, p); err != nil {
				return err
			}
		}
		if !c.searches { // how many cells it tries is not known
			shown.Estimate = estimate(run.Matrix, least, seconds)
		}
		if p.addTo != nil {
			p.addTo(shown)
		}
	default:
		shown.CPUs, shown.Placement, shown.Threads = p.cpus.String(), p.placement, p.resources.Threads
		if p.addTo != nil {
			p.addTo(shown)
		} else if len(p.listed) > 1 {
			shown.Cells = p.listed
		}
	}
	for _, w := range run.Warnings {
		c.env.warn(w)
	}
	return document.Show(c.env.Stdout, c.env.Views.Plan(shown), c.format, term.Options{})
}

// takeBaseline takes a sample of the baseline, as a run does but without its outputs, and returns how long that took.
func (c *command) takeBaseline(ctx context.Context, p plan) (seconds float64, err error) {
	run := p.run
	d := &driver{plan: p, options: &c.Options, session: &session{env: c.env, run: run}}
	d.state.begin(c.env.Now)
	defer d.close(&err)
	if err := d.settle(ctx); err != nil {
		return 0, err
	}
	d.options.out, d.options.svg, d.options.metricsFlags = "", "", metricsFlags{}
	d.options.exportJSON, d.options.exportMarkdown = "", ""
	if err := d.open(ctx); err != nil {
		return 0, err
	}
	cut, cancel := d.within(ctx, 0)
	defer cancel()
	if err := d.ready(cut); err != nil {
		return 0, d.ended(ctx, cut, d.preparation(), longer, err)
	}
	run.Matrix.Warmup = max(1, run.Matrix.Warmup)
	begun := c.env.Now()
	sample, err := d.takeSample(cut, run.Matrix.Baseline)
	switch {
	case err != nil || cut.Err() != nil:
		return 0, d.ended(ctx, cut, "the estimate", "give a longer --budget", cmp.Or(err, cut.Err()))
	case sample.Quality.Grade == result.Invalid:
		return 0, noBaseline(spoilt(sample))
	}
	return c.env.Now().Sub(begun).Seconds(), nil
}

// estimate assumes that every sample takes as long as the baseline's; 0 seconds: not known. least is the least number of rounds to an answer.
func estimate(m *result.Matrix, least int, baseline float64) *result.Estimate {
	samples := 0
	for _, block := range m.Order.First {
		samples += len(block)
	}
	e := &result.Estimate{
		BaselineSeconds: baseline, RoundSeconds: baseline * float64(samples), BudgetSeconds: m.Budget,
		Rounds: cmp.Or(m.Rounds, least), Asked: m.Rounds > 0,
	}
	e.Seconds = e.RoundSeconds * float64(e.Rounds)
	return e
}
