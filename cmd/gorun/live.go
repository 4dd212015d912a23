package main

import (
	"github.com/spf13/cobra"

	"gorun/internal/live"
	"gorun/internal/run"
	"gorun/internal/subject"
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
	cmd := commandOf(e, x, set, c.Run)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if source.Restore != "" {
			return subject.Restore(e.Stdout, source.Restore)
		}
		return c.Run(cmd.Context(), args)
	}
	return cmd
}
