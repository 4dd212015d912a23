package main

import (
	"github.com/spf13/cobra"

	"gorun/internal/result"
)

// experiment is one that a matrix can sweep. To add one, add its row.
type experiment struct {
	name    string
	command func(env) *cobra.Command
	plan    func(env, []string) (*result.Plan, error) // what a command line would do, without doing it
	single  []string                                  // flags that are the same for all cells, or make no sense in one
}

var experiments = [...]experiment{
	{"primes", primesCommand, planPrimes, []string{"duration", "workers-detail"}},
}

func primesCommand(e env) *cobra.Command { return newPrimes(e, runPrimes) }
