package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"gorun/internal/result"
)

// oldExperiment is one that a matrix can sweep. To add one, add its row.
type oldExperiment struct {
	name    string
	command func(env) *cobra.Command                  // whose flags are the axes
	plan    func(env, []string) (*result.Plan, error) // what a command line would do, without doing it
	single  []string                                  // flags that are the same for all cells, or make no sense in one
	datum   string                                    // the value that is compared, in ns; "": wall seconds
	oneRow  string                                    // how a command line that would measure several rows is made to measure one
	take    func(env) (take, error)                   // how samples are taken; nil: by gorun itself as a fresh process
	runs    bool                                      // what follows -- is a command of the user's own, the same in all cells
}

// take takes one sample of a cell, after so many executions that are dropped. What cannot be done makes it invalid.
type take func(ctx context.Context, cell result.Cell, warmup int) (result.Sample, []result.Warning)

var experiments = [...]oldExperiment{
	{
		name: "exec", command: execCommand, plan: planExec, take: takeExec, runs: true,
		single: []string{"stat", "placements"},
	},
}

// experimentNamed finds an experiment that is in the table.
func experimentNamed(name string) oldExperiment {
	return experiments[slices.IndexFunc(experiments[:], func(x oldExperiment) bool { return x.name == name })]
}

func execCommand(e env) *cobra.Command { return newExec(e, nil) } // which itself sweeps

// planBy has a command plan what its arguments ask for; the command's runF puts the plan where the caller finds it.
func planBy(cmd *cobra.Command, args []string) error {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--dry-run"}, args...))
	return cmd.Execute()
}
