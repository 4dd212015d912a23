package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gorun/csrc"
	"gorun/internal/base/hint"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
)

// passed are the signals that Run passes on to the command, and that its supervisor ignores.
var passed = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP,
	syscall.SIGCONT,
}

// catch delivers these signals to ch, except those that this process ignores, for example because of nohup(1), which
// the command ignores as well. A caught signal has its default action again in a started process.
func catch(ch chan<- os.Signal, signals []os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(ch, s)
		}
	}
}

// message is what Run sends to a supervisor: a request, with the descriptors of the command's standard files, or then a signal
// for that request's command. Closing the socket kills the command.
type message struct {
	Request *request       `json:"request,omitempty"`
	Signal  syscall.Signal `json:"signal,omitempty"`
}

// request is the part of a Group that its supervisor needs.
type request struct {
	Members    []Member      `json:"members"`
	Files      []int         `json:"files"` // the number of descriptors of each member
	Dir        string        `json:"dir,omitempty"`
	Migrations bool          `json:"migrations,omitempty"`
	Looks      bool          `json:"looks,omitempty"`
	Counters   bool          `json:"counters,omitempty"`
	Leaves     bool          `json:"leaves,omitempty"` // processes that the command leaves live until Run's process closes the socket
	Padding    int           `json:"padding,omitempty"`
	Gate       bool          `json:"gate,omitempty"`
	Together   bool          `json:"together,omitempty"`
	Fixed      bool          `json:"fixed,omitempty"`
	Started    bool          `json:"started,omitempty"`
	Patience   time.Duration `json:"patience"` // from a request to end until a member is killed

	files   []*os.File          // of all members, one after another
	signals chan syscall.Signal // for the members; closed at the end of the socket
}

// PaddingVariable is the environment variable whose value only has a length.
const PaddingVariable = "GORUN_PADDING"

// environ returns the environment of a member.
func (r request) environ(of Member, env []string) []string {
	env = environ(of.Setting, with(env, of.Environ...))
	if r.Padding == 0 {
		return env
	}
	return with(env, PaddingVariable+"="+strings.Repeat("x", r.Padding))
}

// answer is the message that a supervisor sends to Run at the end; before it, one that only has the PIDs, if Run asked for them.
type answer struct {
	Started []int `json:"started,omitempty"` // the members that wait at the gate
	Outcome
	Failure string `json:"failure,omitempty"` // why the command never ran; then ExitCode is ExitError's
	Hint    string `json:"hint,omitempty"`
	// Used is the CPU time of the supervisor and of all its commands, in seconds.
	Used float64 `json:"used"`
}

// Supervise is the body of the process that Run starts between itself and the commands; args are those that Run appends.
// It survives a SIGKILL of Run's process, and then kills the command and its descendants. Only SIGKILL ends it.
func Supervise(args []string) error {
	if len(args) != 1 {
		return errors.New("a supervisor takes the number of a descriptor")
	}
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	conn, err := linux.OpenSocket(os.NewFile(uintptr(fd), "socket"))
	if err != nil {
		return err
	}
	catch(make(chan os.Signal, 1), passed) // never read: signals for the command come as messages
	requests := make(chan request)
	go receive(conn, requests)
	for n := 1; ; n++ {
		asked, more := <-requests
		if !more {
			return err
		}
		a := answer{}
		started := func(pids []int) {
			if asked.Started {
				_ = json.NewEncoder(conn).Encode(answer{Started: pids}) // an error is that of the last answer too
			}
		}
		if a.Outcome, err = asked.supervise(started); err != nil {
			a.Failure, a.Hint, a.ExitCode = err.Error(), hint.Of(Remedied(err)), ExitRefused
			if e := new(ExitError); errors.As(err, &e) {
				a.ExitCode = e.Code
			}
		}
		a.Used, _ = linux.CPUSeconds() // every Linux has it
		err = json.NewEncoder(conn).Encode(a)
		if asked.Leaves && a.Failure == "" {
			go func() { // so that kill(2) finds no process that has ended
				for err := error(nil); err == nil; {
					_, _, err = new(Outcome).wait(-1, 0)
				}
			}()
			for range requests {
			}
			new(Outcome).reapLeft()
		}
		if n%cleanEvery == 0 {
			runtime.GC()
		}
	}
}

// cleanEvery is the number of commands after which the supervisor frees its memory. Otherwise it would do so at some time while a
// command runs, and would be larger, which makes max_rss_floor_bytes larger.
const cleanEvery = 8

// receive reads the messages of Run until the socket ends.
func receive(conn *linux.Socket, requests chan<- request) {
	defer close(requests)
	messages := json.NewDecoder(conn)
	var signals chan syscall.Signal // of the last request
	for {
		var m message
		if err := messages.Decode(&m); err != nil {
			if signals != nil {
				close(signals)
			}
			return
		}
		if m.Request != nil {
			signals = make(chan syscall.Signal, 16)
			m.Request.files, m.Request.signals, conn.Files = conn.Files, signals, nil
			requests <- *m.Request
			continue
		}
		select {
		case signals <- m.Signal:
		default: // the command has ended
		}
	}
}

// supervise starts the members and returns when they and all their descendants have ended, or, if they may leave descendants,
// when they have ended. It calls started when all of them wait at the gate.
func (r request) supervise(started func(pids []int)) (o Outcome, err error) {
	closeFiles := func() {
		for _, f := range r.files {
			f.Close() // again, after a start
		}
	}
	defer closeFiles()
	files := 0
	for _, n := range r.Files {
		files += n
	}
	if len(r.files) != files {
		return o, fmt.Errorf("pass the standard files: %w", syscall.EMFILE) // the kernel drops those above the limit
	}
	if r.Dir != "" {
		if err := os.Chdir(r.Dir); err != nil {
			return o, err
		}
	}
	if err := linux.AdoptOrphans(); err != nil {
		return o, err
	}
	var gate *csrc.Start
	if r.Gate {
		if gate, err = csrc.NewStart(len(r.Members)); err != nil {
			return o, err
		}
		defer gate.Free()
	}
	g := supervised{request: r, gate: gate, over: make(chan struct{})}
	defer close(g.over)
	if err := g.start(&o); err != nil {
		o.reapLeft() // of members that wait at the gate
		return o, err
	}
	closeFiles() // so that a pipe ends with its writers
	if o.MaxRSSFloorBytes, err = linux.PeakRSS(os.DirFS("/")); err != nil {
		return o, err
	}
	counted := count(g.family) // after the floor, which reading the trace would raise
	looked := watch(g.pids(), r.Looks)
	machine := placement.WatchMachine(nil)
	for i, c := range g.processes {
		c.monitor = placement.Watch(placement.Thread{TID: c.pid, Setting: r.Members[i].Setting, Free: !r.Fixed})
	}
	go g.obey()
	if gate != nil {
		g.gather()
		started(g.pids())
		for _, c := range g.processes {
			c.before, _ = linux.ProcessCPUTime(c.pid) // every Linux has it
			c.turns, _ = linux.TurnsOf(os.DirFS("/"), c.pid)
		}
		began := time.Now()
		g.opened.Store(&began)
		gate.Open()
	}
	err = g.reap(&o, machine)
	if !r.Leaves || err != nil {
		o.reapLeft()
	}
	looked(&o)
	counted(&o)
	if g.counters != nil {
		o.Counters, err = g.counters.Read(), errors.Join(err, g.counters.Close())
	}
	return o, err
}
