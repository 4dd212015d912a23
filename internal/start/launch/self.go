package launch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/linux"
)

// Patience is the time from a request to end until the process is killed, unless Self has another.
const Patience = 2 * time.Second

// Self is gorun as a program to start.
type Self struct {
	Path string   // of the executable
	Argv []string // argv[0], and everything before the arguments of Ask
	Env  []string // all of the environment
	// Patience is the time from a request to end until the process is killed; 0: the constant.
	Patience time.Duration
}

// In returns gorun with another environment.
func (s Self) In(environ []string) Self {
	s.Env = environ
	return s
}

// Args returns the whole argv of a process with these arguments.
func (s Self) Args(args ...string) []string { return slices.Concat(s.Argv, args) }

// Command returns a command that has not been started.
func (s Self) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Path)
	cmd.Args, cmd.Env = s.Args(args...), s.Env
	return cmd
}

// Ask runs one process: it gets the request as JSON on its stdin (nothing if the request is nil) and prints its answer
// as JSON. Ask returns what the process used. When ctx ends, the process is asked to end by a SIGTERM. If the process
// failed, the error is the one that it reported, with its hint.
func (s Self) Ask(ctx context.Context, args []string, request, answer any) (used linux.Usage, err error) {
	runtime.LockOSThread() // the process dies with this thread, which must last as long
	defer runtime.UnlockOSThread()
	cmd := s.Command(ctx, args...)
	cmd.SysProcAttr = linux.ChildAttr()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = cmp.Or(s.Patience, Patience)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if request != nil {
		text, err := json.Marshal(request)
		if err != nil {
			return used, fmt.Errorf("request of %s: %w", strings.Join(args, " "), err)
		}
		cmd.Stdin = bytes.NewReader(text)
	}
	if err := cmd.Run(); err != nil {
		return used, reported(err, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), answer); err != nil {
		return used, fmt.Errorf("%s: cannot read its result: %w", strings.Join(s.Args(args...), " "), err)
	}
	return linux.UsageOf(*cmd.ProcessState.SysUsage().(*syscall.Rusage)), nil
}

// Prefixes of the lines in which a process reports its error.
const (
	errorPrefix = "gorun: error: "
	hintPrefix  = "gorun: hint: "
)

// Report prints an error, and its hint if it has one, so that the parent's Ask finds both.
func Report(w io.Writer, err error) {
	fmt.Fprintf(w, "%s%s\n", errorPrefix, hint.Printable(err.Error()))
	if text := hint.Of(Remedied(err)); text != "" {
		fmt.Fprintf(w, "%s%s\n", hintPrefix, hint.Printable(text))
	}
}

// Remedied returns an error of the system with a hint, unless it already has one.
func Remedied(err error) error {
	if err == nil || hint.Of(err) != "" {
		return err
	}
	return hint.With(err, linux.Remedy(err))
}

// reported returns the error that a process has reported on its stderr.
func reported(err error, stderr string) error {
	exit := new(exec.ExitError)
	if !errors.As(err, &exit) {
		return Remedied(err)
	}
	if said, way := Said(stderr); said != "" {
		return hint.With(errors.New(said), way)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Errorf("the process was %w", linux.NewKilled(os.DirFS("/"), status.Signal()))
	}
	return fmt.Errorf("the process ended with %w", err)
}

// Said returns the error that a process has reported on its stderr, and its hint; "": none.
func Said(stderr string) (said, way string) {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "  ") {
			continue // a further line of a message (hint.Printable)
		}
		line = strings.TrimSpace(line)
		if text, found := strings.CutPrefix(line, errorPrefix); found {
			said = text
		}
		if text, found := strings.CutPrefix(line, hintPrefix); found {
			way = text
		}
	}
	return said, way
}

// Stderr is a file in memory that is the stderr of a process of gorun's whose output nobody else reads.
type Stderr struct{ *os.File }

// NewStderr returns an empty one.
func NewStderr() (Stderr, error) {
	file, err := linux.Memfd("gorun-stderr", 0)
	return Stderr{file}, err
}

// Reported returns the error that the process has reported there, with its hint, or else this one. It closes the file.
func (s Stderr) Reported(err error) error {
	defer s.Close()
	info, failed := s.Stat()
	if failed != nil || info.Size() == 0 {
		return err
	}
	text := make([]byte, min(info.Size(), mostReported))
	n, _ := s.ReadAt(text, 0)
	if said, way := Said(string(text[:n])); said != "" {
		return hint.With(errors.New(said), way)
	}
	return err
}

// mostReported is how much of an error is read.
const mostReported = 64 << 10

// Answer is the body of a process that Ask starts: it reads the request from in and prints what answer returns to out.
func Answer[Q, A any](ctx context.Context, in io.Reader, out io.Writer, answer func(context.Context, Q) (A, error)) error {
	request, err := read[Q](in)
	if err != nil {
		return err
	}
	a, err := answer(ctx, request)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(a)
}

// ErrRequest is wrapped by the error of a process that got no valid request.
var ErrRequest = errors.New("the request on stdin")

func read[Q any](in io.Reader) (request Q, err error) {
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return request, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return request, nil
}
