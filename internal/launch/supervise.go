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
	"sync"
	"syscall"
	"time"

	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/perf"
	"gorun/internal/placement"
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

// request is the part of a Command that its supervisor needs.
type request struct {
	CommandSetting
	Argv       [][]byte `json:"argv"` // which may not be valid UTF-8
	Migrations bool     `json:"migrations,omitempty"`
	Leaves     bool     `json:"leaves,omitempty"` // processes that the command leaves live until Run's process closes the socket
	Padding    int      `json:"padding,omitempty"`

	files   []*os.File
	signals chan syscall.Signal // for the command; closed at the end of the socket
}

// PaddingVariable is the environment variable whose value only has a length.
const PaddingVariable = "GORUN_PADDING"

// environ returns the environment of the command.
func (r request) environ(env []string) []string {
	env = r.CommandSetting.environ(env)
	if r.Padding == 0 {
		return env
	}
	return append(env[:len(env):len(env)], PaddingVariable+"="+strings.Repeat("x", r.Padding))
}

// answer is the message that a supervisor sends to Run at the end.
type answer struct {
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
	_, _ = os.FindProcess(os.Getpid())     // Go tries pidfds on a process of its own at their first use, which is not to be timed
	requests := make(chan request)
	go receive(conn, requests)
	for n := 1; ; n++ {
		asked, more := <-requests
		if !more {
			return err
		}
		a := answer{}
		if a.Outcome, err = asked.supervise(); err != nil {
			a.Failure, a.Hint, a.ExitCode = err.Error(), hint.Of(err), ExitRefused
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

// supervise starts the command and returns when it and all its descendants have ended, or, if it may leave descendants,
// when the command has ended.
func (r request) supervise() (Outcome, error) {
	defer func() {
		for _, f := range r.files {
			f.Close() // again, after a start
		}
	}()
	if len(r.files) != 3 {
		return Outcome{}, fmt.Errorf("pass the standard files: %w", syscall.EMFILE) // the kernel drops those above the limit
	}
	if err := linux.AdoptOrphans(); err != nil {
		return Outcome{}, err
	}
	argv := make([]string, len(r.Argv))
	for i, arg := range r.Argv {
		argv[i] = string(arg)
	}
	path, err := find(argv, os.Environ())
	if err != nil {
		return Outcome{}, err
	}
	over := make(chan struct{})
	defer close(over)
	c := start(r, path, argv, over)
	if c.err != nil {
		return c.Outcome, c.err
	}
	for _, f := range r.files {
		f.Close() // so that a pipe ends with its writers
	}
	defer func() { _ = c.process.Release() }()
	go obey(r.signals, over, c.process)
	o := c.Outcome
	if o.MaxRSSFloorBytes, err = linux.PeakRSS(os.DirFS("/")); err != nil {
		return o, err
	}
	counted := count(c.family) // after the floor, which reading the trace would raise
	stopped := watchStops()
	machine := placement.WatchMachine(nil)
	monitor := placement.Watch(placement.Thread{TID: c.process.Pid, Setting: r.CommandSetting.Setting, Free: true})
	o.reap(c.process.Pid, c.wall, func() { o.readBack(machine, monitor) })
	if !r.Leaves {
		o.reapLeft()
	}
	o.StoppedSeconds = stopped()
	counted(&o)
	return o, nil
}

// started is a command that was just started, or the error.
type started struct {
	Outcome // Checked, Mismatches, and how its moves are recorded
	family  *perf.Family
	process *os.Process
	wall    <-chan time.Duration // its wall time, at its end
	err     error
}

// start starts the command from a thread that has the setting and lives until over is closed: the command dies with it.
// The thread waits for the command's end: whatever other threads do meanwhile, such as reading files of /proc, is not in
// the wall time.
func start(asked request, path string, argv []string, over <-chan struct{}) started {
	done := make(chan started)
	go func() {
		runtime.LockOSThread() // never unlocked: the setting ends with the thread
		wall := make(chan time.Duration, 1)
		c := started{wall: wall}
		if asked.Migrations {
			c.family = c.follow()
		}
		c.Checked, c.Mismatches, c.err = asked.Give()
		if c.err != nil {
			c.err = &ExitError{ExitRefused, c.err}
			done <- c
			return
		}
		attr := &os.ProcAttr{
			Env: asked.environ(os.Environ()), Files: asked.files, Sys: linux.DieWithParent(),
		}
		began := time.Now()
		c.err = execute(path, argv, func(path string, argv []string) (err error) {
			c.process, err = os.StartProcess(path, argv, attr)
			return err
		})
		done <- c
		if c.err == nil {
			_ = linux.AwaitEnd(c.process.Pid)
			wall <- time.Since(began)
		}
		<-over
	}()
	return <-done
}

// obey passes signals on to the command until it is over, and kills it when the signals end.
func obey(signals <-chan syscall.Signal, over <-chan struct{}, command *os.Process) {
	for {
		select {
		case number, more := <-signals:
			if !more {
				_ = command.Kill()
				return
			}
			_ = command.Signal(number) // it may have ended
		case <-over:
			return
		}
	}
}

// readBack ends the watch of the command. A setting that the command may have changed itself is not a mismatch, unless
// the online CPUs have changed too: then the kernel changed it.
func (o *Outcome) readBack(machine, monitor *placement.Monitor) {
	checked, mismatches := monitor.End()
	_, changes := machine.End()
	o.Checked += checked
	o.Mismatches = append(o.Mismatches, mismatches...)
	for _, m := range monitor.Own() {
		if len(changes) > 0 {
			o.Mismatches = append(o.Mismatches, m.Error())
			continue
		}
		what := m.What
		if what == "CPUs" {
			what = "affinity"
		}
		o.Changed = append(o.Changed, fmt.Sprintf("the command changed its own %s, unless another program did: %v", what, m))
	}
}

// reap waits for the command, and adds up what it and its descendants used. It calls
// readBack when the command has ended but is not yet reaped, so that the kernel still knows its settings.
func (o *Outcome) reap(command int, wall <-chan time.Duration, readBack func()) {
	readBack = sync.OnceFunc(readBack)
	defer readBack()
	for {
		pid, err := linux.AwaitEnded()
		if err != nil {
			return // no child is left
		}
		if pid == command {
			o.WallSeconds = (<-wall).Seconds()
			o.Turns, _ = linux.TurnsOf(os.DirFS("/"), pid)
			readBack()
		}
		_, status, err := o.wait(pid, 0)
		if err != nil {
			return
		}
		if pid == command {
			o.ended(status)
			break
		}
	}
}

// reapLeft kills the descendants that the command has left, and adds up what they used.
func (o *Outcome) reapLeft() {
	// Each round kills the processes that it finds; the next round finds those forked in between.
	for deadline := time.Now().Add(dying); time.Now().Before(deadline); {
		pid, _, err := o.wait(-1, syscall.WNOHANG)
		switch {
		case err != nil:
			return
		case pid == 0:
			o.kill()
			time.Sleep(time.Millisecond)
		}
	}
	o.Left, _ = linux.Descendants()
}

// kill kills all descendants. A PID cannot have been reused: only this process and dying descendants reap.
func (o *Outcome) kill() {
	pids, err := linux.Descendants()
	if err != nil {
		return
	}
	o.Killed = max(o.Killed, len(pids))
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// wait reaps a child (-1: any), if one has ended, and adds what it and its own reaped children used.
func (o *Outcome) wait(which, flags int) (pid int, status syscall.WaitStatus, err error) {
	var used syscall.Rusage
	for {
		pid, err = syscall.Wait4(which, &status, flags, &used)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil || pid == 0 {
		return pid, status, err
	}
	o.Usage = o.Add(linux.UsageOf(used))
	o.MaxRSSBytes = max(o.MaxRSSBytes, uint64(used.Maxrss)*1024)
	return pid, status, nil
}

// ended records how the command ended.
func (o *Outcome) ended(status syscall.WaitStatus) {
	o.ExitCode = status.ExitStatus()
	if status.Signaled() {
		o.Signal = int(status.Signal())
		o.ExitCode = exitSignal + o.Signal
	}
}
