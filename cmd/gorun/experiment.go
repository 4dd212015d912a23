package main

import (
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
}

var experiments = [...]oldExperiment{
	{
		name: "numa", command: numaCommand, plan: planNuma,
		single: []string{"load-only", "duration", "blocks", "full", "preferred-node-by"}, datum: "ns_per_access",
		oneRow: "give --mem, --cpu, --numa-balancing and --preferred-node one value each",
	},
}

func numaCommand(e env) *cobra.Command { return newNuma(e, runNuma) }

// planBy has a command plan what its arguments ask for; the command's runF puts the plan where the caller finds it.
func planBy(cmd *cobra.Command, args []string) error {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--dry-run"}, args...))
	return cmd.Execute()
}
