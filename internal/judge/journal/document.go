package journal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"gorun/internal/base/hint"
	"gorun/internal/record/result"
)

// readJSON reads a run that --format json printed, and checks it as a journal is checked. If the text is none, it returns the
// error of reading it as a journal.
func readJSON(r io.Reader, columns Columns, noJournal error) (*result.Run, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	run := new(result.Run)
	invalid := json.Unmarshal(text, run)
	if run.Schema == "" {
		return nil, noJournal
	}
	if err = checkSchema(run); err == nil {
		if invalid != nil {
			err = hint.With(errors.New("it is not the JSON of a run"), "give an unchanged output of --format json")
		} else if err = checkRun(run, columns); err != nil {
			err = hint.With(fmt.Errorf("its parts contradict each other: %w", err), way(run.Tool))
		}
	}
	return run, err
}

// checkRun checks a run as if its parts were the lines of a journal. Its cells get the verdicts that follow from its samples.
func checkRun(run *result.Run, columns Columns) error {
	header := run.Header()
	c := newChecker(columns)
	if err := c.header(header); err != nil {
		return err
	}
	var indices, places []int
	for i, s := range run.Samples.Each() {
		indices, places = append(indices, s.Index), append(places, i)
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(indices[a], indices[b]) }) // a run may show them in another order
	for i, at := range places {
		if err := c.sample(run.Samples.At(at)); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	printed := slices.Clone(run.Cells)
	for i := range run.Cells {
		run.Cells[i].Why = nil // a footer does not have it
	}
	err := c.footer(&result.Footer{Samples: len(places), Summary: run.Summary, Cells: run.Cells})
	run.Matrix, run.Cells = header.Matrix, header.Cells
	for i := range run.Cells {
		run.Cells[i].Why = printed[i].Why
	}
	if inUnits, of := run.In(header.Units); err == nil && of == nil {
		*run = *inUnits
	}
	return err
}
