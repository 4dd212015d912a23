package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/perf"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/start/child"
)

// SupervisorCommand is the command of gorun that calls Supervise.
const SupervisorCommand = "exec-supervisor"

// Command is a program to run, and the setting in which it is started.
type Command struct {
	Self    child.Self // which calls Supervise as SupervisorCommand; the command gets its environment
	Argv    []string
	Setting placement.Setting
	Dir     string // the directory in which the command starts, and in which its name is looked up; "": this process's own

	Stdin          *os.File // nil: /dev/null
	Stdout, Stderr *os.File // nil: not shown
	Keep           int      // number of last bytes of each that are kept in the Outcome
	// InMemory: what is not shown is written to files in memory and read when the command has ended, so that this process
	// does not work meanwhile. A file is emptied when it is larger than Keep. What is shown is not kept.
	InMemory bool

	Timeout time.Duration // 0: none

	// Lasting is the supervisor of commands that have the same Self, Dir and PassThrough; nil: this one has its own.
	Lasting *Lasting

	// Leaves collects the command's processes that are still alive when it ends. nil: they are killed.
	Leaves *Left

	// Migrations: moves of the command's and its descendants' threads between CPUs are counted.
	Migrations bool

	// Padding is the number of bytes by which the command's environment is made longer, in PaddingVariable; 0: none. It moves the
	// stack.
	Padding int

	// Copies are commands that begin at the same time, in place of the one of Argv: each waits at a gate after its fork, before its
	// exec. nil: there is one command. Their Stdin is as that of the command, and so on.
	Copies []Copy
	// Together: when one of the copies fails, the others are asked to end.
	Together bool
	// Fixed: the copies do not change their own setting, so that each change is a mismatch.
	Fixed bool
	// Started is called with the PIDs of the copies when all of them wait at the gate; nil: nothing is.
	Started func(pids []int)

	// PassThrough: the user interacts with the command. On a terminal it stays in the process group, so that it gets the
	// keys and may read; signals to this process are passed on to it. Otherwise it has its own process group and gets
	// only the signals that end it.
	PassThrough bool
}

// Copy is one of several commands that begin at the same time. Its supervisor gets the files as descriptors.
type Copy struct {
	Name    string            `json:"name,omitempty"` // in mismatches and errors; "": it is called by its number
	Path    string            `json:"path,omitempty"` // of the executable; "": argv[0], looked up in PATH
	Argv    Texts             `json:"argv"`
	Environ Texts             `json:"environ,omitempty"` // variables in addition to those of Self, or in place of them
	Setting placement.Setting `json:"setting"`

	Stdin, Stdout, Stderr *os.File   `json:"-"`
	Files                 []*os.File `json:"-"` // its descriptors from 3 on, at most five
}

// Texts are words that need not be valid UTF-8, so that JSON has them as bytes.
type Texts []string

// MarshalJSON implements json.Marshaler.
func (t Texts) MarshalJSON() ([]byte, error) {
	words := make([][]byte, len(t))
	for i, text := range t {
		words[i] = []byte(text)
	}
	return json.Marshal(words)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Texts) UnmarshalJSON(from []byte) error {
	var words [][]byte
	err := json.Unmarshal(from, &words)
	for _, word := range words {
		*t = append(*t, string(word))
	}
	return err
}

// copies returns the commands to start: one, unless there are several.
func (c Command) copies() []Copy {
	if c.Copies != nil {
		return c.Copies
	}
	return []Copy{{Argv: c.Argv, Setting: c.Setting, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr}}
}

// Ending describes how a command ended, and what it and the descendants that it waited for used.
type Ending struct {
	PID         int         `json:"pid,omitempty"`
	ExitCode    int         `json:"exit_code"`        // 128+n for a signal
	Signal      int         `json:"signal,omitempty"` // that ended it; 0: none
	Late        bool        `json:"late,omitempty"`   // it was asked to end, or killed, because another one had failed
	WallSeconds float64     `json:"wall_seconds"`     // from the fork, or from the opening of the gate, to the command's end
	Turns       linux.Turns `json:"turns"`            // of its first thread; none: not known
	linux.Usage
	MaxRSSBytes uint64 `json:"max_rss_bytes"` // of the largest process; only an upper bound if it equals the floor

	Stdout []byte `json:"-"`
	Stderr []byte `json:"-"`
	Lost   bool   `json:"-"` // the command wrote more to stdout than is kept; known only of InMemory
}

