package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"gorun/internal/base/hint"
)

// Stdout is standard output. It keeps its first error, since some writers, such as a command's help, ignore errors.
type Stdout struct {
	file *os.File
	safe hint.Escaper // writes to the file
	mu   sync.Mutex
	err  error
}

// ErrNoReader is wrapped by the error of writing to a pipe whose reader has exited, like head(1). It is not a fault and
// is not reported.
var ErrNoReader = errors.New("nobody reads it")

func newStdout(file *os.File) *Stdout { return &Stdout{file: file, safe: hint.Escaper{W: file}} }

// NewStdout returns the standard output of this process.
func NewStdout() *Stdout {
	s := newStdout(os.Stdout)
	if closedAtStart() {
		s.err = hint.With(errors.New("stdout is closed"), "redirect it to a file or to /dev/null")
	}
	return s
}

// Write writes to stdout until it fails.
func (s *Stdout) Write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	n, err = s.safe.Write(p)
	switch {
	case errors.Is(err, syscall.EPIPE):
		s.err = fmt.Errorf("stdout: %w", ErrNoReader)
	case err != nil:
		s.err = fmt.Errorf("cannot write to stdout: %w", bare(err))
	}
	return n, s.err
}

// Err returns the first error of writing.
func (s *Stdout) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// dup returns stdout as a file to be closed, which writes where stdout writes, after it.
func (s *Stdout) dup() (*os.File, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	fd, err := syscall.Dup(int(s.file.Fd()))
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "/dev/stdout"), nil
}

// Check returns the error that writing to w would have, as far as that is known before.
func Check(w io.Writer) error {
	_, err := w.Write(nil)
	return err
}
