package main

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gorun/internal/experiment"
	"gorun/internal/place/subject"
	"gorun/internal/run"
	"gorun/internal/work/bind"
	"gorun/internal/work/c2c"
	"gorun/internal/work/command"
	"gorun/internal/work/contend"
	"gorun/internal/work/futex"
	"gorun/internal/work/gobench"
	"gorun/internal/work/live"
	"gorun/internal/work/memory"
	"gorun/internal/work/migrate"
	"gorun/internal/work/numa"
	"gorun/internal/work/pair"
	"gorun/internal/work/primes"
)

// rows are the experiments. To add one, write its package and its row here.
var rows = []experiment.Experiment{
	primes.Experiment,
	contend.Experiment,
	c2c.Experiment,
	numa.Experiment,
	command.Experiment,
	pair.Experiment,
	bind.Experiment,
	futex.Experiment,
	migrate.Experiment,
	memory.Experiment,
}

// views show the runs of all experiments, also of those that are not in rows: they have their own commands.
var views = append(slices.Clone(rows), gobench.Experiment, live.Experiment)

// plainCommand is `gorun EXPERIMENT`.
func plainCommand(e env, x experiment.Experiment) *cobra.Command {
	c, set := run.New(e, x)
	return commandOf(e, x, set, c.Run)
}

// matrixCommand is `gorun matrix EXPERIMENT`.
func matrixCommand(e env, x experiment.Experiment) *cobra.Command {
	c, set := run.NewMatrix(e, x, &run.File{Experiment: x.Name})
	cmd := commandOf(e, x, set, c.Run)
	cmd.Short = "Compare cells of gorun " + x.Name
	cmd.Long = "The cells are all combinations of the values of gorun " + x.Name + "'s flags: several values of a flag are\n" +
		"separated by commas, CPU lists by spaces. Samples of all cells take turns, each in a fresh process, and\n" +
		"each cell is judged against the first one, or against --baseline."
	cmd.Example = x.Matrix
	return cmd
}

// aliases are other names of flags, the same as in hyperfine(1).
var aliases = map[string]string{"runs": "samples"}

func commandOf(e env, x experiment.Experiment, set *experiment.FlagSet, runF func(context.Context, []string) error) *cobra.Command {
	if x.Outlasting {
		runF = restoring(e, set, runF)
	}
	cmd := &cobra.Command{
		Use: strings.TrimSpace(x.Name + " " + x.Args), Short: x.Short, Long: x.Long, Example: x.Example,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runF(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(aliases[name], name))
	})
	flags.SetInterspersed(!x.TakesCommand) // the words after a command's name are its own
	addFlags(e, cmd, set)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	if x.TakesCommand {
		cmd.ValidArgsFunction = completeCommand(e)
	}
	return cmd
}

// restoring adds --restore, and returns what runs with it or without it.
func restoring(e env, set *experiment.FlagSet, runF func(context.Context, []string) error) func(context.Context, []string) error {
	var which string
	set.StringVar(&which, "restore", "", "put back what runs left changed that were killed together with their guardian, and stop;\n"+
		"with = only what the state in a `file` says")
	set.Lookup("restore").NoOptDefVal = subject.Every
	set.Group("Afterwards")
	set.Rare("restore")
	return func(ctx context.Context, args []string) error {
		if which != "" {
			return subject.Restore(e.Stdout, which)
		}
		return runF(ctx, args)
	}
}

// runSample runs the child that takes samples of one cell.
func runSample(ctx context.Context, in io.Reader, out io.Writer) error {
	return run.Child(ctx, rows, in, out)
}
