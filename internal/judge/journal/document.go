package journal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
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
	var later []result.LaterEnd
	if run.Matrix != nil {
		later = run.Matrix.LaterEnds
	}
	goOn := func() error {
		for ; len(later) > 0 && later[0].After <= c.Run.Taken(); later = later[1:] {
			if err := c.goOn(later[0].End); err != nil {
				return err
			}
		}
		return nil
	}
	take := func(s *result.Sample) error {
		if err := goOn(); err != nil {
			return err
		}
		return c.sample(s)
	}
	var indices, places []int
	for i, s := range run.Samples.Each() {
		indices, places = append(indices, s.Index), append(places, i)
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(indices[a], indices[b]) }) // a run may show them in another order
	confirming := run.Confirming
	confirm := func(before float64) error { // a run that is resumed may go on after them
		for i := c.Run.Confirming.Len(); i < confirming.Len() && confirming.At(i).Slot != nil && confirming.At(i).Elapsed <= before; i++ {
			if err := take(confirming.At(i)); err != nil {
				return fmt.Errorf("confirming sample %d: %w", i, err)
			}
		}
		return nil
	}
	for i, at := range places {
		s := run.Samples.At(at)
		if s.Slot != nil {
			if err := confirm(s.Elapsed); err != nil {
				return err
			}
		}
		if err := take(s); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	if err := confirm(math.Inf(1)); err != nil {
		return err
	}
	if err := goOn(); err != nil { // no sample may come after an end
		return err
	}
	if len(later) > 0 {
		return fmt.Errorf("an end after %d samples, of which there are %d", later[0].After, c.Run.Taken())
	}
	printed := slices.Clone(run.Cells)
	for i := range run.Cells {
		run.Cells[i].Why = nil // a footer does not have it
	}
	err := c.footer(&result.Footer{Samples: c.Run.Taken(), Summary: run.Summary, Cells: run.Cells})
	run.Matrix, run.Cells = header.Matrix, header.Cells
	for i := range run.Cells {
		run.Cells[i].Why = printed[i].Why
	}
	if inUnits, of := run.In(header.Units); err == nil && of == nil {
		*run = *inUnits
	}
	return err
}
