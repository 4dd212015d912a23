package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gorun/internal/hint"
	"gorun/internal/journal"
	"gorun/internal/render"
	"gorun/internal/render/term"
	"gorun/internal/units"
)

// newJournal is `gorun journal`, with a command for each thing to do with journals.
func newJournal(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Verify journals",
		Long: "A journal is the file that --out writes: JSON Lines, with a header, a line for each sample, and a footer when the\n" +
			"run ended. Each line ends with its checksum.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return hint.Usage(hint.With(fmt.Errorf("unknown command %q of journals", args[0]), "gorun journal takes verify"))
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(newVerify(e, runVerify))
	return cmd
}

// verifyOptions are the arguments of `gorun journal verify`.
type verifyOptions struct {
	env   env
	files []string
}

func newVerify(e env, runF func(context.Context, *verifyOptions) error) *cobra.Command {
	o := &verifyOptions{env: e}
	return &cobra.Command{
		Use:   "verify RUN.jsonl...",
		Short: "Check that journals are whole and do not contradict themselves",
		Long: "Each journal has a line in the output: how much is in it, or the first line that is wrong, and why. The exit code\n" +
			"is 1 if any is wrong. gorun report, gorun compare and --resume make the same checks, and refuse such a journal.\n" +
			"A last line that was cut off, as a kill leaves it, is no fault.\n\n" +
			checked,
		Example: "  gorun journal verify run.jsonl\n" +
			"  gorun journal verify *.jsonl",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return hint.Usage(hint.With(errors.New("verify takes one journal or several, and got none"),
					"gorun journal verify run.jsonl"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.files = args
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
}

// checked is the table of what is checked.
const checked = `  part         what is checked
  each line    its checksum; that it is a header, a sample or a footer, with values of the right types
  header       it is the first line and the only header; its schema is known; no two cells have one name or the same flags;
               flags agree with the commands, lists of CPUs with their counts; the baseline is one of the cells; the first
               round is the one that the seed gives; it has no verdicts
  order        cell, round and block of each sample are those that the seed and the samples before it give
  index        0, 1, 2 and so on, without a gap, and none twice
  seconds      none is negative, and none zero in a sample that counts; the elapsed time never goes back; no sample took
               longer than the run went on meanwhile, or than it was watched
  quality      a verdict has reasons unless it is "valid", and then the placement was verified
  workers      no more finished than there are; their times and their imbalance agree
  answers      in a matrix the same question always has the same answer
  footer       its number of samples; its summaries and verdicts are those that the samples before it give; it repeats the
               warnings from before; two footers have a sample between them
  end          no sample follows when the run was over, or after one that was cut short in a run without cells

A figure from which nothing else follows, such as the user time of one sample, is guarded by the checksum of its line alone.`

func runVerify(_ context.Context, o *verifyOptions) error {
	var wrong int
	var way string
	for _, file := range o.files {
		recording, err := journal.Read(file, render.Views(rows).Known)
		line := file + ": " + described(recording)
		if err != nil {
			line = err.Error()
			if wrong++; way == "" {
				way = hint.Of(err)
			}
		}
		if _, err := fmt.Fprintln(o.env.Stdout, term.Clean(line)); err != nil {
			return err
		}
	}
	if wrong == 0 {
		return nil
	}
	err := fmt.Errorf("%d of %s cannot be trusted", wrong, units.Things(len(o.files), "journal"))
	if way == "" {
		return err
	}
	return hint.With(err, way)
}

// described returns how much is in a journal that is right.
func described(rec journal.Recording) string {
	if rec.Run == nil {
		return ""
	}
	text := fmt.Sprintf("right: %s, %s", units.Things(rec.Lines, "line"), units.Things(len(rec.Run.Samples), "sample"))
	if cells := len(rec.Run.Cells); cells > 0 {
		text += " of " + units.Things(cells, "cell")
	}
	switch {
	case rec.Torn:
		text += fmt.Sprintf("; the run has not ended; line %d, the last, is incomplete and was left out", rec.Lines+1)
	case !rec.Ended:
		text += "; the run has not ended"
	}
	if rec.Unjudged != nil {
		text += "; not judged: " + rec.Unjudged.Error()
	}
	return text
}
