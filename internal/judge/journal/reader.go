// Package journal writes, reads and checks journals: files of JSON lines with the header, the samples and the footers of a run.
// All commands read journals through it. What it has read needs no further check.
package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"gorun/internal/base/fastjson"
	"gorun/internal/base/hint"
	"gorun/internal/files/input"
	"gorun/internal/files/jsonl"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// Columns returns the columns of an experiment, and reports whether this gorun has that experiment.
type Columns func(experiment string) (columns column.List, known bool)

// Recording is a journal that was read. Its lines do not contradict each other: each sample is the next one of the run's
// schedule and is of one of its cells, each cell is compared with one of the others, and the verdicts and summaries are those
// that follow from the samples.
type Recording struct {
	// Run is the header with the samples, the results of the last footer, and the verdicts and summaries of the cells. It is
	// partial unless it has ended with the footer of a complete run.
	Run *result.Run
	// Judging is the state of a run in randomised complete blocks after its last sample, from which it can continue; nil for
	// another run, or one that is not judged.
	Judging *matrix.Judging
	Search  *matrix.Search // likewise, of a search; nil for another run
	Footed  int            // samples before the last footer; −1: there is none
	Ended   bool           // the last line is a footer: otherwise the run is in progress, or was killed
	Lines   int            // complete ones
	Torn    bool           // a broken or incomplete last line was left out
	// Unjudged is why the cells have no verdicts, or only those of the footer: this gorun cannot judge an experiment that it
	// does not have. nil: the cells are judged, or need no verdict.
	Unjudged error

	whole int64 // bytes of the complete lines
}

// Read reads a journal, also of a run that is in progress or was killed. An error names the first line that is wrong.
func Read(ctx context.Context, files input.Opener, path string, columns Columns) (*Recording, error) {
	file, err := files.Open(ctx, path, input.Any)
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

// ReadRun reads a journal, or a run that --format json printed, which is no recording. It returns one of the two.
func ReadRun(ctx context.Context, files input.Opener, path string, columns Columns) (rec *Recording, run *result.Run, err error) {
	return NewFollower(files, path, columns).Read(ctx)
}

// headBytes is how much of a text another looks at.
const headBytes = 1 << 16

// read reads a journal. Its last line may be broken or incomplete.
func read(in io.Reader, columns Columns) (*Recording, error) {
	return newReader(columns).read(in)
}

// ReadHeader reads the journal in a regular file as if it had no samples.
func ReadHeader(path string) (*result.Run, error) {
	file, err := input.Opener{}.Open(context.Background(), path, input.Any)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	line, err := input.ReadLine(bufio.NewReader(file))
	if err != nil {
		return nil, err
	}
	rec, err := read(bytes.NewReader(line), func(string) (column.List, bool) { return column.Common(), false })
	if err != nil {
		return nil, err
	}
	return rec.Run, nil
}

// reader reads a journal, at once or in parts as it grows. A line that contradicts the lines before it is an error only when all have been
// read: a footer that counts other samples says more than the first sample after a gap.
type reader struct {
	order
	*checker
	whole int64  // bytes of the complete lines
	seal  []byte // of the last complete line
	wrong error  // the first contradiction
}

func newReader(columns Columns) *reader { return &reader{checker: newChecker(columns)} }

// read adds the lines that follow those that were read before.
func (r *reader) read(text io.Reader) (*Recording, error) {
	in := bufio.NewReaderSize(text, headBytes)
	if r.lines == 0 {
		if err := another(in); err != nil {
			return nil, err
		}
	}
	end, err := jsonl.Read(in, r.add)
	switch {
	case errors.Is(err, input.ErrLongLine):
		return nil, hint.With(err, noJournal)
	case err != nil:
		return nil, err
	case r.lines == 0:
		err := errors.New("it contains no complete line of a journal")
		if end.Broken != nil {
			err = fmt.Errorf("%w: %w", err, end.Broken)
		}
		return nil, hint.With(err, noJournal)
	case r.wrong != nil:
		return nil, r.wrong
	}
	if end.Whole > 0 {
		r.whole, r.seal = r.whole+end.Whole, end.Seal
	}
	return r.recording(r.whole, end.Torn), nil
}

// add adds the next line. unsealed is an error if it has no checksum.
func (r *reader) add(number int, text []byte, unsealed error) error {
	line, err := decode(text, unsealed)
	if err == nil {
		err = r.follow(line)
	}
	if err == nil && r.wrong == nil {
		if wrong := r.take(line); wrong != nil {
			r.wrong = hint.With(fmt.Errorf("line %d: %w", number, wrong), way(r.Run.Tool))
		}
	}
	return err
}

// order checks that lines have a right order: a header, samples, and footers that count them.
type order struct {
	lines    int
	samples  int
	ended    bool // the last line is a footer
	warnings []result.Warning
}

// follow checks the next line. A run that is resumed after a footer writes another when it has taken samples.
func (o *order) follow(line result.Line) error {
	var err error
	way := asWritten
	switch f := line.Footer; {
	case o.lines == 0 && line.Header == nil:
		err = errors.New("it comes before the header")
	case o.lines > 0 && line.Header != nil:
		err, way = errors.New("a second header"), "a journal holds one run: split the file"
	case line.Header != nil && line.Header.Taken() > 0:
		err = errors.New("the header holds samples")
	case line.Header != nil:
		o.warnings = line.Header.Warnings
	case line.Sample != nil:
		o.samples, o.ended = o.samples+1, false
	case line.End != nil:
	case o.ended:
		err = errors.New("a second footer, without a sample between the two")
	case f.Samples != o.samples:
		err = fmt.Errorf("the footer counts %d samples, but %d come before it", f.Samples, o.samples)
		way = "lines were lost or added after the run: use an unchanged copy of the file"
	case len(f.Warnings) < len(o.warnings) || !slices.Equal(f.Warnings[:len(o.warnings)], o.warnings):
		err = errors.New("the footer does not begin with the earlier warnings of the run")
	default:
		o.ended, o.warnings = true, f.Warnings
	}
	if err != nil {
		return hint.With(err, way)
	}
	o.lines++
	return nil
}

// decode reads the JSON of a line. unsealed is an error if it has no checksum.
func decode(text []byte, unsealed error) (line result.Line, err error) {
	err = fastjson.Unmarshal(text, &line)
	if line.Header != nil { // before the errors: another schema may have other types and no checksum
		if err := checkSchema(line.Header); err != nil {
			return line, err
		}
	}
	kinds := 0
	for _, is := range []bool{line.Header != nil, line.Sample != nil, line.Footer != nil, line.End != nil} {
		if is {
			kinds++
		}
	}
	switch {
	case unsealed != nil:
		err = unsealed
	case err != nil:
		err = inWords(err)
	case kinds != 1:
		err = fmt.Errorf("a line must be exactly one of header, sample, footer and end, but this one has %d of them", kinds)
	default:
		return line, nil
	}
	return line, hint.With(err, asWritten)
}
