package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gorun/internal/hint"
)

// newMatrix is `gorun matrix`, with a command for each experiment.
func newMatrix(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Compare all combinations of the values of an experiment's flags",
		Long: "Each cell of the table is a command line of the experiment; each sample is a fresh process. Rounds take every\n" +
			"cell once, in a random order that the seed decides, until the differences from the baseline are known to\n" +
			"--precision, or --budget is over. The baseline runs twice: when it differs from itself, nothing is claimed.\n\n" +
			"Values are told apart by commas; CPU lists by spaces, or by giving their flag again.",
		Example: "  gorun matrix primes --workers 2,2000 --lock-thread=false,true\n" +
			"  gorun matrix primes --pin-cpus 'share:1/2 all' --dispatch goroutine,executor --out run.jsonl\n" +
			"  gorun matrix primes --preset quick",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var names []string
			for _, x := range rows {
				names = append(names, x.Name)
			}
			return hint.Usage(hint.With(fmt.Errorf("a matrix of %q is not known", args[0]),
				"gorun matrix takes "+strings.Join(names, ", ")))
		},
		Args: cobra.ArbitraryArgs,
	}
	for _, x := range rows {
		cmd.AddCommand(matrixCommand(e, x))
	}
	return cmd
}
