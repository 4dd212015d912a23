package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/judge/journal"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
)

// newJournal is `gorun journal`, whose commands work on journals.
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
	cmd.AddCommand(newVerify(e))
	return cmd
}

func newVerify(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "verify RUN.jsonl...",
		Short: "Check that journals are whole and do not contradict themselves",
		Long: "The output has a line for each journal: the number of its lines and samples, or the first line that is wrong, and\n" +
			"why. The exit code is 1 if a journal is wrong. gorun report, gorun compare and --resume make the same checks, and\n" +
			"refuse such a journal. A last line that was cut off by a kill is not a fault.\n\n" +
			checked,
		Example: "  gorun journal verify run.jsonl\n" +
			"  gorun journal verify *.jsonl",
		Args:              cobra.ArbitraryArgs,
		RunE:              func(cmd *cobra.Command, files []string) error { return verify(cmd.Context(), e, files) },
		ValidArgsFunction: cobra.FixedCompletions([]string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt),
	}
}

// someJournals refuses a command line without a journal.
func someJournals(command string, files []string, example string) error {
	if len(files) == 0 {
		return hint.Usage(hint.With(fmt.Errorf("%s needs one journal or more", command), example))
	}
	return nil
}

// checked is the table of checks.
const checked = `  part         checks
  each line    the checksum is right; the line is a header, a sample or a footer, with values of the right types
  header       it is the first line and the only header; the schema is known; no two cells have the same name or flags; flags
               agree with the commands, and lists of CPUs with their counts; the baseline is one of the cells; the seed gives
               the first round; there are no verdicts
  order        the seed and the earlier samples give the cell, round and block of each sample
  index        0, 1, 2 and so on, without a gap or a repetition
  seconds      no time is negative, or zero in a sample that counts; the elapsed time never decreases; no sample took longer
               than the run did meanwhile, or than it was watched
  quality      a verdict other than "valid" has reasons; a valid sample's placement was verified
  workers      no more workers finished than there are; their times agree with their imbalance
  answers      in a matrix, the same work always has the same result
  footer       the number of samples is right; the earlier samples give its summaries and verdicts; it repeats the earlier
               warnings; there is a sample between two footers
  end          no sample follows the end of the run, or a sample that was cut short in a run without cells

A figure that cannot be computed from others, such as the user time of a sample, is protected only by its line's checksum.`

func verify(ctx context.Context, e env, files []string) error {
	if err := someJournals("verify", files, "gorun journal verify run.jsonl"); err != nil {
		return err
	}
	var wrong int
	var way string
	first := map[result.Identity]string{} // the file that holds a run
	for _, file := range files {
		recording, err := journal.Read(ctx, e.Files(), file, render.Views(views).Known)
		if ctx.Err() != nil {
			return errInterrupted
		}
		var line string
		if err == nil {
			line = file + ": " + described(recording)
			if before, found := first[recording.Run.Identity()]; found {
				line += "; the same run as in " + before
			} else {
				first[recording.Run.Identity()] = file
			}
		} else {
			line = err.Error()
			wrong, way = wrong+1, cmp.Or(way, hint.Of(err))
		}
		if _, err := fmt.Fprintln(e.Stdout, term.Clean(line)); err != nil {
			return err
		}
	}
	if wrong == 0 {
		return nil
	}
	err := fmt.Errorf("%d of %s cannot be trusted", wrong, units.Things(len(files), "journal"))
	if way == "" {
		return err
	}
	return hint.With(err, way)
}

// described returns the number of lines, samples and cells of a journal without faults.
func described(rec *journal.Recording) string {
	text := fmt.Sprintf("right: %s, %s", units.Things(rec.Lines, "line"), units.Things(rec.Run.Samples.Len(), "sample"))
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
