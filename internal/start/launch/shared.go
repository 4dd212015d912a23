package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"gorun/csrc"
	"gorun/internal/base/hint"
	"gorun/internal/kernel/linux"
)

// Descriptors of a member that calls Join, in addition to its standard files: the memory that all share, then its own files.
const (
	sharedFD = 3 + iota
	FirstFD
)

// Shared is a group of processes of gorun that have started together, and share memory.
type Shared struct {
	PIDs    []int
	Outcome Outcome       // after Wait
	Begun   time.Duration // when they began (CLOCK_MONOTONIC), after Wait

	members []Member
	wait    time.Duration // from a request to end until they are killed
	kill    context.CancelCauseFunc
	ended   chan struct{} // closed when none of them is left
	err     error

	mu     sync.Mutex
	memory []byte
	shared *csrc.Shared // nil: they have ended
}

// Start starts a command of gorun that calls Join as each of the members, and returns when all of them wait for Open. The members have
// a name, a setting, a request, which Join reads, and files, which Start closes. When ctx ends they are asked to end, and when one fails
// the others are. They also end if this process is killed. Wait frees the memory.
func (s Self) Start(ctx context.Context, command string, members []Member) (c *Shared, err error) {
	var files []*os.File
	defer func() {
		for _, f := range files { // before they begin, so that a pipe ends with the process that writes to it
			f.Close()
		}
	}()
	for _, m := range members {
		files = append(files, m.Files...)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	file, err := linux.Memfd("gorun-shared", csrc.SharedBytes)
	if err != nil {
		return nil, err
	}
	files = append(files, file)
	started := make(chan []int, 1)
	g := Group{
		Self: s, Keep: 4 << 20, InMemory: true, Gate: true, Together: true, Fixed: true,
		Started: func(pids []int) { started <- pids },
	}
	for _, m := range members {
		m.Path, m.Argv, m.Files = s.Path, s.Args(command), append([]*os.File{file}, m.Files...)
		g.Members = append(g.Members, m)
	}
	c = &Shared{members: members, wait: cmp.Or(s.Patience, Patience), ended: make(chan struct{})}
	if c.memory, err = linux.MapShared(file, csrc.SharedBytes); err != nil {
		return nil, err
	}
	c.shared = csrc.SharedAt(unsafe.Pointer(unsafe.SliceData(c.memory)))
	running, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	c.kill = kill
	stop := context.AfterFunc(ctx, func() { c.Stop(context.Cause(ctx)) })
	go func() {
		defer close(c.ended)
		c.Outcome, c.err = Run(running, g)
		stop()
		kill(nil)
		c.err = c.failure()
	}()
	for c.shared.Waiting() < len(members) {
		select {
		case <-c.ended:
			return nil, cmp.Or(context.Cause(ctx), c.Wait(), errors.New("the processes ended before their time"))
		case <-time.After(100 * time.Microsecond):
		}
	}
	c.PIDs = <-started // sent before they ran
	return c, nil
}

// input returns the file that a member without Stdin reads.
func (m Member) input() (*os.File, error) {
	if m.Request == nil {
		return os.Open(os.DevNull)
	}
	file, err := linux.Memfd("gorun-request", 0)
	if err != nil {
		return nil, err
	}
	err = json.NewEncoder(file).Encode(m.Request)
	if _, failed := file.Seek(0, io.SeekStart); cmp.Or(err, failed) != nil {
		return nil, errors.Join(fmt.Errorf("request of %s: %w", m.Name, cmp.Or(err, failed)), file.Close())
	}
	return file, nil
}

// Open lets all of them begin.
func (c *Shared) Open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared != nil {
		c.shared.Open()
	}
}

// Stop asks all of them to end. It has them killed if they take too long.
func (c *Shared) Stop(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared != nil {
		c.shared.Stop()
		time.AfterFunc(c.wait, func() { c.kill(why) })
	}
}

// Ended reports whether none of them is left.
func (c *Shared) Ended() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// Wait waits until none of them is left. The error is that of the first one that failed.
func (c *Shared) Wait() error {
	<-c.ended
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared == nil {
		return c.err
	}
	c.Begun = time.Duration(c.shared.StartNS())
	c.shared = nil
	return cmp.Or(c.err, linux.UnmapShared(c.memory))
}

// failure returns why they did not start, or why the first to fail has failed; nil: none has.
func (c *Shared) failure() error {
	if refused := (*ExitError)(nil); errors.As(c.err, &refused) {
		return hint.With(refused.Err, hint.Of(c.err)) // gorun itself does not end with that code
	}
	if c.err != nil {
		return c.err
	}
	for i, e := range c.Outcome.Members {
		if e.ExitCode == 0 || e.Late { // or another one has failed
			continue
		}
		name := c.members[i].Name
		said, way := Said(string(e.Stderr))
		switch {
		case e.Signal != 0:
			return fmt.Errorf("%s ended before its time: %w", name, linux.NewKilled(os.DirFS("/"), syscall.Signal(e.Signal)))
		case said == "":
			return fmt.Errorf("%s ended before its time, with exit code %d", name, e.ExitCode)
		}
		return hint.With(fmt.Errorf("%s: %s", name, said), way)
	}
	return nil
}

// Join is for a process that Start has started: it reads the request from in, and returns the memory that all share, which is
// mapped until the process ends. The process is quiet from then on: no second thread runs Go code, and no garbage is collected.
func Join(in io.Reader, request any) (*csrc.Shared, error) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	runtime.LockOSThread() // until the process ends
	if err := json.NewDecoder(in).Decode(request); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	memory, err := linux.MapShared(os.NewFile(sharedFD, "shared"), csrc.SharedBytes)
	if err != nil {
		return nil, err
	}
	return csrc.SharedAt(unsafe.Pointer(unsafe.SliceData(memory))), nil
}
