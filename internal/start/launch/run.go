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
)

// SupervisorCommand is the command of gorun that calls Supervise.
const SupervisorCommand = "exec-supervisor"

// Group is one or more processes that are started, watched and ended together, each with its own setting.
type Group struct {
	Self    Self     // which calls Supervise as SupervisorCommand; the members get its environment
	Members []Member // at least one
	Dir     string   // the directory in which the members start, and in which their names are looked up; "": this process's own

	// Gate: the members begin at the same time. Each waits at a gate after its fork, before its exec. Without a gate there is one
	// member, which begins at once.
	Gate bool
	// Together: when one of the members fails, the others are asked to end.
	Together bool
	// Fixed: the members do not change their own setting, so that each change is a mismatch.
	Fixed bool
	// Started is called with the PIDs of the members when all of them wait at the gate; nil: nothing is.
	Started func(pids []int)

	Keep int // number of last bytes of what a member writes to stdout, and to stderr, that are kept in its Ending
	// InMemory: what is not shown is written to files in memory and read when the members have ended, so that this process
	// does not work meanwhile. A file is emptied when it is larger than Keep. What is shown is not kept.
	InMemory bool

	Timeout time.Duration // 0: none

	// Lasting is the supervisor of groups that have the same Self and PassThrough, and all a Dir or none; nil: this one has its own.
	Lasting *Lasting

	// Leaves collects the processes that are still alive when all members have ended. nil: they are killed.
	Leaves *Left

	// Migrations: moves of the threads of a member without a gate, and of its descendants, between CPUs are counted.
	Migrations bool
	// Counters: events of the CPU are counted, of a member without a gate and of its descendants.
	Counters bool

	// Looks: each thread is looked at while it runs, which costs up to 2% of a CPU.
	Looks bool

	// Padding is the number of bytes by which the environment of each member is made longer, in PaddingVariable; 0: none. It moves the
	// stack.
	Padding int

	// PassThrough: the user interacts with the only member. On a terminal it stays in the process group, so that it gets the
	// keys and may read; signals to this process are passed on to it. Otherwise it has its own process group and gets
	// only the signals that end it.
	PassThrough bool
}

// Member is a process of a group: a program and the setting in which it is started. Its supervisor gets the files as descriptors.
type Member struct {
	Name    string            `json:"name,omitempty"` // in mismatches and errors; "": a member with a gate is called by its number
	Path    string            `json:"path,omitempty"` // of the executable; "": argv[0], looked up in PATH
	Argv    Texts             `json:"argv"`
	Environ Texts             `json:"environ,omitempty"` // variables in addition to those of Self, or in place of them
	Setting placement.Setting `json:"setting"`

	Request        any        `json:"-"` // in place of Stdin, a file with this as JSON; nil: none
	Stdin          *os.File   `json:"-"` // nil: /dev/null
	Stdout, Stderr *os.File   `json:"-"` // nil: not shown
	Files          []*os.File `json:"-"` // its descriptors from 3 on, at most five
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

// Ending describes how a member ended, and what it and the descendants that it waited for used.
type Ending struct {
	PID         int         `json:"pid,omitempty"`
	ExitCode    int         `json:"exit_code"`        // 128+n for a signal
	Signal      int         `json:"signal,omitempty"` // that ended it; 0: none
	Late        bool        `json:"late,omitempty"`   // it was asked to end, or killed, because another one had failed
	WallSeconds float64     `json:"wall_seconds"`     // from the fork, or from the opening of the gate, to its end
	Turns       linux.Turns `json:"turns"`            // of its first thread; none: not known
	// Others is what its other threads and its descendants did, each up to the last look at it; nil: not known.
	Others *linux.Turns `json:"others,omitempty"`
	linux.Usage
	MaxRSSBytes uint64 `json:"max_rss_bytes"` // of the largest process; only an upper bound if it equals the floor

	Stdout []byte `json:"-"`
	Stderr []byte `json:"-"`
	Lost   bool   `json:"-"` // it wrote more to stdout than is kept; known only of InMemory
}

// Outcome describes how a group ended, and what the members and all their descendants used. Its own Ending has the exit code of the
// first member that failed, the longest wall time, the sums of what they used, and the output of the first member.
type Outcome struct {
	Ending
	Members  []Ending `json:"members"`
	TimedOut bool     `json:"timed_out,omitempty"`

	Checked    int      `json:"checked"` // settings that were read back
	Mismatches []string `json:"mismatches,omitempty"`
	Changed    []string `json:"changed,omitempty"` // settings that the command seems to have changed, in words

	MaxRSSFloorBytes uint64 `json:"max_rss_floor_bytes"` // size of each process at its start (see linux.PeakRSS)

	StoppedSeconds *float64 `json:"stopped_seconds,omitempty"` // time in which a signal had stopped one of its processes; nil: not known

	Looks *result.Looks `json:"looks,omitempty"` // what else was seen of its processes; nil: nobody looked

	Killed int   `json:"killed,omitempty"` // descendants that were still alive at the command's end
	Left   []int `json:"left,omitempty"`   // descendants that cannot be killed: stuck in the kernel, or another user's

	MovesBy   string           `json:"moves_by,omitempty"` // perf.Method; "": moves were not requested, or not recorded
	Moves     []perf.MoveCount `json:"moves,omitempty"`
	MovesLost uint64           `json:"moves_lost,omitempty"` // records that were dropped
	NoMoves   *result.Warning  `json:"no_moves,omitempty"`   // why they were not recorded

	Counters *result.Counters `json:"counters,omitempty"` // nil: not requested

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

// Run runs a group and returns when its members and all their descendants have ended. The error of a member that never ran is an
// *ExitError.
// The members' parent is a supervisor, another process of this program. It becomes the parent of every descendant
// whose own parent ends, even in another session or group. All descendants are killed when the members have ended, when ctx
// ends or the timeout passes (after a SIGTERM to the members and some patience), and when this process ends in any way,
// including SIGKILL. If the supervisor itself is killed, the members die with it and Run kills the process group, so
// that only descendants that left it survive. Only the members die if a terminal makes it share this process's
// own group, or if both processes are killed at the same time.
func Run(ctx context.Context, g Group) (Outcome, error) {
	r, err := g.open()
	if err != nil {
		return Outcome{}, Remedied(err)
	}
	left := false
	defer func() {
		if left {
			g.Leaves.running = append(g.Leaves.running, r)
			return
		}
		r.close()
	}()
	signals := make(chan os.Signal, 16)
	if g.PassThrough {
		catch(signals, passed) // before the start: none is lost
	}
	if err := r.start(g); err != nil {
		return Outcome{}, Remedied(err)
	}
	if g.PassThrough {
		defer r.pass(signals)()
	}
	if g.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, g.Timeout, errTimeout)
		defer cancel()
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		r.end()
	})
	before := g.Lasting.unwaited()
	o, left, err := r.wait(g)
	o.Unwaited = g.Lasting.unwaited() - before
	if !stop() {
		<-ended // its signals are not for the next command
	}
	o.TimedOut = errors.Is(context.Cause(ctx), errTimeout)
	return o, err
}

