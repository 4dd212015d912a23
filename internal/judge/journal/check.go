package journal

import (
	"errors"
	"fmt"
	"reflect"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

// checker adds lines to a recording, and checks each against those before it. The lines have a right order.
type checker struct {
	Recording
	of      Columns
	figures []matrix.Comparand // the judged ones; none: nothing is judged
	last    *result.Sample     // nil: none was taken
	partial bool               // what the last footer says
}

func newChecker(of Columns) *checker {
	return &checker{Recording: Recording{Footed: -1}, of: of}
}

// take takes the next line.
func (c *checker) take(line result.Line) error {
	c.Lines++
	switch {
	case line.Header != nil:
		return c.header(line.Header)
	case line.Sample != nil:
		return c.sample(line.Sample)
	case line.End != nil:
		return c.goOn(*line.End)
	}
	return c.footer(line.Footer)
}

// header takes the first line, and finds out how the samples are judged.
func (c *checker) header(run *result.Run) error {
	run.Samples, run.Confirming, run.Units = result.Samples{}, result.Samples{}, nil
	c.Run = run
	if err := checkCells(run); err != nil {
		return err
	}
	m := run.Matrix
	if m == nil {
		if len(run.Cells) > 0 {
			return errors.New("the header has cells, but not how they are compared")
		}
		return nil
	}
	if !reflect.DeepEqual(m, run.Header().Matrix) {
		return errors.New("the header has a verdict, before the first sample")
	}
	if err := checkCompared(run); err != nil {
		return err
	}
	columns, known := c.of(run.Experiment)
	var err error
	switch m.Order.Design {
	case "", result.Pairs, result.Rows, result.Search:
		c.figures, err = matrix.Comparands(run, columns)
	default:
		err = fmt.Errorf("this gorun does not know the design %q", m.Order.Design)
	}
	if err != nil && !known {
		c.Unjudged = err
		return nil
	}
	if err == nil && m.Order.Design == result.Search {
		c.Search, err = matrix.NewSearch(run, columns)
	}
	if err != nil || m.Order.Design != "" {
		return err
	}
	if c.Judging, err = matrix.NewJudging(run, columns); err != nil {
		return err
	}
	order := c.Judging.Order()
	order.Method = m.Order.Method
	return agrees("the order of the first round", m.Order, order)
}

// goOn takes another end.
func (c *checker) goOn(end result.End) error {
	if c.Judging == nil || end.Samples < 0 {
		return fmt.Errorf("an end at %d samples, which this run cannot have", end.Samples)
	}
	return c.Judging.GoOn(end)
}

// sample takes a sample.
func (c *checker) sample(s *result.Sample) error {
	i := c.Run.Index(s)
	if s.Index != i {
		return fmt.Errorf("the sample's index is %d instead of %d", s.Index, i)
	}
	if err := checkSample(s); err != nil {
		return err
	}
	if (s.Slot != nil) != (len(c.Run.Cells) > 0) {
		return errors.New("only one of the sample and the run has cells")
	}
	if s.Slot == nil {
		if i > 0 && c.last.Partial {
			return errors.New("a sample follows one that was cut short")
		}
	} else if err := c.place(s); err != nil {
		return err
	}
	if err := s.In(c.Run.Units); err != nil && s.Quality.Grade != result.Invalid {
		return err
	}
	c.Run.Take(*s)
	c.last, c.Ended = s, false
	switch {
	case c.Search != nil:
		return c.Search.Add(*s, s.Elapsed)
	case c.Judging == nil:
		return nil
	}
	return c.Judging.Add(*s)
}

// place checks a sample's place among the cells, and that it can be compared.
func (c *checker) place(s *result.Sample) error {
	cells := len(c.Run.Cells)
	if s.Confirms && c.Run.Matrix != nil {
		cells += len(c.Run.Matrix.Candidates)
	}
	if s.Cell < 0 || s.Cell >= cells {
		return fmt.Errorf("the sample is of cell %d of %d", s.Cell, cells)
	}
	before := 0.0
	if c.last != nil {
		before = c.last.Elapsed
	}
	switch took := s.Elapsed - before; {
	case took < 0:
		return fmt.Errorf("the sample ended %v s into the run, and the one before it %v s", s.Elapsed, before)
	case longer(s.Seconds, took):
		return fmt.Errorf("the sample took %v s, but the run only %v s in that time", s.Seconds, took)
	}
	if err := c.follows(s); err != nil {
		return err
	}
	why := ""
	switch {
	case s.Confirms:
	case c.Judging != nil:
		why = c.Judging.Refusal(s)
	case c.figures != nil && s.Good():
		why = c.figures[0].Refusal(s)
	}
	if why != "" {
		return fmt.Errorf("the sample is %s, but %s", s.Quality.Grade, why)
	}
	return nil
}

// follows checks that a sample is the next one of the schedule. That of blocks follows from the seed and the samples before it.
func (c *checker) follows(s *result.Sample) error {
	var done bool
	var want result.Slot
	switch {
	case s.Confirms && c.Unjudged != nil:
		return nil
	case s.Confirms:
		if c.Judging == nil || c.Judging.Confirming() == nil {
			return errors.New("the sample confirms a cause, and none is known yet")
		}
		done, want = c.Judging.Confirming().Done(), c.Judging.Confirming().Place()
	case c.Judging != nil:
		done, want = c.Judging.Done(), c.Judging.Next()
	case c.Search != nil:
		done, want = c.Search.Done(), c.Search.Place()
	default:
		return c.inOrder(s)
	}
	if want.Elapsed = s.Elapsed; done {
		return errors.New("the run was over before this sample")
	} else if want != *s.Slot {
		return fmt.Errorf("sample %d is not the one that the seed puts there", s.Index)
	}
	return nil
}

// inOrder checks that a sample is the next one of a schedule whose order is fixed.
func (c *checker) inOrder(s *result.Sample) error {
	m, before := c.Run.Matrix, c.Run.Samples.Len()
	last := result.Slot{Cell: -1}
	if before > 0 {
		last = *c.last.Slot
	}
	ok := true
	switch m.Order.Design {
	case result.Rows:
		ok = s.Cell == last.Cell && s.Round == last.Round+1 || s.Cell == last.Cell+1 && s.Round == 0
		ok = ok && (m.Rounds == 0 || s.Round < m.Rounds)
	case result.Pairs:
		ok = s.Round == before/2
		switch first := m.Order.First; {
		case before%2 == 1:
			ok = ok && s.Cell == 1-last.Cell
		case before == 0 && len(first) > 0 && len(first[0]) > 0:
			ok = ok && s.Cell == first[0][0]
		}
	default: // this gorun cannot judge it
		return nil
	}
	if !ok || s.Block != 0 || s.Control {
		return fmt.Errorf("the sample, of cell %d in round %d, is not the next one in the schedule", s.Cell, s.Round)
	}
	return nil
}

// footer takes a footer.
func (c *checker) footer(f *result.Footer) error {
	run := c.Run
	c.judge()
	if len(run.Cells) != len(f.Cells) {
		return fmt.Errorf("the footer has %d cells, but the header %d", len(f.Cells), len(run.Cells))
	}
	for i := range run.Cells {
		of, cell := f.Cells[i], &run.Cells[i]
		switch {
		case c.Unjudged != nil: // this gorun cannot judge it
			cell.Judged(of)
		case run.Matrix != nil && (run.Matrix.Rules < matrix.Reproduced || run.Matrix.Rules > matrix.Rules): // what followed by other rules is not what follows now
			of.Judged(*cell)
		}
		if err := agrees(fmt.Sprintf("cell %d of the footer", i), of, *cell); err != nil {
			return err
		}
	}
	if f.Summary != nil { // otherwise there are several rows, or another figure than wall time
		if run.Matrix != nil {
			return errors.New("the footer has one summary for several cells")
		}
		if err := agrees("the footer's summary", f.Summary, result.Summarise(run.Samples)); err != nil {
			return err
		}
	}
	c.Footed, c.Ended, c.partial = f.Samples, true, f.Partial
	run.Summary, run.Findings, run.Warnings, run.Overhead = f.Summary, f.Findings, f.Warnings, f.Overhead
	return nil
}

// judge sets the verdicts and summaries of the cells.
func (c *checker) judge() {
	switch {
	case c.figures == nil:
	case c.Judging != nil:
		c.Judging.Judge()
	case c.Search != nil:
		c.Search.Judge()
	case c.Run.Matrix.Order.Design == result.Pairs:
		matrix.JudgePairs(c.Run, c.figures)
	default:
		matrix.Summarise(c.Run, c.figures)
	}
}

// recording returns the recording of the lines that were taken, which are this many bytes. More lines may follow.
func (c *checker) recording(whole int64, torn bool) *Recording {
	if !c.Ended { // otherwise the footer's verdicts are the last
		c.judge()
	}
	rec := c.Recording
	rec.whole, rec.Torn, rec.Ended = whole, torn, c.Ended && !torn
	rec.Run.Partial = !rec.Ended || c.partial
	return &rec
}
