package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Line is one line of a journal (JSON Lines): exactly one of its fields is set. The first is the header, then come
// samples in the order in which they were taken, and a footer when the run ended in good order.
type Line struct {
	Header *Run    `json:"header,omitempty"` // without samples
	Sample *Sample `json:"sample,omitempty"`
	Footer *Footer `json:"footer,omitempty"`
}

// Footer is what was derived when the run ended.
type Footer struct {
	Samples  int       `json:"samples"`
	Summary  *Summary  `json:"summary,omitempty"`
	Findings []Finding `json:"findings"`
	Warnings []Warning `json:"warnings"`
	Partial  bool      `json:"partial"`
}

// Journal is a file of raw samples, a line and an fsync each: a killed run loses at most the sample in flight.
type Journal struct {
	file *os.File
}

// ErrExists tells that the journal's file holds something already.
var ErrExists = errors.New("holds an earlier run")

// CreateJournal opens the file before anything is measured. A regular file that holds something is not overwritten:
// the error wraps ErrExists.
func CreateJournal(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		err = fmt.Errorf("%s %w", path, ErrExists)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Journal{file: file}, nil
}

// Write appends a line and waits until it is on the disk. A nil Journal takes every line and keeps none.
func (j *Journal) Write(line Line) error {
	if j == nil {
		return nil
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(text, '\n')); err != nil {
		return err
	}
	if info, err := j.file.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil // a pipe or a terminal has no disk to wait for
	}
	return j.file.Sync()
}

// Close closes the file.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}
