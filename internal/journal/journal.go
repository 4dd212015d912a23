// Package journal writes, reads and checks journals: files of JSON lines with the header, the samples and the footers of a run.
// All commands read journals through it. What it has read needs no further check.
package journal

import (
	"fmt"
	"os"

	"gorun/internal/column"
	"gorun/internal/matrix"
	"gorun/internal/result"
)

// Columns returns the columns of an experiment, and reports whether this gorun has that experiment.
type Columns func(experiment string) (columns column.List, known bool)

// Recording is a journal that was read. Its lines do not contradict each other: each sample is the next one of the run's
// schedule and is of one of its cells, each cell is compared with one of the others, and the verdicts and summaries are those
// that follow from the samples.
type Recording struct {
	run      *result.Run
	judging  *matrix.Judging
	footed   int // samples before the last footer; −1: there is none
	ended    bool
	torn     bool
	lines    int
	whole    int64 // bytes of the complete lines
	unjudged error
}

// Run returns the run: the header with the samples, the results of the last footer, and the verdicts and summaries of the
// cells. It is partial unless it has ended with the footer of a complete run.
func (r *Recording) Run() *result.Run { return r.run }

// Judging returns the state of a run in randomised complete blocks after its last sample, from which it can continue; nil for
// another run, or one that is not judged.
func (r *Recording) Judging() *matrix.Judging { return r.judging }

// Footed returns the number of samples before the last footer, and reports whether there is a footer.
func (r *Recording) Footed() (samples int, found bool) { return r.footed, r.footed >= 0 }

// Ended reports whether the last line is a footer. A run that has not ended is in progress, or was killed.
func (r *Recording) Ended() bool { return r.ended }

// Lines returns the number of complete lines, and reports whether a broken or incomplete last line was left out.
func (r *Recording) Lines() (complete int, torn bool) { return r.lines, r.torn }

// Unjudged returns the reason why the cells have no verdicts, or only those of the footer: this gorun cannot judge an experiment
// that it does not have. nil: the cells are judged, or need no verdict.
func (r *Recording) Unjudged() error { return r.unjudged }

// Read reads a journal, also of a run that is in progress or was killed. An error names the first line that is wrong.
func Read(path string, columns Columns) (*Recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rec, err := read(file, columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rec, nil
}