var errTimeout = errors.New("the timeout has passed")

// running is a group and its supervisor.
type running struct {
	*supervisor
	patience time.Duration // from a request to end until the command is killed
	over     chan struct{} // closed when the command has ended
	files    [][]*os.File  // of each member
	theirs   []*os.File    // those of the files that this process does not need itself
	tails    [][2]*tail    // of each member: what it writes to stdout and to stderr
	settle   func()        // nothing changes files in memory any more
}

// open makes the pipes.
func (g Group) open() (r *running, err error) {
	r = &running{patience: cmp.Or(g.Self.Patience, Patience), over: make(chan struct{}), settle: func() {}}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	for _, of := range g.Members {
		files, tails, err := r.openFor(g, of)
		r.files, r.tails = append(r.files, files), append(r.tails, tails)
		if err != nil {
			return r, err
		}
	}
	if g.InMemory {
		r.settle = limit(r.tails)
	}
	return r, nil
}

// openFor makes the pipes of a member.
func (r *running) openFor(g Group, of Member) (files []*os.File, tails [2]*tail, err error) {
	files = append([]*os.File{of.Stdin, of.Stdout, of.Stderr}, of.Files...)
	if of.Stdin == nil {
		if files[0], err = of.input(); err != nil {
			return files, tails, err
		}
		r.theirs = append(r.theirs, files[0])
	}
	for i := range tails {
		shown := files[1+i]
		if shown != nil && (g.Keep == 0 || g.InMemory) {
			continue
		}
		if g.InMemory {
			if files[1+i], err = linux.Memfd("gorun-output", 0); err != nil {
				return files, tails, err
			}
			// Each write is at the end of the file, also after it was emptied.
			_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, files[1+i].Fd(), syscall.F_SETFL, syscall.O_APPEND)
			tails[i] = &tail{from: files[1+i], keep: g.Keep}
			continue
		}
		from, to, err := os.Pipe()
		if err != nil {
			return files, tails, err
		}
		files[1+i], r.theirs = to, append(r.theirs, to)
		tails[i] = &tail{from: from, shown: shown, keep: g.Keep, over: make(chan struct{})}
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
func (r *running) start(g Group) (err error) {
	if r.supervisor = g.Lasting.take(); r.supervisor == nil {
		if r.supervisor, err = g.startSupervisor(); err != nil {
			return err
		}
	}
	asked := request{
		Dir: g.Dir, Migrations: g.Migrations, Looks: g.Looks, Counters: g.Counters, Leaves: g.Leaves != nil, Padding: g.Padding, Patience: r.patience,
		Gate: g.Gate, Together: g.Together, Fixed: g.Fixed, Started: g.Started != nil, Members: g.Members,
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
func (r *running) wait(g Group) (_ Outcome, left bool, _ error) {
	var a answer
	err := r.answers.Decode(&a)
	if err == nil && a.Started != nil {
		g.Started(a.Started)
		err = r.answers.Decode(&a)
	}
	close(r.over)
	r.settle()
	ran := err == nil && a.Failure == ""
	left = g.Leaves != nil && ran
	var status syscall.WaitStatus
	switch {
	case left:
	case g.Lasting != nil && ran && len(a.Left) == 0:
		g.Lasting.idle, g.Lasting.used = r.supervisor, a.Used
	default:
		status = r.supervisor.reap(err != nil)
		if g.Lasting != nil {
			g.Lasting.used = 0
		}
	}
	a.Members = append(a.Members, make([]Ending, len(r.tails)-len(a.Members))...) // without an answer, their output is known
	for i, tails := range r.tails {
		of := &a.Members[i]
		of.Stdout, of.Stderr = tails[0].end(left), tails[1].end(left)
		of.Lost = tails[0] != nil && tails[0].lost
	}
	a.Stdout, a.Stderr, a.Lost = a.Members[0].Stdout, a.Members[0].Stderr, a.Members[0].Lost
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
var dying = Patience
