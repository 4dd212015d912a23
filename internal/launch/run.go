package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"gorun/internal/child"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/perf"
	"gorun/internal/result"
)

// SupervisorCommand is the command of gorun that calls Supervise.
const SupervisorCommand = "exec-supervisor"

// Command is a program to run.
type Command struct {
	Self child.Self // which calls Supervise as SupervisorCommand; the command gets its environment
	Argv []string
	Dir  string // the directory in which the command starts, and in which its name is looked up; "": this process's own

	Stdin          *os.File // nil: /dev/null
	Stdout, Stderr *os.File // nil: not shown
	Keep           int      // number of last bytes of each that are kept in the Outcome

	Timeout time.Duration // 0: none

	// Leaves collects the command's processes that are still alive when it ends. nil: they are killed.
	Leaves *Left

	// Migrations: moves of the command's and its descendants' threads between CPUs are counted.
	Migrations bool

	// Padding is the number of bytes by which the command's environment is made longer, in PaddingVariable; 0: none. It moves the
	// stack.
	Padding int

	// Passed: the user interacts with the command. On a terminal it stays in the process group, so that it gets the
	// keys and may read; signals to this process are passed on to it. Otherwise it has its own process group and gets
	// only the signals that end it.
	Passed bool
}

// Outcome describes how a command ended, and what it and its descendants used.
type Outcome struct {
	ExitCode int  `json:"exit_code"`        // 128+n for a signal
	Signal   int  `json:"signal,omitempty"` // that ended it; 0: none
	TimedOut bool `json:"timed_out,omitempty"`

	Checked    int      `json:"checked"` // settings that were read back
	Mismatches []string `json:"mismatches,omitempty"`
	Changed    []string `json:"changed,omitempty"` // settings that the command seems to have changed, in words

	WallSeconds         float64 `json:"wall_seconds"` // from the fork to the command's end
	UserSeconds         float64 `json:"user_seconds"`
	SystemSeconds       float64 `json:"system_seconds"`
	MaxRSSBytes         uint64  `json:"max_rss_bytes"`       // of the largest process; only an upper bound if it equals the floor
	MaxRSSFloorBytes    uint64  `json:"max_rss_floor_bytes"` // size of each process at its start (see linux.PeakRSS)
	MinorFaults         uint64  `json:"minor_faults"`
	MajorFaults         uint64  `json:"major_faults"`
	VoluntarySwitches   uint64  `json:"voluntary_switches"`
	InvoluntarySwitches uint64  `json:"involuntary_switches"`

	StoppedSeconds *float64 `json:"stopped_seconds,omitempty"` // time in which a signal had stopped one of its processes; nil: not known

	Killed int   `json:"killed,omitempty"` // descendants that were still alive at the command's end
	Left   []int `json:"left,omitempty"`   // descendants that cannot be killed: stuck in the kernel, or another user's

	MovesBy    string           `json:"moves_by,omitempty"` // perf.TraceMethod; "": moves were not requested, or not recorded
	Moves      []perf.MoveCount `json:"moves,omitempty"`
	MovesLost  uint64           `json:"moves_lost,omitempty"`  // records that were dropped
	MovesWorse *result.Warning  `json:"moves_worse,omitempty"` // why the best method, or none, was available

	Stdout []byte `json:"-"`
	Stderr []byte `json:"-"`
	// Written is a hash of the command's whole stdout, if its end is kept; only hashes computed by the same process can
	// be compared.
	Written uint64 `json:"-"`
}

