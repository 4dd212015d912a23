// Package process measures what processes do that gorun starts for it, each fresh: two that run beside each other or
// talk to each other, and many that are bound to CPUs or not.
package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unsafe"

	"gorun/csrc"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/placement"
)

// Command is how a process is started: a program that calls RunPairSide or RunBind with its stdin and stdout.
type Command struct {
	Path string
	Args []string // its argv, from the program's name on
	Env  []string // all of its environment
}

// patience is how long processes that were asked to end may take before they are killed.
const patience = 2 * time.Second

// What a process inherits beside its standard files.
const (
	sharedFD = 3
	inFD     = 4 // of a ping-pong's pipes
	outFD    = 5
)

// member is one process of a group.
type member struct {
	name     string
	request  any
	files    []*os.File // from inFD on; the group closes its own
	process  *exec.Cmd
	messages *json.Decoder
	stderr   bytes.Buffer
}

// message is what a process writes: nothing but the brackets when it is ready, its answer when it has ended, or why
// it cannot.
type message[A any] struct {
	Answer *A     `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// together starts the processes, lets them go when all are ready, and returns what they answer and the common start.
// It calls ready before they go. When ctx ends they answer with what they have done by then; when one fails the others
// are ended too. None is left when it returns, nor when this process is killed.
func together[A any](ctx context.Context, c Command, members []*member, ready func() error) ([]A, time.Duration, error) {
	runtime.LockOSThread() // the processes die with this thread, which must last as long
	defer runtime.UnlockOSThread()
	file, err := linux.Memfd("gorun-shared", csrc.SharedBytes)
	if err != nil {
		return nil, 0, errors.Join(err, closeFiles(members))
	}
	memory, err := linux.MapShared(file, csrc.SharedBytes)
	if err != nil {
		return nil, 0, errors.Join(err, file.Close(), closeFiles(members))
	}
	shared := csrc.SharedAt(unsafe.Pointer(unsafe.SliceData(memory)))
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for _, m := range members {
		if err = m.start(ctx, c, file, shared); err != nil {
			break
		}
	}
	err = errors.Join(err, file.Close(), closeFiles(members)) // a process holds its own ends of the pipes alone
	if err == nil {
		_, err = hear[A](members, fail)
	}
	if err == nil {
		err = ready()
	}
	var answers []A
	if err == nil {
		shared.Open()
		answers, err = hear[A](members, fail)
	}
	if err != nil {
		fail(err) // does nothing where ctx has ended, or one process has failed
		err = context.Cause(ctx)
	}
	for _, m := range members {
		if m.process != nil && m.process.Process != nil {
			_ = m.process.Wait() // what it has written tells how it went
		}
	}
	return answers, time.Duration(shared.StartNS()), errors.Join(err, linux.UnmapShared(memory))
}

func (m *member) start(ctx context.Context, c Command, file *os.File, shared *csrc.Shared) error {
	text, err := json.Marshal(m.request)
	if err != nil {
		return fmt.Errorf("request of %s: %w", m.name, err)
	}
	m.process = exec.CommandContext(ctx, c.Path)
	m.process.Args, m.process.Env, m.process.SysProcAttr = c.Args, c.Env, linux.ChildAttr()
	m.process.ExtraFiles = append([]*os.File{file}, m.files...)
	m.process.Stdin, m.process.Stderr = bytes.NewReader(text), &m.stderr
	m.process.Cancel = func() error {
		shared.Stop()
		return nil
	}
	m.process.WaitDelay = patience
	out, err := m.process.StdoutPipe()
	if err == nil {
		m.messages = json.NewDecoder(out)
		err = m.process.Start()
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", m.name, err)
	}
	return nil
}

// closeFiles closes the group's own copies of what the processes inherit.
func closeFiles(members []*member) error {
	var errs []error
	for _, m := range members {
		for _, f := range m.files {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// hear waits for a message of every process. One that fails ends the others, lest they wait for it.
func hear[A any](members []*member, fail func(error)) ([]A, error) {
	answers, errs := make([]A, len(members)), make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() {
			if errs[i] = receive(m, &answers[i]); errs[i] != nil {
				fail(errs[i])
			}
		})
	}
	all.Wait()
	return answers, errors.Join(errs...)
}

func receive[A any](m *member, answer *A) error {
	var got message[A]
	if err := m.messages.Decode(&got); err != nil {
		_ = m.process.Process.Kill() // if it has not ended by itself
		_ = m.process.Wait()
		if said, _, _ := strings.Cut(strings.TrimSpace(m.stderr.String()), "\n"); said != "" {
			err = errors.New(said)
		}
		return fmt.Errorf("%s ended before its time: %w", m.name, err)
	}
	if got.Error != "" {
		err := fmt.Errorf("%s: %s", m.name, got.Error)
		if got.Hint != "" {
			err = hint.With(err, got.Hint)
		}
		return err
	}
	if got.Answer != nil {
		*answer = *got.Answer
	}
	return nil
}

// take is all that a process of a group does: it reads its request, prepares, says that it is ready, and answers with
// what work returns. A quiet process: no second thread runs Go code, and no garbage is collected.
func take[Q, A any](ctx context.Context, in io.Reader, out io.Writer, prepare func(Q) error,
	work func(Q, *csrc.Shared) (A, error),
) error {
	messages := json.NewEncoder(out)
	answer, err := func() (a A, err error) {
		runtime.GOMAXPROCS(1)
		debug.SetGCPercent(-1)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var request Q
		if err := json.NewDecoder(in).Decode(&request); err != nil {
			return a, fmt.Errorf("the request on stdin: %w", err)
		}
		memory, err := linux.MapShared(os.NewFile(sharedFD, "shared"), csrc.SharedBytes)
		if err != nil {
			return a, err
		}
		shared := csrc.SharedAt(unsafe.Pointer(unsafe.SliceData(memory))) // mapped until the process ends
		defer context.AfterFunc(ctx, shared.Stop)()
		if err := prepare(request); err != nil {
			return a, err
		}
		if err := messages.Encode(message[A]{}); err != nil {
			return a, err
		}
		return work(request, shared)
	}()
	if err != nil {
		_ = messages.Encode(message[A]{Error: err.Error(), Hint: hint.Of(err)}) // the error is returned as well
		return err
	}
	return messages.Encode(message[A]{Answer: &answer})
}

// confine lets this process run on these CPUs only, which is read back.
func confine(cpus cpuset.Set) error {
	_, err := placement.Confine(cpus) // until the process ends
	return err
}

// array is memory of so many whole words, which is there before it is used; nil for none.
func array(bytes uint64) (p unsafe.Pointer, words uint64, err error) {
	const word = 8
	if bytes < word {
		return nil, 0, nil
	}
	area, err := linux.NewArea(linux.AreaOptions{Bytes: int(min(bytes, 1<<62)), Node: -1})
	if err == nil {
		err = area.Touch()
	}
	if err != nil {
		return nil, 0, err
	}
	return area.Pointer(), bytes / word, nil
}
