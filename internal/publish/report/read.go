package report

import (
	"context"
	"fmt"

	"gorun/internal/files/input"
	"gorun/internal/judge/journal"
	"gorun/internal/judge/matrix"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/view"
)

// Input is a run and the file that it was read from.
type Input struct {
	File  string
	Run   *result.Run
	Ended bool     // false: in progress, or killed
	Also  []string // other files that hold the same run, or the beginning of it
}

// files are those of a report, which may grow.
type files struct {
	paths    []string
	journals []*journal.Follower
	views    render.Views
}

func newFiles(open input.Opener, paths []string, views render.Views) *files {
	f := &files{paths: paths, views: views}
	for _, path := range paths {
		f.journals = append(f.journals, journal.NewFollower(open, path, views.Known))
	}
	return f
}

// ReadAll reads runs. Of files that hold the same run, one is returned, which names the others, also in a warning.
func ReadAll(ctx context.Context, open input.Opener, paths []string, views render.Views) ([]Input, error) {
	return newFiles(open, paths, views).read(ctx)
}

// read reads the runs as ReadAll does, and of journals that have grown since the last time only what was appended.
func (f *files) read(ctx context.Context) (inputs []Input, err error) {
	all, runs := make([]Input, len(f.paths)), make([]*result.Run, len(f.paths))
	for i, path := range f.paths {
		if all[i], err = read(ctx, f.journals[i], path, f.views); err != nil {
			return nil, err
		}
		runs[i] = all[i].Run
	}
	counts := result.Once(runs)
	for i, n := range counts {
		if i != n {
			all[n].Also = append(all[n].Also, f.paths[i])
		}
	}
	for i, n := range counts {
		if i != n {
			continue
		}
		if also := all[i].Also; len(also) > 0 {
			runs[i].Warnings = append(runs[i].Warnings, result.Warning{
				Code:    result.SameRun,
				Message: "the same run is in other files too, and is shown once: " + view.Names(also),
			})
		}
		inputs = append(inputs, all[i])
	}
	return inputs, nil
}

// read reads a journal, also of a run in progress, or a run that --format json printed. Its cells have the verdicts that follow
// from its samples.
func read(ctx context.Context, file *journal.Follower, path string, views render.Views) (Input, error) {
	recording, run, err := file.Read(ctx)
	if recording == nil { // the run has its findings and warnings
		if err == nil {
			matrix.Explain(run, false)
		}
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
