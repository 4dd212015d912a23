package journal

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"gorun/internal/files/input"
	"gorun/internal/record/result"
)

// Follower reads a journal that grows: each time, only what was appended.
type Follower struct {
	files   input.Opener
	path    string
	columns Columns
	reader  *reader     // of the lines that were read; nil: none
	file    fs.FileInfo // from which they were read
}

// NewFollower returns a follower that has read nothing.
func NewFollower(files input.Opener, path string, columns Columns) *Follower {
	return &Follower{files: files, path: path, columns: columns}
}

// Read returns what ReadRun would. A file that was replaced or cut, or whose new lines are wrong, is read from its beginning. A recording
// stays as it is when more is read, but its Judging does not.
func (f *Follower) Read(ctx context.Context) (rec *Recording, run *result.Run, err error) {
	file, err := f.files.Open(ctx, f.path, input.Any)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if f.reader != nil {
		if f.grown(file) {
			if rec, err = f.reader.read(file); err == nil {
				return snapshot(rec), nil, nil
			}
		}
		f.reader = nil
		err = file.From(0)
	}
	if err == nil {
		rec, run, err = f.anew(file)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return rec, run, nil
}

// anew reads a file from its beginning.
func (f *Follower) anew(file *input.File) (rec *Recording, run *result.Run, err error) {
	if f.file, err = file.Info(); err != nil {
		return nil, nil, err
	}
	reader, in := newReader(f.columns), bufio.NewReaderSize(file, headBytes)
	if rec, err = reader.read(in); err == nil {
		f.reader = reader
		return snapshot(rec), nil, nil
	}
	if limit := file.Limit(input.Document); limit != nil {
		return nil, nil, fmt.Errorf("%w; it %w", err, limit)
	}
	run, err = readJSON(in, f.columns, err) // of a document, no line was read
	return nil, run, err
}

// grown reports whether a file still has the last line that was read where it was. What follows that line is read next.
func (f *Follower) grown(file *input.File) bool {
	info, err := file.Info()
	if err != nil || !os.SameFile(info, f.file) {
		return false
	}
	seal := make([]byte, len(f.reader.seal))
	if file.From(f.reader.whole-int64(len(seal))) != nil {
		return false
	}
	_, err = io.ReadFull(file, seal)
	return err == nil && bytes.Equal(seal, f.reader.seal)
}

// snapshot returns a recording that does not change when more lines are read.
func snapshot(rec *Recording) *Recording {
	run := *rec.Run
	run.Cells, run.Warnings = slices.Clone(run.Cells), slices.Clip(run.Warnings)
	if run.Matrix != nil {
		run.Matrix = new(*run.Matrix)
	}
	rec.Run = &run
	return rec
}