// Outcome describes how a command ended, and what it and all its descendants used. Of several copies it has the exit code of the
// first that failed, the longest wall time, and the sums of what they used.
type Outcome struct {
	Ending
	Copies   []Ending `json:"copies,omitempty"` // nil: there was one command
	TimedOut bool     `json:"timed_out,omitempty"`

	Checked    int      `json:"checked"` // settings that were read back
	Mismatches []string `json:"mismatches,omitempty"`
	Changed    []string `json:"changed,omitempty"` // settings that the command seems to have changed, in words

	MaxRSSFloorBytes uint64 `json:"max_rss_floor_bytes"` // size of each process at its start (see linux.PeakRSS)

	StoppedSeconds *float64 `json:"stopped_seconds,omitempty"` // time in which a signal had stopped one of its processes; nil: not known

	Killed int   `json:"killed,omitempty"` // descendants that were still alive at the command's end
	Left   []int `json:"left,omitempty"`   // descendants that cannot be killed: stuck in the kernel, or another user's

	MovesBy   string           `json:"moves_by,omitempty"` // perf.Method; "": moves were not requested, or not recorded
	Moves     []perf.MoveCount `json:"moves,omitempty"`
	MovesLost uint64           `json:"moves_lost,omitempty"` // records that were dropped
	NoMoves   *result.Warning  `json:"no_moves,omitempty"`   // why they were not recorded

	// Unwaited is the CPU time, in seconds, of the command and of a Lasting supervisor that this process has not waited for.
	Unwaited float64 `json:"-"`
}

// PeakRSS returns the peak memory of the command's processes.
func (o Outcome) PeakRSS() result.PeakRSS {
	p := result.PeakRSS{MaxRSSBytes: new(o.MaxRSSBytes), MaxRSSFloorBytes: o.MaxRSSFloorBytes} // the samples keep it, and not the outcome
	if !p.Has(result.MaxRSS) {
		p.MaxRSSBytes = nil
	}
	return p
}

// Run runs a command under its setting and returns when it and all its descendants have ended. The error of a command
// that never ran is an *ExitError.
// The command's parent is a supervisor, another process of this program. It becomes the parent of every descendant
// whose own parent ends, even in another session or group. All descendants are killed when the command ends, when ctx
// ends or the timeout passes (after a SIGTERM to the command and some patience), and when this process ends in any way,
// including SIGKILL. If the supervisor itself is killed, the command dies with it and Run kills the process group, so
// that only descendants that left the group survive. Only the command dies if a terminal makes it share this process's
// own group, or if both processes are killed at the same time.
func Run(ctx context.Context, c Command) (Outcome, error) {
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
	signals := make(chan os.Signal, 16)
	if c.PassThrough {
		catch(signals, passed) // before the start: none is lost
	}
	if err := r.start(c); err != nil {
		return Outcome{}, child.Remedied(err)
	}
	if c.PassThrough {
		defer r.pass(signals)()
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		r.end()
	})
	before := c.Lasting.unwaited()
	o, left, err := r.wait(c)
	o.Unwaited = c.Lasting.unwaited() - before
	if !stop() {
		<-ended // its signals are not for the next command
	}
	o.TimedOut = errors.Is(context.Cause(ctx), errTimeout)
	return o, err
}

var errTimeout = errors.New("the timeout has passed")

// running is a command and its supervisor.
type running struct {
	*supervisor
	patience time.Duration // from a request to end until the command is killed
	over     chan struct{} // closed when the command has ended
	files    [][]*os.File  // of each copy
	theirs   []*os.File    // those of the files that this process does not need itself
	tails    [][2]*tail    // of each copy: what it writes to stdout and to stderr
	settle   func()        // nothing changes files in memory any more
}

// open makes the pipes.
func (c Command) open() (r *running, err error) {
	r = &running{patience: cmp.Or(c.Self.Patience, child.Patience), over: make(chan struct{}), settle: func() {}}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	for _, of := range c.copies() {
		files, tails, err := r.openFor(c, of)
		r.files, r.tails = append(r.files, files), append(r.tails, tails)
		if err != nil {
			return r, err
		}
	}
	if c.InMemory {
		r.settle = limit(r.tails)
	}
	return r, nil
}

// openFor makes the pipes of a copy.
func (r *running) openFor(c Command, of Copy) (files []*os.File, tails [2]*tail, err error) {
	files = append([]*os.File{of.Stdin, of.Stdout, of.Stderr}, of.Files...)
	if of.Stdin == nil {
		if files[0], err = os.Open(os.DevNull); err != nil {
			return files, tails, err
		}
		r.theirs = append(r.theirs, files[0])
	}
	for i := range tails {
		shown := files[1+i]
		if shown != nil && (c.Keep == 0 || c.InMemory) {
			continue
		}
		if c.InMemory {
			if files[1+i], err = linux.Memfd("gorun-output", 0); err != nil {
				return files, tails, err
			}
			// Each write is at the end of the file, also after it was emptied.
			_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, files[1+i].Fd(), syscall.F_SETFL, syscall.O_APPEND)
			tails[i] = &tail{from: files[1+i], keep: c.Keep}
			continue
		}
		from, to, err := os.Pipe()
		if err != nil {
			return files, tails, err
		}
		files[1+i], r.theirs = to, append(r.theirs, to)
		tails[i] = &tail{from: from, shown: shown, keep: c.Keep, over: make(chan struct{})}
		go tails[i].read()
	}
	return files, tails, nil
}

