package report

import (
	"context"
	"fmt"

	"gorun/internal/input"
	"gorun/internal/journal"
	"gorun/internal/matrix"
	"gorun/internal/render"
	"gorun/internal/result"
)

// Input is a run and the file that it was read from.
type Input struct {
	File  string
	Run   *result.Run
	Ended bool // false: in progress, or killed
}

// Read reads a journal, also of a run in progress, or a run that --format json printed. Its cells have the verdicts that follow
// from its samples.
func Read(ctx context.Context, files input.Opener, path string, views render.Views) (Input, error) {
	recording, run, err := journal.ReadRun(ctx, files, path, views.Known)
	if recording == nil {
		return Input{File: path, Run: run, Ended: true}, err
	}
	in := Input{File: path, Run: recording.Run, Ended: recording.Ended}
	views.Derive(in.Run)
	if recording.Torn {
		in.Run.Warnings = append(in.Run.Warnings, result.Warning{
			Code:    "torn-line",
			Message: fmt.Sprintf("the last line of the journal, %d, is incomplete and was left out", recording.Lines+1),
			Hint:    "a sample was being written, or the run was killed while writing",
		})
	}
	if why := recording.Unjudged; why != nil && recording.Footed < 0 {
		in.Run.Warnings = append(in.Run.Warnings, result.WarningOf("no-verdicts", "the cells cannot be judged", why))
		columns, _ := views.Known(in.Run.Experiment)
		if figures, err := matrix.Comparands(in.Run, columns); err == nil {
			matrix.Summarise(in.Run, figures)
		}
	}
	return in, nil
}
