// Package guardian restores settings that outlive the process that made them, such as a setting of the kernel. A
// Guardian is a second process that knows what to restore. It does so if the first process ends without having done it
// itself, even by SIGKILL.
package guardian

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"gorun/internal/kernel/linux"
	"gorun/internal/start/launch"
)

// Command is the command of gorun that calls Guard.
const Command = "guardian"

// step is one thing to restore.
type step struct {
	Kind  string          `json:"kind"` // of kinds
	Name  string          `json:"name"` // of the thing; a guardian has one step for each kind and name
	State json.RawMessage `json:"state,omitempty"`
}

// kinds has the functions that undo a step of each kind, unless another program has changed the thing since.
var kinds = map[string]func(step) error{
	folderKind: decoded(folderState.undo),
	stateKind:  decoded(state.undo),
}

// decoded calls undo with a step's state, which is of type S, and the thing's name.
func decoded[S any](undo func(S, string) error) func(step) error {
	return func(s step) error {
		var state S
		if err := json.Unmarshal(s.State, &state); err != nil {
			return err
		}
		return undo(state, s.Name)
	}
}

// same reports whether both are about the same thing.
func (s step) same(other step) bool { return s.Kind == other.Kind && s.Name == other.Name }

// undo restores the thing, unless another program has changed it since.
func (s step) undo() error { return kinds[s.Kind](s) }

// order is a request to a guardian.
type order struct {
	Add    *step `json:"add,omitempty"` // or its new state
	Remove *step `json:"remove,omitempty"`
	Look   *step `json:"look,omitempty"` // was it undone since the last look?

	Longest time.Duration `json:"longest,omitempty"` // of the step that is added
}

// Answers of a guardian.
const (
	done   = "done\n"
	undone = "undone\n" // while this process was stopped
)

// Guardian is this process's side of a guardian. It is not for concurrent use.
type Guardian struct {
	self    launch.Self
	steps   []step
	process *exec.Cmd     // nil while there is nothing to restore
	orders  *linux.Socket // its stdin: the kernel closes it when this process ends in any way
	reports *bufio.Reader
	stderr  launch.Stderr // its own until it has executed an order
}

// New returns a guardian whose process starts with its first step.
func New(self launch.Self) *Guardian { return &Guardian{self: self} }

// add adds a step, or replaces the state of the step of the same kind and name. It must be called before the change:
// when add returns, the guardian has the step. The first call takes a few milliseconds. The guardian keeps the files of
// a new step, such as a lock, open until the step is undone.
func (g *Guardian) add(kind, name string, state any, longest time.Duration, keep ...*os.File) error {
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	s := step{kind, name, text}
	if g.process == nil {
		if err := g.start(); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(g.steps, s.same)
	if i >= 0 {
		keep = nil // it has them
	}
	if err := g.send(order{Add: &s, Longest: longest}, keep...); err != nil {
		if len(g.steps) == 0 {
			_ = g.process.Process.Kill()
			_ = g.stop()
		}
		return err
	}
	if i >= 0 {
		g.steps[i] = s
	} else {
		g.steps = append(g.steps, s)
	}
	return nil
}

// undo undoes the step of this kind and name, if it exists. This process does it itself, since the guardian may have
// been killed. The guardian ends with its last step.
func (g *Guardian) undo(kind, name string) error {
	i := slices.IndexFunc(g.steps, step{Kind: kind, Name: name}.same)
	if i < 0 {
		return nil
	}
	err := g.steps[i].undo()
	g.forget(kind, name)
	return err
}

// has reports whether the guardian has a step.
func (g *Guardian) has(kind, name string) bool {
	return slices.ContainsFunc(g.steps, step{Kind: kind, Name: name}.same)
}

// forget removes a step that is undone, if it exists.
func (g *Guardian) forget(kind, name string) {
	if !g.has(kind, name) {
		return
	}
	g.steps = slices.DeleteFunc(g.steps, step{Kind: kind, Name: name}.same)
	_ = g.send(order{Remove: &step{Kind: kind, Name: name}}) // it may have ended
	if len(g.steps) == 0 {
		_ = g.stop()
	}
}

// start starts the process. It has its own session, so that neither ^C nor a signal to the process group ends it, and
// it shares this process's stderr once it has executed an order: before that, its error is this process's to report.
func (g *Guardian) start() error {
	stderr, err := launch.NewStderr()
	if err != nil {
		return err
	}
	orders, theirs, err := linux.SocketPair()
	if err != nil {
		stderr.Close()
		return err
	}
	defer theirs.Close()
	cmd := g.self.Command(context.Background(), Command)
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = theirs, stderr.File, []*os.File{os.Stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	reports, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		orders.Close()
		stderr.Close()
		return fmt.Errorf("start the guardian: %w", err)
	}
	g.process, g.orders, g.reports, g.stderr = cmd, orders, bufio.NewReader(reports), stderr
	return nil
}

// reserveThreads makes the Go runtime start threads now, which it keeps: the kernel may refuse them later.
func reserveThreads(number int) {
	var started, ended sync.WaitGroup
	started.Add(number)
	for range number {
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			started.Wait() // on a thread of its own
		})
	}
	ended.Wait()
}

