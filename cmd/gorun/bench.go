package main

import (
	"github.com/spf13/cobra"

	"gorun/internal/run"
	"gorun/internal/work/gobench"
)

// newBenchmarks is `gorun bench`, a matrix whose cells are benchmarks that it builds.
func newBenchmarks(e env) *cobra.Command {
	source := &gobench.Source{}
	x := gobench.Of(source)
	c, set := run.NewMatrix(e, x, source)
	set.Lookup("budget").Usage = "begin no round that would not end within this time; if given, it also counts\n" +
		"what precedes the samples except building, and ends what is in progress (0: no limit;\n" +
		"default: as long as the number of cells needs)"
	set.Lookup("budget").DefValue = "0s"
	cmd := commandOf(e, x, set, c.Run)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if n := cmd.ArgsLenAtDash(); n >= 0 {
			source.Own, args = args[n:], args[:n]
		}
		return c.Run(cmd.Context(), args)
	}
	return cmd
}
