// Package journal reads journals, and returns an error if lines contradict each other. All commands read journals
// through it.
package journal

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"gorun/internal/column"
	"gorun/internal/hint"
	"gorun/internal/matrix"
	"gorun/internal/result"
)

// Columns returns the columns of an experiment, and reports whether this gorun has that experiment.
type Columns func(experiment string) (columns column.List, known bool)

// Recording is a consistent journal. The cells of its run have the verdicts and summaries that follow from the samples.
type Recording struct {
	result.Recording
	// Unjudged is the reason why the cells have no verdicts, or only those of the footer: this gorun cannot judge an
	// experiment that it does not have. nil: the cells are judged, or need no verdict.
	Unjudged error
}

// Read reads and checks a journal, also of a run that is in progress or was killed.
func Read(path string, columns Columns) (Recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return Recording{}, err
	}
	defer file.Close()
	rec, err := result.ReadJournal(file)
	var checked Recording
	if err == nil {
		checked, err = Check(rec, columns)
	}
	if err != nil {
		return Recording{}, fmt.Errorf("%s: %w", path, err)
	}
	return checked, nil
}

// Check returns an error that names a line if a part of the journal contradicts the others.
func Check(rec result.Recording, columns Columns) (Recording, error) {
	list, known := columns(rec.Run.Experiment)
	c := checker{Recording: Recording{Recording: rec}, columns: list, known: known, answers: map[string]answer{}}
	c.now = *rec.Run
	c.now.Samples = nil
	if rec.Run.Matrix != nil {
		m := *rec.Run.Matrix
		c.now.Matrix, c.now.Cells = &m, slices.Clone(rec.Run.Cells)
	}
	line, err := c.check()
	if err != nil {
		return Recording{}, hint.With(fmt.Errorf("line %d: %w", line, err), cmp.Or(hint.Of(err), way(rec.Run.Tool)))
	}
	return c.Recording, nil
}

// way returns a hint for a journal that contradicts itself. Another version of gorun may judge differently.
func way(writer result.Tool) string {
	text := "use an unchanged copy of the file"
	if writer.Version != "" {
		text += ", or read it with the gorun that wrote it, version " + writer.Version
	}
	return text
}

// checker goes over a journal line by line.
type checker struct {
	Recording
	columns column.List
	known   bool       // whether the experiment is known
	now     result.Run // as it was after the current line
	board   *matrix.Board
	time    func(result.Sample) float64 // the compared figure; nil: none
	answers map[string]answer           // by question
}

// answer is the first answer to a question.
type answer struct {
	is   string
	line int
}

// check returns the line of the error.
func (c *checker) check() (line int, err error) {
	if err := c.header(); err != nil {
		return 1, err
	}
	samples := c.Run.Samples
	footer, judged := 0, -1
	for i := 0; ; i++ {
		for ; footer < len(c.Footers) && c.Footers[footer].Samples == i; footer++ {
			line, judged = c.FooterLine(footer), i
			if err := c.judge(); err != nil {
				return line, err
			}
			if err := c.footer(c.Footers[footer]); err != nil {
				return line, err
			}
		}
		if i == len(samples) {
			break
		}
		line = c.SampleLine(i)
		if err := c.sample(i, line); err != nil {
			return line, err
		}
	}
	if judged < len(samples) {
		if err := c.judge(); err != nil {
			return line, err
		}
	}
	if c.Unjudged == nil {
		c.Run.Matrix, c.Run.Cells = c.now.Matrix, c.now.Cells
	} else if last := c.Footer(); last != nil {
		c.Run.Cells = last.Cells
	}
	return 0, nil
}

// header checks the first line, and finds out how the samples are judged.
func (c *checker) header() error {
	if err := checkCells(c.now.Cells); err != nil {
		return err
	}
	m := c.now.Matrix
	if m == nil {
		return nil
	}
	contrasted := slices.ContainsFunc(m.Contrasts, func(c result.Contrast) bool { return c.Verdict != nil })
	if m.Control != nil || m.Controls != nil || m.ControlVerdicts != nil || m.Ranking != nil || m.Groups != nil || contrasted {
		return fmt.Errorf("the header has a verdict, before the first sample")
	}
	if m.Baseline < 0 || m.Baseline >= len(c.now.Cells) {
		return fmt.Errorf("the baseline is cell %d of %d", m.Baseline, len(c.now.Cells))
	}
	var err error
	if c.time, err = matrix.Judged(m, c.columns); err != nil {
		if !c.known {
			c.Unjudged = err
			return nil
		}
		return err
	}
	if m.Order.Design != "" {
		return nil
	}
	if c.board, err = matrix.NewBoard(&c.now, c.columns); err != nil {
		return err
	}
	order := c.board.Order()
	order.Method = m.Order.Method
	return agrees("the order of the first round", m.Order, order)
}

