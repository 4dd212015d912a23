// Package dedicate keeps a CPU free for one command: it moves the threads of other processes, and interrupts, off the CPU,
// and puts them back through a guardian, after a SIGKILL of this process too.
package dedicate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"gorun/internal/cpuset"
	"gorun/internal/guardian"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/result"
)

// Request says what is to be moved off which CPU.
type Request struct {
	CPU int
	All bool // also other users' threads, the kernel's own, and interrupts, as far as this process may
}

// Held lists what was moved. Release puts it back.
type Held struct {
	request  Request
	guardian *guardian.Guardian
	lock     *os.File
	survey   survey
	held     []guardian.Mask // by the guardian
	moved    []guardian.Mask
	sent     []guardian.Interrupt
}

// mostPasses limits the passes over all processes. The second finds what was started during the first; many would be
// needed only where processes that may not be moved start others all the time.
const mostPasses = 20

// interruptsDir has a directory for each interrupt (proc_pid_irq(5)).
const interruptsDir = "/proc/irq"

// Plan returns what Take would move, and what not, with names. It changes nothing.
func Plan(r Request) (result.Dedicated, error) {
	s := survey{request: r, names: true}
	masks, err := s.pass()
	if err != nil {
		return result.Dedicated{}, err
	}
	d := result.Dedicated{CPU: r.CPU, Threads: len(masks), Processes: processes(masks)}
	if r.All {
		sent, only, err := guardian.Interrupts(interruptsDir, r.CPU)
		if err != nil {
			return d, err
		}
		s.leaveInterrupts(only)
		d.Interrupts = len(sent)
	}
	d.Left = append([]result.LeftOn{}, s.left...)
	return d, nil
}

// Take moves off a CPU what may be moved, but for this process and its children. Each thread keeps its other CPUs; one
// that has no other is left where it is. Processes that are started later inherit the mask of their parent, and so are
// off the CPU too if the parent was moved. One process at a time can do this.
func Take(self *guardian.Guardian, r Request) (_ *Held, err error) {
	h := &Held{request: r, guardian: self, survey: survey{request: r}}
	if h.lock, err = linux.LockKernelFile("/proc/stat"); err != nil {
		return nil, fmt.Errorf("--dedicate: another process moves threads off a CPU: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.putBack())
		}
	}()
	for range mostPasses {
		masks, err := h.survey.pass()
		if err != nil {
			return nil, err
		}
		if len(masks) == 0 {
			break
		}
		h.held = append(h.held, masks...)
		if err := self.HoldMasks(h.name(), h.survey.since, h.held, h.lock); err != nil {
			return nil, err
		}
		for _, m := range masks {
			h.move(m)
		}
	}
	if r.All {
		return h, h.sendInterrupts()
	}
	return h, nil
}

func (h *Held) name() string { return "off CPU " + strconv.Itoa(h.request.CPU) }

// move gives a thread its mask and reads it back. What the kernel refuses is left.
func (h *Held) move(m guardian.Mask) {
	root := os.DirFS("/")
	is, err := linux.ReadTask(root, m.PID, m.TID)
	if linux.Gone(err) || err == nil && is.Start != m.Start {
		return // it has ended
	}
	if err == nil {
		err = linux.SetAffinity(m.TID, m.Set)
	}
	if linux.Gone(err) {
		return
	}
	if err == nil {
		after, readErr := linux.ReadTask(root, m.PID, m.TID)
		switch {
		case linux.Gone(readErr):
			return
		case readErr != nil:
			err = readErr
		case !after.CPUs.Equal(m.Set):
			err = errors.New("the kernel gave it another mask")
		}
	}
	if err != nil {
		h.survey.leave("not moved by the kernel: "+cause(err).Error(), is)
		return
	}
	h.moved = append(h.moved, m)
}

