package main

import (
	"github.com/spf13/cobra"

	"gorun/internal/gobench"
	"gorun/internal/run"
)

// newBenchmarks is `gorun bench`, a matrix whose cells are benchmarks that it builds.
func newBenchmarks(e env) *cobra.Command {
	source := &gobench.Source{}
	x := gobench.Of(source)
	c, set := run.NewSourced(e, x, source)
	return commandOf(e, x, set, c.Run)
}
