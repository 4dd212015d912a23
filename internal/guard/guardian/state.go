package guardian

import (
	"errors"
	"fmt"
	"os"

	"gorun/internal/place/subject"
)

// state is a step that puts back a state. Its name is that of the state's file.
type state struct{ *subject.State }

const stateKind = "state"

// HoldState makes the guardian put back what a state says, and keep the files. It must be called before the change, and again when the state has
// become more. The state is also in a file then, for the case that the guardian is killed too.
func (g *Guardian) HoldState(s *subject.State, keep ...*os.File) error {
	if err := s.Keep(); err != nil {
		return err
	}
	if err := g.add(stateKind, s.ID(), s, s.Longest, keep...); err != nil {
		if !g.has(stateKind, s.ID()) {
			err = errors.Join(err, s.Drop())
		}
		return err
	}
	return nil
}

// PutBack puts back what a state says, whether or not the guardian holds it. notes are those of subject.State.PutBack. The file of what
// could not be put back stays.
func (g *Guardian) PutBack(s *subject.State) (notes []string, err error) {
	notes, err = s.Settle()
	g.forget(stateKind, s.ID())
	return notes, err
}

// PutBackMeanwhile reports whether the guardian has put back what a state says because this process was stopped by a signal for longer
// than State.Longest, since the last call.
func (g *Guardian) PutBackMeanwhile(s *subject.State) (bool, error) {
	line, err := g.ask(order{Look: &step{Kind: stateKind, Name: s.ID()}})
	return line == undone, err
}

// undo is called in the guardian's process, which shares gorun's stderr.
func (s state) undo(string) error {
	notes, err := s.Settle()
	for _, note := range notes {
		fmt.Fprintf(os.Stderr, "gorun: %v is put back: %s\n", s.State, note)
	}
	if err != nil {
		err = fmt.Errorf("put back %v: %w", s.State, err)
	}
	return err
}

// putBack puts everything back, and keeps the file.
func (s state) putBack(string) error {
	_, err := s.PutBack()
	return err
}
