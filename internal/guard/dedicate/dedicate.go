// Package dedicate keeps a CPU free for one command: it moves the threads of other processes, and interrupts, off the CPU,
// and puts them back through a guardian, after a SIGKILL of this process too.
package dedicate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gorun/internal/base/hint"
	"gorun/internal/guard/guardian"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/subject"
	"gorun/internal/record/result"
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
	state    *subject.State // nil: everything is put back
	moved    []subject.Thread
	sent     int // interrupts
}

// mostPasses limits the passes over all processes. The second finds what was started during the first; many would be
// needed only where processes that may not be moved start others all the time.
const mostPasses = 20

// interruptsDir has a directory for each interrupt (proc_pid_irq(5)).
const interruptsDir = "/proc/irq"

// Plan returns what Take would move, and what not, with names. It changes nothing.
func Plan(r Request) (result.Dedicated, error) {
	s := survey{request: r, names: true}
	threads, err := s.pass()
	if err != nil {
		return result.Dedicated{}, err
	}
	d := result.Dedicated{CPU: r.CPU, Threads: len(threads), Processes: processes(threads)}
	if r.All {
		sent, err := s.interrupts(interruptsDir)
		if err != nil {
			return d, err
		}
		d.Interrupts = len(sent)
	}
	d.Left = append([]result.LeftOn{}, s.left...)
	return d, nil
}

