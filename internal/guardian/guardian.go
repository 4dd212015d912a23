// Package guardian puts back what outlives the process that has set it, such as a setting of the kernel. A Guardian is
// a second process that knows what is to be put back. It does so when the first process is gone without having done it
// itself, after a SIGKILL too.
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
	"slices"
	"syscall"

	"gorun/internal/child"
)

// Command is the command of gorun that calls Guard.
const Command = "guardian"

// Step is one thing to put back.
type Step struct {
	Kind  string          `json:"kind"` // of kinds
	Name  string          `json:"name"` // of the thing: a guardian has one step of a kind and a name
	State json.RawMessage `json:"state,omitempty"`
}

// kind is what a step can be about.
type kind struct {
	name string
	ours func(Step) (bool, error) // reports whether what was set is still there
	undo func(Step) error
}

// kinds are all of them.
var kinds = [...]kind{
	kindOf("kernel-file", kernelFileState.ours, kernelFileState.undo),
}

// kindOf makes a kind whose steps' states are of type S. Its functions get the thing's name.
func kindOf[S any](name string, ours func(S, string) (bool, error), undo func(S, string) error) kind {
	state := func(s Step) (decoded S, err error) {
		err = json.Unmarshal(s.State, &decoded)
		return decoded, err
	}
	return kind{
		name: name,
		ours: func(s Step) (bool, error) {
			decoded, err := state(s)
			if err != nil {
				return false, err
			}
			return ours(decoded, s.Name)
		},
		undo: func(s Step) error {
			decoded, err := state(s)
			if err != nil {
				return err
			}
			return undo(decoded, s.Name)
		},
	}
}

// same reports whether both are about the same thing.
func (s Step) same(other Step) bool { return s.Kind == other.Kind && s.Name == other.Name }

// undo puts the thing back, unless somebody else has set it meanwhile.
func (s Step) undo() error {
	i := slices.IndexFunc(kinds[:], func(k kind) bool { return k.name == s.Kind })
	if i < 0 {
		return fmt.Errorf("put back %s: there is no kind of step %q", s.Name, s.Kind)
	}
	ours, err := kinds[i].ours(s)
	if err != nil || !ours {
		return err
	}
	return kinds[i].undo(s)
}

// order is what a guardian is told.
type order struct {
	Add    *Step `json:"add,omitempty"` // or its new state
	Remove *Step `json:"remove,omitempty"`
}

// done is the line by which a guardian reports that it has done what it was told.
const done = "done\n"

// Guardian is this process's side of a guardian. It is not for concurrent use.
type Guardian struct {
	self    child.Self
	steps   []Step
	process *exec.Cmd // nil while there is nothing to put back
	orders  *os.File  // its stdin: the kernel closes it when this process ends, however it ends
	reports *bufio.Reader
}

// New returns a guardian whose process starts with its first step.
func New(self child.Self) *Guardian { return &Guardian{self: self} }

// Add adds a step, or gives the one of the same kind and name a new state, before anything is changed: when Add
// returns, the guardian can be relied on. The first takes a few milliseconds. The guardian keeps the files of a new
// step, such as a lock, until the step is undone.
func (g *Guardian) Add(s Step, keep ...*os.File) error {
	if g.process == nil {
		if err := g.start(); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(g.steps, s.same)
	if i >= 0 {
		keep = nil // it has them
	}
	if err := g.tell(order{Add: &s}, keep...); err != nil {
		if len(g.steps) == 0 {
			_ = g.process.Process.Kill()
			err = errors.Join(err, g.stop())
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

// Undo takes back the step of this kind and name, if there is one. This process does it by itself: somebody may have
// killed the guardian, which ends with its last step.
func (g *Guardian) Undo(kind, name string) error {
	i := slices.IndexFunc(g.steps, Step{Kind: kind, Name: name}.same)
	if i < 0 {
		return nil
	}
	s := g.steps[i]
	err := s.undo()
	_ = g.tell(order{Remove: &Step{Kind: kind, Name: name}}) // it may be gone
	if g.steps = slices.Delete(g.steps, i, i+1); len(g.steps) == 0 {
		_ = g.stop() // what it could not do either is err already
	}
	return err
}

// start starts the process. It is in a session of its own, so that neither ^C nor a signal to the process group ends
// it, and its errors go where this process's own do.
func (g *Guardian) start() error {
	orders, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	cmd := g.self.Command(context.Background(), Command)
	cmd.Stdin, cmd.Stderr = theirs, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	reports, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		orders.Close()
		return fmt.Errorf("start the guardian: %w", err)
	}
	g.process, g.orders, g.reports = cmd, orders, bufio.NewReader(reports)
	return nil
}

// stop lets the process end, and waits for it.
func (g *Guardian) stop() error {
	g.orders.Close()
	err := g.process.Wait()
	g.process = nil
	return err
}

// tell gives an order and waits until it is done.
func (g *Guardian) tell(o order, keep ...*os.File) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	err = send(g.orders, text, keep)
	if line, readErr := g.reports.ReadString('\n'); line != done {
		return errors.Join(fmt.Errorf("the guardian said %.60q", line), err, readErr)
	}
	return err
}

// Guard is the body of a guardian's process: orders is its stdin, and out its stdout. When orders ends it puts back
// what is still to be put back, the latest first. Meanwhile no signal but SIGKILL ends it.
func Guard(orders *os.File, out io.Writer) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE)
	type held struct {
		Step
		files []*os.File
	}
	var steps []held
	var errs []error
	for {
		text, files, err := receive(orders)
		if err != nil {
			break // an error is an end too
		}
		var o order
		if err := json.Unmarshal(text, &o); err != nil {
			errs = append(errs, fmt.Errorf("the order %.100q: %w", text, err))
			break
		}
		if s := o.Remove; s != nil {
			steps = slices.DeleteFunc(steps, func(h held) bool {
				if !s.same(h.Step) {
					return false
				}
				for _, f := range h.files {
					f.Close()
				}
				return true
			})
		}
		if s := o.Add; s != nil {
			if i := slices.IndexFunc(steps, func(h held) bool { return s.same(h.Step) }); i >= 0 {
				steps[i].Step = *s
			} else {
				steps = append(steps, held{*s, files})
			}
		}
		_, _ = io.WriteString(out, done) // if nobody reads it, orders ends next
	}
	for _, s := range slices.Backward(steps) {
		errs = append(errs, s.undo())
	}
	return errors.Join(errs...)
}
