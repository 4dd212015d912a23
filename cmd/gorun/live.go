package main

import (
	"github.com/spf13/cobra"

	"gorun/internal/run"
	"gorun/internal/work/live"
)

// newLive is `gorun live`, a matrix whose cells are settings of a program that keeps running.
func newLive(e env) *cobra.Command {
	source := &live.Source{}
	x := live.Of(source)
	c, set := run.NewMatrix(e, x, source)
	for _, flag := range []string{"warmup", "estimate"} {
		set.Lookup(flag).Hidden = true // a block has --washout
	}
	set.Lookup("budget").DefValue = live.Budget.String()
	set.Rare("placement", "nice", "sched", "mems", "resume", "fail-on") // --vary has the settings
	return commandOf(e, x, set, c.Run)
}