// cause is the kernel's answer in an error.
func cause(err error) error {
	if e := new(linux.Error); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// sendInterrupts sends those that go to the CPU, and to others too, to the others.
func (h *Held) sendInterrupts() error {
	all, only, err := guardian.Interrupts(interruptsDir, h.request.CPU)
	if err != nil {
		return err
	}
	h.survey.leaveInterrupts(only)
	if len(all) == 0 {
		return nil
	}
	if err := h.guardian.HoldInterrupts(h.name(), all); err != nil {
		return err
	}
	for _, i := range all {
		switch err := linux.SetCPUList(i.Path, i.Set); {
		case errors.Is(err, fs.ErrPermission):
			h.survey.count("interrupt", "moved by root only", "")
		case err != nil:
			h.survey.count("interrupt", "not moved by the kernel", "")
		default:
			h.sent = append(h.sent, i)
		}
	}
	return nil
}

// Dedicated returns what was moved, and what was left.
func (h *Held) Dedicated() result.Dedicated {
	return result.Dedicated{
		CPU: h.request.CPU, Processes: processes(h.moved), Threads: len(h.moved), Interrupts: len(h.sent),
		Left: append([]result.LeftOn{}, h.survey.left...),
	}
}

// Release puts everything back, but for threads that somebody else has given another mask meanwhile: changed is how many
// those are. A second call does nothing.
func (h *Held) Release() (changed int, err error) {
	root := os.DirFS("/")
	for _, m := range h.moved {
		t, err := linux.ReadTask(root, m.PID, m.TID)
		if err == nil && t.Start == m.Start && !t.CPUs.Equal(m.Set) {
			changed++
		}
	}
	return changed, h.putBack()
}

func (h *Held) putBack() error {
	if h.lock == nil {
		return nil
	}
	err := errors.Join(h.guardian.UndoInterrupts(h.name()), h.guardian.UndoMasks(h.name()))
	h.lock.Close()
	h.lock, h.held, h.moved = nil, nil, nil
	if err != nil {
		err = fmt.Errorf("put back what was moved off CPU %d: %w", h.request.CPU, err)
	}
	return err
}

func processes(masks []guardian.Mask) int {
	pids := map[int]bool{}
	for _, m := range masks {
		pids[m.PID] = true
	}
	return len(pids)
}

// survey looks through the threads of the machine.
type survey struct {
	request Request
	names   bool           // those of what is left are kept
	seen    map[int]uint64 // starts, by TID
	since   uint64         // the latest start of the first pass
	left    []result.LeftOn
}

// pass returns the masks of threads that no pass has seen, and that are to be moved.
func (s *survey) pass() (masks []guardian.Mask, err error) {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil, hint.With(errors.New("--dedicate: /proc is not that of this process's PID namespace"),
			"mount it: mount -t proc proc /proc")
	}
	first := s.seen == nil
	if first {
		s.seen = map[int]uint64{}
	}
	caller := caller{pid: os.Getpid(), euid: uint32(os.Geteuid()), all: s.request.All}
	caller.mayAll = linux.MayPlaceOthers(os.DirFS("/"))
	err = linux.ProcessTasks(os.DirFS("/"), func(t linux.Task) {
		if first {
			s.since = max(s.since, t.Start)
		}
		if start, known := s.seen[t.TID]; known && start == t.Start || !t.CPUs.Contains(s.request.CPU) {
			return
		}
		s.seen[t.TID] = t.Start
		set := t.CPUs.Minus(cpuset.Of(s.request.CPU))
		switch reason, leave := caller.leaves(t, s.request.CPU); {
		case leave && reason == "": // our own
		case leave:
			s.leave(reason, t)
		default:
			masks = append(masks, guardian.Mask{PID: t.PID, TID: t.TID, Start: t.Start, Before: t.CPUs, Set: set})
		}
	})
	return masks, err
}

// caller is the process that moves others.
type caller struct {
	pid    int
	euid   uint32
	all    bool // it was asked to move other users' and the kernel's threads too
	mayAll bool // it has the privilege for that
}

// leaves reports whether a thread stays on a CPU, and why, for result.LeftOn. There is no reason for a thread
// of the caller or of a child of its own.
func (c caller) leaves(t linux.Task, cpu int) (reason string, leave bool) {
	own := t.UID == c.euid || t.EUID == c.euid // as for sched_setaffinity(2)
	only := t.CPUs.Equal(cpuset.Of(cpu))
	switch {
	case t.PID == c.pid || t.Parent == c.pid:
		return "", true
	case t.Kernel && only && t.Bound:
		return fmt.Sprintf("bound to CPU %d", cpu), true
	case t.Kernel && t.Bound:
		return "placed by the kernel itself", true
	case t.Kernel && !c.all:
		return "moved with --all only", true
	case !own && !c.all:
		return "of other users, moved with --all only", true
	case (t.Kernel || !own) && !c.mayAll:
		return "moved by root only (CAP_SYS_NICE)", true
	case only:
		return fmt.Sprintf("allowed on CPU %d only", cpu), true
	case t.Bound:
		return "placed by the kernel itself", true
	}
	return "", false
}

// leave counts a thread that stays.
func (s *survey) leave(why string, t linux.Task) {
	what := "thread"
	if t.Kernel {
		what = "kernel thread"
	}
	s.count(what, why, fmt.Sprintf("%s (%d)", t.Name, t.TID))
}

func (s *survey) leaveInterrupts(only []guardian.Interrupt) {
	for range only {
		s.count("interrupt", fmt.Sprintf("sent to CPU %d only", s.request.CPU), "")
	}
}

func (s *survey) count(what, why, name string) {
	i := slices.IndexFunc(s.left, func(l result.LeftOn) bool { return l.What == what && l.Why == why })
	if i < 0 {
		s.left = append(s.left, result.LeftOn{What: what, Why: why})
		i = len(s.left) - 1
	}
	s.left[i].Count++
	if s.names && name != "" {
		s.left[i].Names = append(s.left[i].Names, name)
	}
}