// shareStderr makes the guardian's process write its errors where the process that it guards does: that is its first file after the
// standard ones.
func shareStderr() {
	const shared = 3
	_ = syscall.Dup3(shared, syscall.Stderr, 0)
	_ = syscall.Close(shared)
}

// stop lets the process end, and waits for it.
func (g *Guardian) stop() error {
	g.orders.Close()
	g.stderr.Close()
	err := g.process.Wait()
	g.process = nil
	return err
}

// send sends an order and waits until it is done.
func (g *Guardian) send(o order, keep ...*os.File) error {
	line, err := g.ask(o, keep...)
	if err == nil && line != done {
		err = unexpected(line)
	}
	return err
}

// ask sends an order and returns the guardian's answer.
func (g *Guardian) ask(o order, keep ...*os.File) (line string, err error) {
	err = errors.Join(g.orders.Send(keep...), json.NewEncoder(g.orders).Encode(o))
	line, readErr := g.reports.ReadString('\n')
	if readErr != nil {
		err = g.stderr.Reported(errors.Join(unexpected(line), err, readErr))
	}
	return line, err
}

func unexpected(line string) error { return fmt.Errorf("the guardian said %.60q", line) }

// held is a step of a guardian's process.
type held struct {
	step
	files   []*os.File
	longest time.Duration // after which it is undone while gorun is stopped; 0: never
	undone  bool          // since gorun was stopped
	said    bool          // that it was undone, since the last look
}

// guard is what a guardian's process has to do.
type guard struct {
	sync.Mutex
	steps []held
}

// Guard is the body of a guardian's process: orders is its stdin, which it closes, and out its stdout. When orders ends, it
// undoes the remaining steps, the latest first. Only SIGKILL ends it earlier: it has all threads that it needs before the first step. What
// a gorun that is stopped by a signal has changed for a while is undone meanwhile.
func Guard(orders *os.File, out io.Writer) error {
	runtime.GOMAXPROCS(1)
	reserveThreads(4)
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE)
	socket, err := linux.OpenSocket(orders)
	if err != nil {
		return err
	}
	g := &guard{}
	go g.watch(os.Getppid())
	var errs []error
	share := sync.OnceFunc(shareStderr)
	for in := json.NewDecoder(socket); ; {
		var o order
		if in.Decode(&o) != nil {
			break // an error is an end too
		}
		if socket.Dropped {
			errs = append(errs, fmt.Errorf("keep the files of a setting: %w", syscall.EMFILE))
			break
		}
		_, _ = io.WriteString(out, g.do(o, socket)) // without a reader, orders ends next
		share()
	}
	g.Lock()
	defer g.Unlock()
	for _, s := range slices.Backward(g.steps) {
		errs = append(errs, s.undo())
	}
	return errors.Join(errs...)
}

// do executes an order, and returns the answer.
func (g *guard) do(o order, socket *linux.Socket) (answer string) {
	g.Lock()
	defer g.Unlock()
	find := func(s *step) int {
		return slices.IndexFunc(g.steps, func(h held) bool { return s.same(h.step) })
	}
	if s := o.Remove; s != nil {
		if i := find(s); i >= 0 {
			for _, f := range g.steps[i].files {
				f.Close()
			}
			g.steps = slices.Delete(g.steps, i, i+1)
		}
	}
	if s := o.Add; s != nil {
		if i := find(s); i >= 0 {
			g.steps[i].step, g.steps[i].longest = *s, o.Longest
		} else {
			g.steps = append(g.steps, held{step: *s, files: socket.Files, longest: o.Longest, said: true})
		}
		socket.Files = nil
	}
	if s := o.Look; s != nil {
		if i := find(s); i >= 0 && !g.steps[i].said {
			g.steps[i].undone, g.steps[i].said = false, true // it runs, or did between two looks
			return undone
		}
	}
	return done
}

// look is the time between two looks at whether gorun is stopped.
const look = time.Second

// watch undoes the steps of a gorun that a signal has stopped for longer than they are to last.
func (g *guard) watch(gorun int) {
	var used time.Duration
	for stopped := time.Duration(0); ; stopped += look {
		time.Sleep(look)
		g.Lock()
		before := used
		used, _ = linux.ProcessCPUTime(gorun)
		runs := !linux.Stopped(gorun) || used != before // also between two looks that both find it stopped
		if runs {
			stopped = -look
		}
		for i := range g.steps {
			s := &g.steps[i]
			s.undone = s.undone && !runs
			if s.longest > 0 && stopped >= s.longest { // again at each look: what could not be put back may be possible now
				if !s.undone {
					fmt.Fprintf(os.Stderr, "gorun: process %d is stopped: what it has changed is put back\n", gorun)
					s.undone, s.said = true, false
				}
				if err := decoded(state.putBack)(s.step); err != nil { // it stays in its file, for when gorun goes on
					fmt.Fprintln(os.Stderr, "gorun: error:", err)
				}
			}
		}
		g.Unlock()
	}
}
