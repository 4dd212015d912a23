package experiment

import (
	"context"
	"time"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

// Source supplies the groups of cells of a matrix, after some work if they are not known before it, such as a build. It belongs to one
// command line, and may share what it found with the flags that New returns.
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
	Environment
	Args     []string                   // those other than flags
	Values   func(flag string) []string // of a flag in which cells can differ, on the command line; none: it was not given
	Vary     func(text string) error    // gives such a flag the values of a text NAME=A,B
	Recorded *result.Run                // the run that is to be continued; nil: none
	Dry      bool                       // for a plan: nothing of the user's is built or run
	One      bool                       // one setting is enough: its line of --apply is printed, and nothing is measured
	Captured bool                       // the machine is a captured one, of which nothing runs
	Doing    func(what string)          // shows what is being done
}

// Found describes what a Source found.
type Found struct {
	matrix.Spec
	Args    []string // for each cell
	Has     []string // flags in which cells can differ that the groups have already
	History [][]int  // of a search: the groups that each group follows, by index
	Rows    bool     // cells are named by their rows, even if each setting has one
	// Within is the default of --budget; 0: that of any matrix.
	Within time.Duration

	// Of cells that are programs: the columns of the table before those of the flags that are given, and the error if there is one
	// program in one setting.
	FirstColumns []result.FlagColumn
	Few          error
	Missing      error              // what the command line lacks, which is reported if all that it has is right
	Plan         func(*result.Plan) // adds the source's own part to a plan; nil: none

	// Alone: nothing can be compared, because only one program has something to measure. These say what that is.
	Alone []result.Warning
}
