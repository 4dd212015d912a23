package guardian

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"gorun/internal/hint"
	"gorun/internal/program"
)

// programState is the state of a step of kind "program", whose name is the path of the file with the state, "" if there is none.
type programState struct{ *program.Saved }

const programKind = "program"

// HoldProgram makes the guardian put back what a program had, before it is switched. path is the file with the same state, which is
// for the case that the guardian is killed too, and which ends with the step; "": there is none.
func (g *Guardian) HoldProgram(s *program.Saved, path string) error {
	return g.add(programKind, path, programState{s})
}

// UndoProgram puts back what the program had. notes are those of program.Saved.PutBack.
func (g *Guardian) UndoProgram(s *program.Saved, path string) (notes []string, err error) {
	notes, err = putBack(s, path)
	g.forget(programKind, path)
	return notes, err
}

// undo is called in the guardian's process, which shares gorun's stderr.
func (s programState) undo(path string) error {
	notes, err := putBack(s.Saved, path)
	for _, note := range notes {
		fmt.Fprintln(os.Stderr, "gorun: the program is put back:", hint.Line(note))
	}
	return err
}

// putBack also removes the file, if everything is put back.
func putBack(s *program.Saved, path string) (notes []string, err error) {
	if notes, err = s.PutBack(); err != nil || path == "" {
		return notes, err
	}
	if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return notes, err
}
