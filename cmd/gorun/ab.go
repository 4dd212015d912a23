package main

import (
	"github.com/spf13/cobra"

	"gorun/internal/run"
	"gorun/internal/work/command"
)

// newAB is `gorun ab`, the short form of a matrix of commands.
func newAB(e env) *cobra.Command {
	x := command.Experiment
	c, set := run.NewMatrix(e, x, &command.Commands{})
	for _, flag := range []string{"name", "command"} {
		set.Lookup(flag).Hidden = true // the positional arguments are the commands
	}
	x.Name, x.Args, x.TakesCommand = "ab", "'COMMAND A' 'COMMAND B'… [flags]", false
	cmd := commandOf(e, x, set, c.Run)
	cmd.Short = "Compare two commands or more: is this build faster than that one?"
	cmd.Long = "Samples of all commands take turns in a random order, and each command is judged against the first one.\n" +
		"A command is one argument, split into words as a shell does, without a shell; --shell runs it by sh -c.\n" +
		"{NAME} stands for each value of --param NAME=A,B. Flags of gorun exec, such as --placement, may take several\n" +
		"values: each command is run with each of them."
	cmd.Example = "  gorun ab 'gzip -1 -c /etc/services' 'gzip -2 -c /etc/services'\n" +
		"  gorun ab -n before -n after './old input' './new input' --prepare 'rm -f cache' --fail-on 'slower>5%'\n" +
		"  gorun ab 'xz -T {threads} -c /etc/services' --param threads=1,2 --placement unbound,one-cpu"
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return completeCommand(e)(cmd, nil, typed)
	}
	return cmd
}
