package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gorun/internal/base/hint"
)

// newMatrix is `gorun matrix`, with a command for each experiment.
func newMatrix(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Compare all combinations of the values of an experiment's flags",
		Long: "Each cell of the table is a command line of the experiment, and each sample is a new process. A round measures every\n" +
			"cell once, in random order. Rounds continue until the differences from the baseline are known to --precision, or\n" +
			"--budget is used up. The baseline is measured twice, under two names: if it differs from itself, there are no\n" +
			"verdicts.\n\n" +
			"Several values of a flag are separated by commas. CPU lists are separated by spaces, or given by repeating the flag.",
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
			return hint.Usage(hint.With(fmt.Errorf("there is no experiment %q", args[0]),
				hint.Near(args[0], names)+"gorun matrix takes "+strings.Join(names, ", ")))
		},
		Args: cobra.ArbitraryArgs,
	}
	for _, x := range rows {
		cmd.AddCommand(matrixCommand(e, x))
	}
	return cmd
}
