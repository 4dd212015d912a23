package experiment

import (
	"context"
	"time"

	"gorun/internal/result"
)

// Source finds the cells of an experiment that can only be planned after some work, such as a build. It belongs to one
// command line, and shares what it found with the flags that New returns.
type Source interface {
	// Register adds flags that are the same for all cells.
	Register(*FlagSet)
	// Open does the work.
	Open(ctx context.Context, o Opening) (Found, error)
	// Close removes what Open left, also after an error of Open.
	Close() error
}

// Opening is what a Source is asked for.
type Opening struct {
	Setting
	Args     []string          // those other than flags
	Recorded *result.Run       // the run that is to be continued; nil: none
	Dry      bool              // for a plan: nothing of the user's is built or run
	Doing    func(what string) // shows what is being done
}

// Found describes what a Source found.
type Found struct {
	Flag     string            // the flag that stands for the programs, each of which is a group of cells
	Programs []string          // its values; the first is the baseline
	Columns  []result.Column   // of the table, before those of the flags that are given
	Budget   time.Duration     // if none is given
	Spec     map[string]string // what else all cells have in common
	// Alone: nothing can be compared, because only one program has something to measure. These say what that is.
	Alone []result.Warning
	// Layouts is the number of orders of the programs' functions: round i uses number i mod Layouts.
	Layouts int
}
