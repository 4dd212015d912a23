package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/files/input"
	"gorun/internal/judge/journal"
	"gorun/internal/judge/matrix"
	"gorun/internal/publish/document"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/run"
	"gorun/internal/stats"
)

// compareOptions are the flags and arguments of `gorun compare`.
type compareOptions struct {
	env           env
	files         []string
	format        string
	across        []string
	force         bool
	failOn        matrix.FailOn
	exitUndecided int
	why           run.Why
}

func newCompare(e env) *cobra.Command {
	o := &compareOptions{env: e}
	cmd := &cobra.Command{
		Use:   "compare A.jsonl [B.jsonl [A2.jsonl B2.jsonl]...]",
		Short: "Compare two journals of matrices cell by cell, or judge one again",
		Long: "Two runs of a matrix, A from before a change and B from after it, are compared cell by cell. If the kernel, the\n" +
			"binary, the machine or the flags differ, the comparison is refused, unless --across names the change whose\n" +
			"effect you want, or --force is given. CPUs on machines that are laid out differently are matched by their\n" +
			"relation (same-core, cross-node), not by number. One journal alone is judged again.\n\n" +
			"Runs drift apart by themselves, and a single run of each does not show how far: only a large difference can be\n" +
			fmt.Sprintf("found then. Runs of A and B in turn, at least %d of each, find smaller ones. A run counts once, also if\n", stats.FewestPairs) +
			"several files hold it.",
		Example: "  gorun compare before.jsonl after.jsonl --across kernel\n" +
			"  gorun compare before.jsonl after.jsonl --fail-on slower\n" +
			"  gorun compare a1.jsonl b1.jsonl a2.jsonl b2.jsonl a3.jsonl b3.jsonl a4.jsonl b4.jsonl\n" +
			"  gorun compare run.jsonl",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.files = args
			return runCompare(cmd.Context(), o)
		},
		ValidArgsFunction: cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
	}
	flags := experiment.NewFlagSet("compare")
	flags.StringSliceVar(&o.across, "across", nil, "the `change` between the runs whose effect is wanted:\n"+
		strings.Join(matrix.Across(), ", "))
	flags.BoolVar(&o.force, "force", false, "compare in spite of other differences; every line says so")
	flags.Var(&o.failOn, "fail-on", run.FailOnUsage)
	run.AddExitUndecided(flags, &o.exitUndecided)
	run.AddFormat(flags, &o.format, document.For[render.Run]())
	flags.BoolVar(&o.env.Show.Verbose, "verbose", false, run.VerboseUsage)
	run.AddWhy(flags, &o.why)
	flags.Lists("across", matrix.Across())
	flags.Lists("fail-on", matrix.Failures)
	addFlags(e, cmd, flags)
	return cmd
}

func (o *compareOptions) validate() error {
	formats := document.For[render.Run]()
	if o.exitUndecided != 0 && len(o.failOn) == 0 {
		return run.ErrExitUndecided
	}
	switch len(o.files) {
	case 0, 1:
	case 2:
		formats = document.For[render.Pair]()
	default:
		formats = document.For[render.Comparison]()
	}
	if err := formats.Check(o.format); err != nil {
		return err
	}
	for _, word := range o.across {
		if !slices.Contains(matrix.Across(), word) {
			return hint.Flag("across", word, hint.With(errors.New("no such condition"),
				"there are "+strings.Join(matrix.Across(), ", ")))
		}
	}
	if o.why == run.WhyConfirm {
		return hint.Usage(hint.With(errors.New("--why=confirm takes samples, and compare takes none"),
			"give --why=confirm to the run; gorun compare --why run.jsonl shows what it has found"))
	}
	if o.why != "" && len(o.files) != 1 {
		return hint.Usage(hint.With(errors.New("--why is about the cells of one journal"), "gorun compare --why run.jsonl"))
	}
	if n := len(o.files); n != 1 && (n == 0 || n%2 != 0) {
		return hint.Usage(hint.With(fmt.Errorf("compare takes one journal, or pairs of A and B, but got %d", n),
			"gorun compare before.jsonl after.jsonl"))
	}
	return nil
}

func runCompare(ctx context.Context, o *compareOptions) error {
	if err := o.validate(); err != nil {
		return err
	}
	sides := make([]matrix.Side, len(o.files))
	for i, file := range o.files {
		run, err := readJournal(ctx, o.env.Files(), file)
		if err != nil {
			return err
		}
		sides[i] = matrix.Side{File: file, Run: run}
	}
	if len(sides) == 1 {
		return o.judge(sides[0])
	}
	sides, again, err := matrix.Distinct(sides)
	if err != nil {
		return err
	}
	if document.For[render.Comparison]().Check(o.format) != nil { // a format of the runs themselves: another program compares them
		pair := render.Views(views).Pair(sides[0].Run, sides[1].Run, sides[0].File, sides[1].File)
		return document.Show(o.env.Stdout, pair, o.format, o.env.Show)
	}
	columns, _ := render.Views(views).Known(sides[0].Run.Experiment)
	comparison, err := matrix.Compare(sides[0], sides[1], columns, o.across, o.force, sides[2:]...)
	if err != nil {
		return err
	}
	comparison.Tool = tool()
	if again != nil {
		comparison.Warnings = append(comparison.Warnings, *again)
	}
	if len(o.failOn) > 0 {
		if err := o.failOn.Check(sides[0].Run); err != nil {
			return err
		}
		comparison.Gate = o.failOn.GateBetween(sides[0].Run, comparison.Cells)
		fmt.Fprintln(o.env.Stderr, hint.Line(comparison.Gate.String()))
	}
	if err := document.Show(o.env.Stdout, render.Comparison{Comparison: comparison}, o.format, o.env.Show); err != nil {
		return err
	}
	return run.Gated(comparison.Gate, o.exitUndecided)
}

// judge shows the run of one journal with its verdicts, as the run itself did.
func (o *compareOptions) judge(side matrix.Side) error {
	if side.Run.Matrix != nil {
		if err := o.failOn.Check(side.Run); err != nil {
			return err
		}
	}
	if side.Run.Gate = o.failOn.Gate(side.Run); side.Run.Gate != nil {
		fmt.Fprintln(o.env.Stderr, hint.Line(side.Run.Gate.String()))
	}
	if o.why != "" {
		matrix.ExplainAll(side.Run)
	}
	if err := document.Show(o.env.Stdout, render.Views(views).Run(side.Run), o.format, o.env.Show); err != nil {
		return err
	}
	return run.Gated(side.Run.Gate, o.exitUndecided)
}

// readJournal reads a journal, judges its cells, if it has any, and adds what follows from its samples.
func readJournal(ctx context.Context, files input.Opener, path string) (*result.Run, error) {
	recording, err := journal.Read(ctx, files, path, render.Views(views).Known)
	if err != nil {
		return nil, err
	}
	if why := recording.Unjudged; why != nil {
		return nil, fmt.Errorf("%s: %w", path, why)
	}
	render.Views(views).Derive(recording.Run)
	return recording.Run, nil
}