// judge adds the verdicts to the run as it was after the current line.
func (c *checker) judge() error {
	switch {
	case c.Unjudged != nil:
		return nil
	case c.board != nil:
		c.board.Judge()
		return nil
	}
	return matrix.Judge(&c.now, c.columns)
}

// sample checks the next sample.
func (c *checker) sample(i, line int) error {
	s := &c.Run.Samples[i]
	if s.Index != i {
		return fmt.Errorf("the sample's index is %d instead of %d", s.Index, i)
	}
	if err := checkSample(s); err != nil {
		return err
	}
	if (s.Slot != nil) != (len(c.now.Cells) > 0) {
		return fmt.Errorf("only one of the sample and the run has cells")
	}
	if s.Slot == nil {
		if i > 0 && c.Run.Samples[i-1].Partial {
			return fmt.Errorf("a sample follows one that was cut short")
		}
	} else if err := c.place(i, line); err != nil {
		return err
	}
	c.now.Samples = c.Run.Samples[:i+1]
	if c.board == nil {
		return nil
	}
	if c.board.Done() {
		return fmt.Errorf("the run was over before this sample")
	}
	return c.board.Add(*s)
}

// place checks a sample's place in a matrix.
func (c *checker) place(i, line int) error {
	s := &c.Run.Samples[i]
	if s.Cell < 0 || s.Cell >= len(c.now.Cells) {
		return fmt.Errorf("the sample is of cell %d of %d", s.Cell, len(c.now.Cells))
	}
	before := 0.0
	if i > 0 {
		before = c.Run.Samples[i-1].Elapsed
	}
	switch took := s.Elapsed - before; {
	case took < 0:
		return fmt.Errorf("the sample ended %v s into the run, and the one before it %v s", s.Elapsed, before)
	case longer(s.Seconds, took):
		return fmt.Errorf("the sample took %v s, but the run only %v s in that time", s.Seconds, took)
	}
	if c.time != nil && s.Good() {
		if figure := c.time(*s); !(figure > 0 && figure < infinite) {
			return fmt.Errorf("the compared figure of the sample is %v: a time must be positive and finite", figure)
		}
	}
	if err := follows(c.now.Matrix, c.Run.Samples[:i], s); err != nil {
		return err
	}
	if s.Answer != nil && c.now.Matrix.Order.Design == "" && s.Quality.Verdict != result.Invalid {
		first, asked := c.answers[s.Answer.Of]
		if !asked {
			c.answers[s.Answer.Of] = answer{s.Answer.Is, line}
		} else if first.is != s.Answer.Is {
			return fmt.Errorf("%q are %q here, and %q in line %d", s.Answer.Of, s.Answer.Is, first.is, first.line)
		}
	}
	return nil
}

// footer checks a footer against the run as it was then.
func (c *checker) footer(f *result.Footer) error {
	cells := c.now.Cells
	if c.Unjudged != nil && len(f.Cells) == len(cells) { // this gorun cannot judge them
		cells = slices.Clone(cells)
		for i, of := range f.Cells {
			cells[i].Summary, cells[i].Verdict, cells[i].Verdicts, cells[i].Words = of.Summary, of.Verdict, of.Verdicts, of.Words
		}
	}
	if len(cells) != len(f.Cells) {
		return fmt.Errorf("the footer has %d cells, but the header %d", len(f.Cells), len(cells))
	}
	for i := range cells {
		if err := agrees(fmt.Sprintf("cell %d of the footer", i), f.Cells[i], cells[i]); err != nil {
			return err
		}
	}
	if f.Summary == nil { // several rows, or another figure than wall time
		return nil
	}
	if c.now.Matrix != nil {
		return fmt.Errorf("the footer has one summary for several cells")
	}
	return agrees("the footer's summary", f.Summary, result.Summarise(c.now.Samples))
}
