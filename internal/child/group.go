package child

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
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"gorun/internal/hint"
	"gorun/internal/linux"
)

// Member is one process of a group.
type Member struct {
	Name    string     // as errors call it
	Request any        // what Serve reads
	Files   []*os.File // inherited as descriptors from 3 on; can be closed after Start
}

// Group is a number of processes that were started together.
type Group struct {
	members []*member
	ctx     context.Context
	fail    context.CancelCauseFunc
	ended   chan struct{} // closed when no member is left
	end     sync.Once
}

type member struct {
	name     string
	process  *exec.Cmd
	in       io.WriteCloser
	tid      int // of the thread that is ready
	messages *json.Decoder
	stderr   bytes.Buffer
}

// message is what a member writes: its thread when it is ready, its answer when it is done, or its error.
type message[A any] struct {
	TID    int    `json:"tid,omitempty"`
	Answer *A     `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// Start starts the processes. Each runs Serve and sends two messages, which Hear receives: one when it is ready, and
// its answer. They are asked to end when ctx ends, when one of them fails, or by End: by calling stop or, if that is
// nil, by closing their stdin. Those that do not end are killed after Patience, and all of them if this process is
// killed.
func (s Self) Start(ctx context.Context, command string, members []Member, stop func()) (*Group, error) {
	ctx, fail := context.WithCancelCause(ctx)
	g := &Group{ctx: ctx, fail: fail, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the processes die with this thread, which must last as long
		defer runtime.UnlockOSThread()
		started <- g.start(s, command, members, stop)
		<-g.ended
	}()
	if err := <-started; err != nil {
		fail(Remedied(err)) // does nothing if ctx has ended
		g.End()
		return nil, context.Cause(ctx)
	}
	return g, nil
}

func (g *Group) start(s Self, command string, members []Member, stop func()) error {
	for _, asked := range members {
		request, err := json.Marshal(asked.Request)
		if err != nil {
			return fmt.Errorf("request of %s: %w", asked.Name, err)
		}
		m := &member{name: asked.Name, process: s.Command(g.ctx, command)}
		m.process.SysProcAttr, m.process.ExtraFiles, m.process.Stderr = linux.ChildAttr(), asked.Files, &m.stderr
		m.process.WaitDelay = cmp.Or(s.Patience, Patience)
		in, inErr := m.process.StdinPipe()
		out, outErr := m.process.StdoutPipe()
		if err := errors.Join(inErr, outErr); err != nil {
			return fmt.Errorf("start %s: %w", m.name, err)
		}
		m.in, m.messages = in, json.NewDecoder(out)
		m.process.Cancel = func() error {
			if stop != nil {
				stop()
				return nil
			}
			return in.Close()
		}
		if err := m.process.Start(); err != nil {
			return fmt.Errorf("start %s: %w", m.name, err)
		}
		g.members = append(g.members, m)
		_, _ = in.Write(append(request, '\n')) // a member that does not read has ended, which Hear reports
	}
	return nil
}

// PIDs returns the members' processes.
func (g *Group) PIDs() []int {
	pids := make([]int, len(g.members))
	for i, m := range g.members {
		pids[i] = m.process.Process.Pid
	}
	return pids
}

// TIDs returns the IDs of the members' threads that called Serve, after they are ready.
func (g *Group) TIDs() []int {
	tids := make([]int, len(g.members))
	for i, m := range g.members {
		tids[i] = m.tid
	}
	return tids
}

// Stop asks all members to end, for this reason if the group has no other yet.
func (g *Group) Stop(reason error) { g.fail(reason) }

// Cause returns why the members were asked to end, such as the error of a failed member; nil if they were not.
func (g *Group) Cause() error { return context.Cause(g.ctx) }

// End asks the members to end, and returns when none is left. A second call does nothing.
func (g *Group) End() {
	g.end.Do(func() {
		g.fail(errEnded)
		for _, m := range g.members {
			_ = m.process.Wait() // its messages have reported the outcome
		}
		close(g.ended)
	})
}

var errEnded = errors.New("the group has ended")

// ReceiveAll waits for the next message of every member and returns the answers; nil for a member that is only ready or has
// failed. A member that fails makes the others end, because they may wait for it.
func ReceiveAll[A any](g *Group) ([]*A, error) {
	answers, errs := make([]*A, len(g.members)), make([]error, len(g.members))
	var all sync.WaitGroup
	for i, m := range g.members {
		all.Go(func() {
			if answers[i], errs[i] = receive[A](m); errs[i] != nil {
				g.fail(errs[i])
			}
		})
	}
	all.Wait()
	return answers, errors.Join(errs...)
}

func receive[A any](m *member) (*A, error) {
	var got message[A]
	if err := m.messages.Decode(&got); err != nil {
		if how := m.ended(); how != nil {
			err = how
		}
		if said, _, _ := strings.Cut(strings.TrimSpace(m.stderr.String()), "\n"); said != "" {
			err = errors.New(strings.TrimPrefix(said, errorPrefix))
		}
		return nil, fmt.Errorf("%s ended before its time: %w", m.name, err)
	}
	if got.Error != "" {
		return nil, hint.With(fmt.Errorf("%s: %s", m.name, got.Error), got.Hint)
	}
	if got.TID != 0 {
		m.tid = got.TID
	}
	return got.Answer, nil
}

// ended waits for the end of a member whose messages ended. It returns the error with which the process ended; nil if it had to
// be killed.
func (m *member) ended() error {
	kill := time.AfterFunc(m.process.WaitDelay, func() { _ = m.process.Process.Kill() })
	how := m.process.Wait()
	if !kill.Stop() {
		return nil
	}
	return ending(how)
}

// Serve runs a member of a group: it reads its request, prepares, reports that it is ready, and answers with the result
// of work. The process is quiet: no second thread runs Go code, and no garbage is collected.
func Serve[Q, A any](in io.Reader, out io.Writer, prepare func(Q) error, work func(Q) (A, error)) error {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	messages := json.NewEncoder(out)
	answer, err := func() (a A, err error) {
		request, err := read[Q](in)
		if err != nil {
			return a, err
		}
		if err := prepare(request); err != nil {
			return a, err
		}
		if err := messages.Encode(message[A]{TID: linux.Gettid()}); err != nil {
			return a, err
		}
		return work(request)
	}()
	if err != nil {
		_ = messages.Encode(message[A]{Error: err.Error(), Hint: hint.Of(err)}) // the error is returned as well
		return err
	}
	return messages.Encode(message[A]{Answer: &answer})
}