// Run runs a command under a setting and returns when it and all its descendants have ended. The error of a command
// that never ran is an *ExitError.
// The command's parent is a supervisor, another process of this program. It becomes the parent of every descendant
// whose own parent ends, even in another session or group. All descendants are killed when the command ends, when ctx
// ends or the timeout passes (after a SIGTERM to the command and some patience), and when this process ends in any way,
// including SIGKILL. If the supervisor itself is killed, the command dies with it and Run kills the process group, so
// that only descendants that left the group survive. Only the command dies if a terminal makes it share this process's
// own group, or if both processes are killed at the same time.
func Run(ctx context.Context, c Command, s Setting) (Outcome, error) {
	r, err := c.open()
	if err != nil {
		return Outcome{}, child.Remedied(err)
	}
	left := false
	defer func() {
		if left {
			c.Leaves.running = append(c.Leaves.running, r)
			return
		}
		r.close()
	}()
	asked, err := json.Marshal(order{s, c.Migrations, c.Leaves != nil, c.Padding})
	if err != nil {
		return Outcome{}, err
	}
	if len(c.Argv) == 0 {
		return Outcome{}, &ExitError{ExitNotFound, errors.New("no command was given")}
	}
	if c.Passed {
		defer r.pass()() // before the start: none is lost
	}
	if err := r.start(c, string(asked)); err != nil {
		return Outcome{}, child.Remedied(err)
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	stop := context.AfterFunc(ctx, r.end)
	o, left, err := r.wait(c.Leaves != nil)
	stop()
	o.TimedOut = errors.Is(context.Cause(ctx), errTimeout)
	return o, err
}

var errTimeout = errors.New("the timeout has passed")

// running is a supervisor and the pipes to it.
type running struct {
	pid      int
	patience time.Duration // from a request to end until the command is killed
	over     chan struct{} // closed when the command has ended
	group    bool          // the supervisor and the command have their own process group
	control  *os.File      // a byte is a signal for the command; closing it kills the command
	answer   *os.File
	theirs   []*os.File // the other ends, and replacements of files that were not given
	stdio    [3]*os.File
	tails    [2]*tail
}

// open makes the pipes.
func (c Command) open() (r *running, err error) {
	terminal, _ := linux.Terminal()
	r = &running{
		patience: cmp.Or(c.Self.Patience, child.Patience), group: !c.Passed || !terminal, over: make(chan struct{}),
		stdio: [3]*os.File{c.Stdin, c.Stdout, c.Stderr},
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	controlled, control, err := os.Pipe()
	if err != nil {
		return r, err
	}
	r.control, r.theirs = control, append(r.theirs, controlled)
	answer, answered, err := os.Pipe()
	if err != nil {
		return r, err
	}
	r.answer, r.theirs = answer, append(r.theirs, answered)
	if c.Stdin == nil {
		if r.stdio[0], err = os.Open(os.DevNull); err != nil {
			return r, err
		}
		r.theirs = append(r.theirs, r.stdio[0])
	}
	for i := range r.tails {
		shown := r.stdio[1+i]
		if shown != nil && c.Keep == 0 {
			continue
		}
		from, to, err := os.Pipe()
		if err != nil {
			return r, err
		}
		r.stdio[1+i], r.theirs = to, append(r.theirs, to)
		r.tails[i] = &tail{from: from, shown: shown, keep: c.Keep, over: make(chan struct{})}
		r.tails[i].all.SetSeed(hashSeed)
		go r.tails[i].read()
	}
	return r, nil
}

func (r *running) close() {
	for _, f := range append(r.theirs, r.control, r.answer) {
		f.Close() // nil and closed ones are harmless
	}
	for _, t := range r.tails {
		if t != nil {
			t.from.Close()
		}
	}
}

// start starts the supervisor. Descriptors that this process inherited are passed to the command with the same numbers,
// as for make's jobserver or a shell's 3<FILE. The supervisor's own two have the lowest free numbers: so no number
// exceeds the limit on open files, which a parent may have lowered below the descriptors that it passes on.
func (r *running) start(c Command, order string) error {
	inherited, err := linux.InheritedFiles()
	if err != nil {
		return err
	}
	var files []uintptr
	for _, f := range r.stdio {
		files = append(files, f.Fd())
	}
	files, numbers := layout(files, [2]uintptr{r.theirs[0].Fd(), r.theirs[1].Fd()}, inherited)
	argv := c.Self.Args(SupervisorCommand, strconv.Itoa(numbers[0]), strconv.Itoa(numbers[1]), order)
	r.pid, err = syscall.ForkExec(c.Self.Path, append(argv, c.Argv...), &syscall.ProcAttr{
		Dir: c.Dir, Env: c.Self.Env, Files: files, Sys: &syscall.SysProcAttr{Setpgid: r.group},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", c.Self.Path, err)
	}
	for _, f := range r.theirs {
		f.Close() // so that the pipes end with the supervisor
	}
	return nil
}

// layout returns the descriptors of a new process, by their numbers there: standard input and output, then the
// supervisor's own two on the lowest numbers that are not inherited; numbers are these two. The lower descriptor gets
// the lower number, so that no descriptor is lower than its new number: syscall.ForkExec would first move such a
// descriptor to a number that may be inherited.
func layout(stdio []uintptr, own [2]uintptr, inherited []int) (files []uintptr, numbers [2]int) {
	order := []int{0, 1}
	if own[0] > own[1] {
		order = []int{1, 0}
	}
	files = slices.Clone(stdio)
	for _, i := range order {
		for slices.Contains(inherited, len(files)) {
			files = append(files, uintptr(len(files)))
		}
		numbers[i] = len(files)
		files = append(files, own[i])
	}
	return files, numbers
}

// wait returns the supervisor's answer. If there is none, the supervisor was killed. If the command may leave processes
// and has run, its supervisor lives on.
func (r *running) wait(leaves bool) (_ Outcome, left bool, _ error) {
	var a answer
	err := json.NewDecoder(r.answer).Decode(&a)
	close(r.over)
	left = leaves && err == nil && a.Failure == ""
	var status syscall.WaitStatus
	if !left {
		status = r.reap(err != nil)
	}
	a.Stdout, a.Stderr = r.tails[0].end(left), r.tails[1].end(left)
	if r.tails[0] != nil {
		a.Written = r.tails[0].all.Sum64()
	}
	switch {
	case err != nil:
		if status.Signaled() {
			err = linux.NewKilled(os.DirFS("/"), status.Signal())
		}
		return a.Outcome, false, fmt.Errorf("the command's supervisor ended without an answer: %w", err)
	case a.Failure == "":
		return a.Outcome, left, nil
	case a.Hint != "":
		return a.Outcome, false, &ExitError{a.ExitCode, hint.With(errors.New(a.Failure), a.Hint)}
	}
	return a.Outcome, false, &ExitError{a.ExitCode, errors.New(a.Failure)}
}

// reap waits for the supervisor's end. If it was killed, the command's process group is killed.
func (r *running) reap(killed bool) (status syscall.WaitStatus) {
	_ = linux.AwaitEnd(r.pid)
	if killed && r.group {
		_ = syscall.Kill(-r.pid, syscall.SIGKILL) // not yet reaped, so the group ID is still in use
	}
	for {
		if _, err := syscall.Wait4(r.pid, &status, 0, nil); !errors.Is(err, syscall.EINTR) {
			return status
		}
	}
}

// Left are processes that commands have left running. They die with this process.
type Left struct{ running []*running }

// End kills them.
func (l *Left) End() {
	for _, r := range l.running {
		r.control.Close()
		r.reap(true)
		r.close()
	}
	l.running = nil
}

// end asks the command to end, and kills it if it takes too long.
func (r *running) end() {
	_, _ = r.control.Write([]byte{byte(syscall.SIGTERM)})
	select {
	case <-r.over:
	case <-time.After(r.patience):
		_, _ = r.control.Write([]byte{byte(syscall.SIGKILL)})
	}
}

// pass passes signals on until the returned function is called. If the command shares the foreground group with this
// process, it has already got the signals of the terminal's keys (^C, ^\, ^Z) and its hang-up.
func (r *running) pass() (stop func()) {
	signals := make(chan os.Signal, 16)
	catch(signals, passed)
	go func() {
		for s := range signals {
			number := s.(syscall.Signal)
			if !r.group && typed(number) {
				if _, foreground := linux.Terminal(); foreground {
					number = 0
				}
			}
			if number != 0 {
				_, _ = r.control.Write([]byte{byte(number)})
			}
			if s == syscall.SIGTSTP {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // the default action of the caught signal
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// typed reports whether a terminal sends the signal to its foreground group.
func typed(s syscall.Signal) bool {
	switch s {
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGHUP:
		return true
	}
	return false
}

// dying is the time that killed processes have to end. Tests, which run on machines of any speed, set a longer one.
var dying = child.Patience

// hashSeed makes the hashes of one process comparable.
var hashSeed = maphash.MakeSeed()

// tail reads a pipe and keeps its end.
type tail struct {
	from  *os.File
	shown *os.File // gets all of it; nil: not shown
	keep  int
	kept  []byte
	all   maphash.Hash
	over  chan struct{} // closed when all is read
}

func (t *tail) read() {
	_, err := io.Copy(t, t.from) // an error also means the end
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		close(t.over)
		return
	}
	// What the command itself wrote is in the pipe. What its processes write later is read too, so that they can write.
	_ = t.from.SetReadDeadline(time.Time{})
	if pipe, err := t.from.SyscallConn(); err == nil {
		_ = pipe.Read(func(fd uintptr) bool {
			text := make([]byte, pipeSize)
			if n, _ := syscall.Read(int(fd), text); n > 0 {
				_, _ = t.Write(text[:n])
			}
			return true
		})
	}
	close(t.over)
	_, _ = io.Copy(io.Discard, t.from)
}

// pipeSize is how much a pipe holds at once (pipe(7)).
const pipeSize = 1 << 16

// Write keeps the last bytes. If the reader of the shown output has exited, it returns an error, so that the command's
// pipe breaks.
func (t *tail) Write(p []byte) (int, error) {
	if t.shown != nil {
		if _, err := t.shown.Write(p); err != nil {
			return 0, errors.Join(err, t.from.Close())
		}
	}
	_, _ = t.all.Write(p) // it never fails
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.keep {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.keep:]...)
	}
	return len(p), nil
}

// end returns the last bytes when all writers have closed the pipe, or after some patience: a process that outlived a
// killed supervisor may hold it open. If the command left processes, it returns what is there.
func (t *tail) end(left bool) []byte {
	if t == nil {
		return nil
	}
	deadline := time.Now()
	if !left {
		deadline = deadline.Add(dying)
	}
	_ = t.from.SetReadDeadline(deadline)
	<-t.over
	return t.kept[max(0, len(t.kept)-t.keep):]
}