// Take moves off a CPU what may be moved, but for this process and its children. Each thread keeps its other CPUs; one
// that has no other is left where it is. Processes that are started later inherit the mask of their parent, and so are
// off the CPU too if the parent was moved. One process at a time can do this.
func Take(ctx context.Context, self *guardian.Guardian, r Request) (_ *Held, err error) {
	h := &Held{request: r, guardian: self, survey: survey{request: r}}
	if h.lock, err = lock(ctx, lockPath, patience); err != nil {
		return nil, fmt.Errorf("--dedicate: another process moves threads off a CPU: %w", err)
	}
	h.state = subject.New(subject.Who{}, "what is moved off a CPU", subject.Setting{Without: cpuset.Of(r.CPU)})
	defer func() {
		if err != nil {
			err = errors.Join(err, h.putBack())
		}
	}()
	if err := h.state.Keep(); err != nil { // also where nothing has to be moved: another one may have
		return nil, fmt.Errorf("--dedicate: %w", err)
	}
	for range mostPasses {
		threads, err := h.survey.pass()
		if err != nil {
			return nil, err
		}
		if len(threads) == 0 {
			break
		}
		h.state.Threads = append(h.state.Threads, threads...)
		if err := h.hold(); err != nil {
			return nil, err
		}
		for _, t := range threads {
			h.move(t)
		}
	}
	if r.All {
		if err := h.sendInterrupts(); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// hold makes the guardian put back what the state says.
func (h *Held) hold() error {
	if err := h.guardian.HoldState(h.state, h.keep()...); err != nil {
		return fmt.Errorf("--dedicate: %w", err)
	}
	return nil
}

// keep returns the files that the guardian keeps open.
func (h *Held) keep() []*os.File {
	if h.lock == nil {
		return nil
	}
	return []*os.File{h.lock}
}

// move takes the CPU away from a thread and reads back what it has. What the kernel refuses is left.
func (h *Held) move(t subject.Thread) {
	root := os.DirFS("/")
	is, err := linux.ReadTask(root, t.PID, t.TID)
	if linux.Gone(err) || err == nil && is.Start != t.Start {
		return // it has ended
	}
	want := t.CPUs.Minus(cpuset.Of(h.request.CPU))
	if err == nil {
		err = linux.SetAffinity(t.TID, want)
	}
	if linux.Gone(err) {
		return
	}
	if err == nil {
		after, readErr := linux.ReadTask(root, t.PID, t.TID)
		switch {
		case linux.Gone(readErr):
			return
		case readErr != nil:
			err = readErr
		case after.CPUs.Empty() || !after.CPUs.Minus(want).Empty(): // of CPUs that are offline it has none
			err = errors.New("the kernel gave it another mask")
		}
	}
	if err != nil {
		h.survey.leave("not moved by the kernel: "+cause(err).Error(), is)
		return
	}
	h.moved = append(h.moved, t)
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
	files, err := h.survey.interrupts(interruptsDir)
	if err != nil || len(files) == 0 {
		return err
	}
	h.state.Files = files
	if err := h.hold(); err != nil {
		return err
	}
	for _, f := range files {
		to, err := cpuset.Parse(f.Given[0])
		if err == nil {
			err = linux.SetCPUList(f.Path, to)
		}
		switch {
		case errors.Is(err, fs.ErrPermission):
			h.survey.count("interrupt", "moved by root only", "")
		case err != nil:
			h.survey.count("interrupt", "not moved by the kernel", "")
		default:
			h.sent++
		}
	}
	return nil
}

// Dedicated returns what was moved, and what was left.
func (h *Held) Dedicated() result.Dedicated {
	return result.Dedicated{
		CPU: h.request.CPU, Processes: processes(h.moved), Threads: len(h.moved), Interrupts: h.sent,
		Left: append([]result.LeftOn{}, h.survey.left...),
	}
}

// Release puts everything back, but for threads that somebody else has given another mask meanwhile: changed is how many
// those are. A second call does nothing.
func (h *Held) Release() (changed int, err error) {
	if h.state != nil {
		changed = h.state.PlacedByOthers(h.moved)
	}
	return changed, h.putBack()
}

func (h *Held) putBack() (err error) {
	if h.state != nil {
		_, err = h.guardian.PutBack(h.state)
		h.state, h.moved = nil, nil
	}
	if h.lock != nil {
		h.lock.Close()
		h.lock = nil
	}
	if err != nil {
		err = fmt.Errorf("put back what was moved off CPU %d: %w", h.request.CPU, err)
	}
	return err
}

func processes(threads []subject.Thread) int {
	pids := map[int]bool{}
	for _, t := range threads {
		pids[t.PID] = true
	}
	return len(pids)
}

// survey looks through the threads of the machine.
type survey struct {
	request Request
	names   bool           // those of what is left are kept
	seen    map[int]uint64 // starts, by TID
	left    []result.LeftOn
}

// pass returns the threads that no pass has seen, and that are to be moved.
func (s *survey) pass() (threads []subject.Thread, err error) {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil, hint.With(errors.New("--dedicate: /proc is not that of this process's PID namespace"),
			"mount it: mount -t proc proc /proc")
	}
	if s.seen == nil {
		s.seen = map[int]uint64{}
	}
	root := os.DirFS("/")
	caller := caller{pid: os.Getpid(), euid: uint32(os.Geteuid()), all: s.request.All, mayAll: linux.MayPlaceOthers(root)}
	err = linux.ProcessTasks(root, func(t linux.Task) {
		if start, known := s.seen[t.TID]; known && start == t.Start || !t.CPUs.Contains(s.request.CPU) {
			return
		}
		s.seen[t.TID] = t.Start
		switch reason, leave := caller.leaves(t, s.request.CPU); {
		case leave && reason == "": // our own
		case leave:
			s.leave(reason, t)
		default:
			threads = append(threads, subject.Thread{PID: t.PID, TID: t.TID, Start: t.Start, Name: t.Name, CPUs: t.CPUs})
		}
	})
	return threads, err
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

// interrupts returns the files of the interrupts that go to the CPU and to others too, and what is to be written into each. It counts those
// that go to no other CPU. The directory has one for each interrupt.
func (s *survey) interrupts(dir string) (files []subject.File, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "[0-9]*", "smp_affinity_list"))
	for _, path := range paths {
		is, err := linux.ReadCPUList(path)
		if err != nil || !is.Contains(s.request.CPU) {
			continue // one that was freed meanwhile
		}
		others := is.Minus(cpuset.Of(s.request.CPU))
		if others.Empty() {
			s.count("interrupt", fmt.Sprintf("sent to CPU %d only", s.request.CPU), "")
			continue
		}
		files = append(files, subject.File{Path: path, Before: is.String(), Given: []string{others.String()}})
	}
	return files, err
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
