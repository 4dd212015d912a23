package main

import (
	"github.com/spf13/cobra"

	"gorun/internal/run"
	"gorun/internal/work/bisect"
	"gorun/internal/work/command"
)

// newBisect is `gorun bisect`, a search in the history of a repository.
func newBisect(e env) *cobra.Command {
	source := &bisect.Source{}
	x := command.Of(source)
	c, set := run.NewSearch(e, x, source)
	for _, flag := range []string{"name", "command", "copies", "dedicate", "all", "bind", "restore", "stat"} {
		if f := set.Lookup(flag); f != nil { // what all cells share is no axis
			f.Hidden = true
		}
	}
	x.Name, x.Args = "bisect", "--good REVISION [flags] {--bench REGEX PACKAGE | [--build COMMAND] -- COMMAND [ARGS…]}"
	cmd := commandOf(e, x, set, c.Run)
	cmd.Short = "Find the commit that made a command slower"
	cmd.Long = "Revisions between --good and --bad are built by --build in temporary folders and compared, until one commit is left.\n" +
		"That commit is compared with its first parent on new samples, and named if it is worse: a wrong commit is named in at most\n" +
		"5% of searches. --bench compares a Go benchmark instead of a command, --metric a figure that the command prints. Your work\n" +
		"tree stays as it is. Exit code 0: a commit is named; 1: none is."
	cmd.Example = "  gorun bisect --good v1.2 --build 'make -s' -- ./program input\n" +
		"  gorun bisect --good HEAD~50 --metric 'per second: *([0-9.]+)' --better higher --out search.jsonl -- ./server-test.sh\n" +
		"  gorun bisect --good main --bench 'Parse$' ./internal/base/shell"
	return cmd
}
