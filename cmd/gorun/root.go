package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/files/output"
	"gorun/internal/run"
	"gorun/internal/start/launch"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDoubtful    = 3 // --strict and a sample that is suspect or invalid; --fail-on and a cell with a verdict that it names; doctor, if not ready
	exitInterrupted = 130
	exitOwn         = launch.ExitRefused // of exec of one command, whose exit code gorun passes on
)

var (
	errDoubtful    = run.ErrDoubtful
	errInterrupted = run.ErrInterrupted
	errFailOn      = run.ErrFailOn
	errNotReady    = errors.New("not ready")
)

// execute executes a user's command line until ctx ends, and returns the exit code. In every command, a stdout that fails is an
// error.
func execute(ctx context.Context, args []string, e env) int {
	e.Args = args
	cmd := newRoot(e, args...)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	if out, ok := e.Stdout.(*output.Stdout); ok && err == nil {
		err = out.Err()
	}
	return finish(e.Stderr, err)
}

// finish reports the error of a command, and returns the exit code.
func finish(stderr io.Writer, err error) int {
	silent := errors.Is(err, errInterrupted) || errors.Is(err, errDoubtful) || errors.Is(err, errFailOn) ||
		errors.Is(err, errNotReady) ||
		errors.Is(err, output.ErrNoReader) || errors.As(err, new(experiment.Status)) // already reported
	if is := (run.Undecided{}); errors.As(err, &is) {
		silent = is.Why == nil
	}
	if err != nil && !silent {
		launch.Report(stderr, err)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var status experiment.Status
	var never *launch.ExitError
	var undecided run.Undecided
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &undecided):
		return undecided.Code
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, &never):
		return never.Code
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errDoubtful), errors.Is(err, errFailOn), errors.Is(err, errNotReady):
		return exitDoubtful
	case hint.IsUsage(err), errors.Is(err, launch.ErrRequest):
		return exitUsage
	case errors.As(err, new(run.OwnFailure)):
		return exitOwn
	}
	return exitFailed
}

// entry is a row of the table of commands.
type entry struct {
	name string
	make func(env) *cobra.Command
}

// commands are the commands other than the experiments, which are in rows. To add one, write it in its own file and add a row
// here.
var commands = [...]entry{
	{"matrix", newMatrix},
	{"ab", newAB},
	{"bench", newBenchmarks},
	{"bisect", newBisect},
	{"live", newLive},
	{"compare", newCompare},
	{"report", newReport},
	{"journal", newJournal},
	{"metrics", newMetrics},
	{"topo", newTopo},
	{"doctor", newDoctor},
	{"fleet", newFleet},
	{"version", newVersion},
}

// experiments is the ID of their group of commands.
const experiments = "experiments"

// newRoot returns the tree of commands. If the arguments begin with a command's name, the tree has only this command: making all
// takes a millisecond, which is long compared with a command that gorun exec starts.
func newRoot(e env, args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:   "gorun",
		Short: "Measure how placement affects a program",
		Long: "gorun answers, with evidence: how does the placement of goroutines, threads, processes and memory affect\n" +
			"a program?",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
		Version: version,
	}
	root.SetVersionTemplate(versionText())
	root.Flags().Bool("version", false, "print the version, the commit, and the compilers it was built with")
	root.SetUsageFunc(func(cmd *cobra.Command) error { return usage(e, cmd) })
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _ = help(e, cmd) }) // Stdout keeps its error
	root.SetHelpCommand(newHelp(e))
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		err = experiment.Refusal(err)
		way := cmp.Or(hint.Of(err), likeFlag(cmd, err)+cmd.CommandPath()+" --help lists the flags")
		return hint.Usage(hint.With(err, way))
	})
	all := slices.Clone(commands[:])
	for _, x := range rows {
		all = append(all, entry{x.Name, func(e env) *cobra.Command { return plainCommand(e, x) }})
	}
	if i := slices.IndexFunc(all, func(c entry) bool { return len(args) > 0 && c.name == args[0] }); i >= 0 {
		all = all[i : i+1]
	}
	for _, c := range all {
		cmd := c.make(e)
		if slices.ContainsFunc(rows[:], func(x experiment.Experiment) bool { return x.Name == c.name }) {
			cmd.GroupID = experiments
		}
		root.AddCommand(cmd)
	}
	root.AddGroup(&cobra.Group{ID: experiments, Title: "Experiments"})
	if len(all) > 1 {
		root.AddCommand(newTopics(e, root)...)
	}
	if root.CompletionOptions.DisableDefaultCmd = len(all) == 1; len(all) > 1 {
		root.InitDefaultCompletionCmd(args...)
		if cmd, _, err := root.Find([]string{"completion"}); err == nil {
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, root.RunE
		}
		if cmd, _, err := root.Find([]string{"completion", "bash"}); err == nil {
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return writeBashCompletion(root, cmd.Flags(), e.Stdout) }
		}
	}
	forEach(root, func(cmd *cobra.Command) {
		cmd.Flags().SortFlags = false
		cmd.Flags().VisitAll(experiment.RefuseEmpty)
		if cmd.Args == nil && cmd.Runnable() {
			cmd.Args = noArguments
		}
	})
	return root
}

func forEach(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, child := range cmd.Commands() {
		forEach(child, do)
	}
}

// noArguments is like cobra.NoArgs, with an error of usage and a hint.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return hint.Usage(hint.With(
		fmt.Errorf("%s takes no arguments, but got %q", cmd.CommandPath(), args[0]),
		fmt.Sprintf("%s --help lists the flags", cmd.CommandPath())))
}
