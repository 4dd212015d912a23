package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"

	"gorun/internal/column"
	"gorun/internal/hint"
	"gorun/internal/matrix"
	"gorun/internal/render"
	"gorun/internal/result"
)

// Input is a run and the file that it was read from.
type Input struct {
	File  string
	Run   *result.Run
	Ended bool // false: it still goes on, or was killed
}

// Read reads a journal, also of a run that goes on, or a run that --format json wrote, and judges the cells that it has
// no verdicts on.
func Read(path string, views render.Views) (Input, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Input{}, err
	}
	in := Input{File: path}
	recording, err := result.ReadJournal(bytes.NewReader(text))
	if err != nil {
		var run result.Run
		if invalid := json.Unmarshal(text, &run); run.Schema != "" {
			err = cmp.Or(run.CheckSchema(), invalid)
		}
		if err != nil {
			return Input{}, hint.With(fmt.Errorf("%s: %w", path, err), hint.Of(err))
		}
		in.Run, in.Ended = &run, true
		return in, nil
	}
	in.Run, in.Ended = recording.Run, recording.Ended
	if recording.Torn {
		torn := recording.Lines + 1
		in.Run.Warnings = append(in.Run.Warnings, result.Warning{
			Code:    "torn-line",
			Message: fmt.Sprintf("line %d of the journal, its last, is not whole, and is left out", torn),
			Hint:    "a sample was being written, or the run was killed meanwhile",
		})
	}
	judge(in.Run, views.Columns(in.Run.Experiment), recording.Footer)
	return in, nil
}

// judge puts verdicts on the cells of a journal. The samples of a matrix give the same verdicts whenever they are
// looked at; cells that were not taken in turns have what the footer says.
func judge(run *result.Run, columns column.List, footer *result.Footer) {
	if run.Matrix == nil {
		if footer != nil && len(footer.Cells) > 0 {
			run.Cells = footer.Cells
		}
		return
	}
	err := matrix.Judge(run, columns)
	if err == nil {
		return
	}
	if footer != nil && len(footer.Cells) == len(run.Cells) {
		run.Cells = footer.Cells
		return
	}
	run.Warnings = append(run.Warnings, result.WarningOf("no-verdicts", "the cells cannot be judged", err))
	summarise(run, columns)
}

// summarise sums up the samples of each cell.
func summarise(run *result.Run, columns column.List) {
	time, err := matrix.Time(run.Matrix, columns)
	if err != nil {
		return // the samples have no figure that could be summed up
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