func (r *running) close() {
	for _, f := range r.theirs {
		f.Close() // closed ones are harmless
	}
	r.settle()
	for _, tails := range r.tails {
		for _, t := range tails {
			if t != nil {
				t.from.Close()
			}
		}
	}
}

// start has a supervisor start the command.
func (r *running) start(c Command) (err error) {
	if r.supervisor = c.Lasting.take(); r.supervisor == nil {
		if r.supervisor, err = c.startSupervisor(); err != nil {
			return err
		}
	}
	asked := request{
		Migrations: c.Migrations, Leaves: c.Leaves != nil, Padding: c.Padding, Patience: r.patience,
		Gate: c.Copies != nil, Together: c.Together, Fixed: c.Fixed, Started: c.Started != nil, Copies: c.copies(),
	}
	for _, files := range r.files {
		asked.Files = append(asked.Files, len(files))
		err = cmp.Or(err, r.conn.Send(files...))
	}
	if err == nil {
		err = json.NewEncoder(r.conn).Encode(message{Request: &asked})
	}
	for _, f := range r.theirs {
		f.Close() // so that the pipes end with the command
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) { // of a supervisor that has ended, there is no answer
		r.supervisor.reap(true)
		return err
	}
	return nil
}

// wait returns the supervisor's answer. If there is none, the supervisor was killed. If the command may leave processes
// and has run, its supervisor lives on.
func (r *running) wait(c Command) (_ Outcome, left bool, _ error) {
	var a answer
	err := r.answers.Decode(&a)
	if err == nil && a.Started != nil {
		c.Started(a.Started)
		err = r.answers.Decode(&a)
	}
	close(r.over)
	r.settle()
	ran := err == nil && a.Failure == ""
	left = c.Leaves != nil && ran
	var status syscall.WaitStatus
	switch {
	case left:
	case c.Lasting != nil && ran && len(a.Left) == 0:
		c.Lasting.idle, c.Lasting.used = r.supervisor, a.Used
	default:
		status = r.supervisor.reap(err != nil)
		if c.Lasting != nil {
			c.Lasting.used = 0
		}
	}
	for i, tails := range r.tails {
		of := &a.Ending
		if i < len(a.Copies) {
			of = &a.Copies[i]
		}
		of.Stdout, of.Stderr = tails[0].end(left), tails[1].end(left)
		of.Lost = tails[0] != nil && tails[0].lost
	}
	switch {
	case err != nil && r.failed != nil:
		return a.Outcome, false, r.failed
	case err != nil:
		if status.Signaled() {
			err = linux.NewKilled(os.DirFS("/"), status.Signal())
		}
		return a.Outcome, false, fmt.Errorf("the command's supervisor ended without an answer: %w", err)
	case a.Failure == "":
		return a.Outcome, left, nil
	}
	return a.Outcome, false, &ExitError{a.ExitCode, hint.With(errors.New(a.Failure), a.Hint)}
}

// Left are processes that commands have left running. They die with this process.
type Left struct{ running []*running }

// End kills them.
func (l *Left) End() {
	for _, r := range l.running {
		r.supervisor.reap(true)
		r.close()
	}
	l.running = nil
}

// end asks the command to end, and kills it if it takes too long.
func (r *running) end() {
	r.signal(syscall.SIGTERM)
	select {
	case <-r.over:
	case <-time.After(r.patience):
		r.signal(syscall.SIGKILL)
	}
}

// pass passes these signals on until the returned function is called. If the command shares the foreground group with this
// process, it has already got the signals of the terminal's keys (^C, ^\, ^Z) and its hang-up.
func (r *running) pass(signals chan os.Signal) (stop func()) {
	go func() {
		for s := range signals {
			number := s.(syscall.Signal)
			if !r.group && slices.Contains(typed, number) {
				if _, foreground := linux.Terminal(); foreground {
					number = 0
				}
			}
			if number != 0 {
				r.signal(number)
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

// typed are the signals that a terminal sends to its foreground group.
var typed = []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGHUP}

// dying is the time that killed processes have to end. Tests, which run on machines of any speed, set a longer one.
var dying = child.Patience
