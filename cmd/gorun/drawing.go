package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"gorun/internal/result"
)

// openSVG makes sure that a drawing can be written, before anything is measured. What it returns draws the run; the
// file takes its name only when it is whole.
func (s *session) openSVG(path string, write func(w io.Writer, run *result.Run) error) (draw func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".gorun-*.svg")
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() error {
		if err := os.Remove(file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return func() error {
		err := errors.Join(write(file, s.run), file.Chmod(0o644), file.Close())
		if err != nil {
			return err
		}
		return os.Rename(file.Name(), path)
	}, nil
}
