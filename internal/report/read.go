package report

import (
	"encoding/json"
	"fmt"
	"os"

	"gorun/internal/column"
	"gorun/internal/hint"
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

// Read reads a journal, also of a run in progress, or a run that --format json wrote, and judges cells without
// verdicts.
func Read(path string, views render.Views) (Input, error) {
	in := Input{File: path}
	recording, err := journal.Read(path, views.Known)
	if err != nil {
		in.Run, err = readJSON(path, err)
		in.Ended = true
		return in, err
	}
	in.Run, in.Ended = recording.Run, recording.Ended
	views.Derive(in.Run)
	if recording.Torn {
		torn := recording.Lines + 1
		in.Run.Warnings = append(in.Run.Warnings, result.Warning{
			Code:    "torn-line",
			Message: fmt.Sprintf("the last line of the journal, %d, is incomplete and was left out", torn),
			Hint:    "a sample was being written, or the run was killed while writing",
		})
	}
	if why := recording.Unjudged; why != nil && recording.Footer() == nil {
		in.Run.Warnings = append(in.Run.Warnings, result.WarningOf("no-verdicts", "the cells cannot be judged", why))
		summarise(in.Run, views.Columns(in.Run.Experiment))
	}
	return in, nil
}

// readJSON reads a run that --format json wrote. If the file holds none, it returns the error of reading the journal.
func readJSON(path string, noJournal error) (*result.Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var run result.Run
	invalid := json.Unmarshal(text, &run)
	if run.Schema == "" {
		return nil, noJournal
	}
	if err := run.CheckSchema(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if invalid != nil {
		return nil, hint.With(fmt.Errorf("%s: it is not the JSON of a run", path), "give an unchanged output of --format json")
	}
	return &run, nil
}

// summarise sets the summary of each cell.
func summarise(run *result.Run, columns column.List) {
	time, err := matrix.Time(run.Matrix, columns)
	if err != nil {
		return // the samples have no figure to summarise
	}
	of := make([][]result.Sample, len(run.Cells))
	for _, s := range run.Samples {
		if s.Slot != nil && s.Cell >= 0 && s.Cell < len(of) {
			s.Seconds = time(s)
			of[s.Cell] = append(of[s.Cell], s)
		}
	}
	for i := range of {
		run.Cells[i].Summary = result.Summarise(of[i])
	}
}
