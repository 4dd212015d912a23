package launch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gorun/csrc"
	"gorun/internal/child"
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
	Copies     []asking      `json:"copies"`
	Migrations bool          `json:"migrations,omitempty"`
	Leaves     bool          `json:"leaves,omitempty"` // processes that the command leaves live until Run's process closes the socket
	Padding    int           `json:"padding,omitempty"`
	Gate       bool          `json:"gate,omitempty"`
	Together   bool          `json:"together,omitempty"`
	Fixed      bool          `json:"fixed,omitempty"`
	Started    bool          `json:"started,omitempty"`
	Patience   time.Duration `json:"patience"` // from a request to end until a copy is killed

	files   []*os.File          // of all copies, one after another
	signals chan syscall.Signal // for the commands; closed at the end of the socket
}

// asking is what a supervisor needs of a Copy. Texts may not be valid UTF-8.
type asking struct {
	Name string `json:"name,omitempty"`
	Path string `json:"path,omitempty"`
	CommandSetting
	Argv    [][]byte `json:"argv"`
	Environ [][]byte `json:"environ,omitempty"`
	Files   int      `json:"files"` // number of its files
}

// PaddingVariable is the environment variable whose value only has a length.
const PaddingVariable = "GORUN_PADDING"

// environ returns the environment of a copy.
func (r request) environ(of asking, env []string) []string {
	env = of.CommandSetting.environ(with(env, texts(of.Environ)...))
	if r.Padding == 0 {
		return env
	}
	return with(env, PaddingVariable+"="+strings.Repeat("x", r.Padding))
}

func texts(words [][]byte) (texts []string) {
	for _, word := range words {
		texts = append(texts, string(word))
	}
	return texts
}

// answer is the message that a supervisor sends to Run at the end; before it, one that only has the PIDs, if Run asked for them.
type answer struct {
	Started []int `json:"started,omitempty"` // the copies that wait at the gate
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
			a.Failure, a.Hint, a.ExitCode = err.Error(), hint.Of(child.Remedied(err)), ExitRefused
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

// supervise starts the commands and returns when they and all their descendants have ended, or, if they may leave descendants,
// when they have ended. It calls started when all of them wait at the gate.
func (r request) supervise(started func(pids []int)) (o Outcome, err error) {
	closeFiles := func() {
		for _, f := range r.files {
			f.Close() // again, after a start
		}
	}
	defer closeFiles()
	files := 0
	for _, of := range r.Copies {
		files += of.Files
	}
	if len(r.files) != files {
		return o, fmt.Errorf("pass the standard files: %w", syscall.EMFILE) // the kernel drops those above the limit
	}
	if err := linux.AdoptOrphans(); err != nil {
		return o, err
	}
	var gate *csrc.Start
	if r.Gate {
		if gate, err = csrc.NewStart(len(r.Copies)); err != nil {
			return o, err
		}
		defer gate.Free()
	}
	g := group{request: r, gate: gate, over: make(chan struct{})}
	defer close(g.over)
	if err := g.start(&o); err != nil {
		o.reapLeft() // of copies that wait at the gate
		return o, err
	}
	closeFiles() // so that a pipe ends with its writers
	if o.MaxRSSFloorBytes, err = linux.PeakRSS(os.DirFS("/")); err != nil {
		return o, err
	}
	counted := count(g.family) // after the floor, which reading the trace would raise
	stopped := watchStops()
	machine := placement.WatchMachine(nil)
	for i, c := range g.copies {
		c.monitor = placement.Watch(placement.Thread{TID: c.pid, Setting: r.Copies[i].Setting, Free: !r.Fixed})
	}
	go g.obey()
	if gate != nil {
		g.gather()
		started(g.pids())
		for _, c := range g.copies {
			c.before, _ = linux.ProcessCPUTime(c.pid) // every Linux has it
		}
		began := time.Now()
		g.opened.Store(&began)
		gate.Open()
	}
	err = g.reap(&o, machine)
	if !r.Leaves || err != nil {
		o.reapLeft()
	}
	o.StoppedSeconds = stopped()
	counted(&o)
	return o, err
}

// group are the commands of a request.
type group struct {
	request
	gate   *csrc.Start               // nil: there is one command, which does not wait
	opened atomic.Pointer[time.Time] // when the gate was opened
	over   chan struct{}             // closed at the end of the request
	copies []*copied
	family *perf.Family // of the only command
	mu     sync.Mutex
	asked  bool // the copies that still run were asked to end, since another one failed
}

// copied is one command of a group.
type copied struct {
	name    string
	pid     int
	monitor *placement.Monitor
	wall    chan time.Duration // its wall time, at its end
	ended   bool
	before  time.Duration // CPU time until the gate was opened
}

// start starts all commands. Those of several wait at the gate.
func (g *group) start(o *Outcome) error {
	files := g.files
	for i, of := range g.Copies {
		argv, env := texts(of.Argv), g.environ(of, os.Environ())
		path := of.Path
		if path == "" {
			var err error
			if path, err = find(argv, os.Environ()); err != nil {
				return err
			}
		}
		own := files[:of.Files]
		files = files[of.Files:]
		c := &copied{wall: make(chan time.Duration, 1)}
		if g.gate != nil {
			c.name = cmp.Or(of.Name, fmt.Sprintf("copy %d", i)) + ": "
		}
		run := func(forked func(pid int, err error)) {
			g.gate.Run(i, csrc.Program{Path: path, Argv: argv, Env: env, Files: own}, forked)
		}
		if g.gate == nil {
			run = func(forked func(pid int, err error)) {
				attributes := syscall.ProcAttr{Env: env, Sys: linux.DieWithParent()}
				for _, f := range own {
					attributes.Files = append(attributes.Files, f.Fd())
				}
				pid := 0
				err := execute(path, argv, func(path string, argv []string) (err error) {
					pid, err = syscall.ForkExec(path, argv, &attributes)
					return err
				})
				forked(pid, err)
			}
		}
		if err := g.startOne(o, c, of.CommandSetting, run); err != nil {
			return err
		}
		g.copies = append(g.copies, c)
	}
	return nil
}

// startOne starts a command from a thread that has the setting and lives until the group is over: the command dies with it.
// The thread waits for the command's end: whatever other threads do meanwhile, such as reading files of /proc, is not in
// the wall time.
func (g *group) startOne(o *Outcome, c *copied, s CommandSetting, run func(forked func(pid int, err error))) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the setting ends with the thread
		if g.Migrations && g.gate == nil {
			g.family = o.follow()
		}
		checked, mismatches, err := s.Give()
		o.Checked += checked
		for _, m := range mismatches {
			o.Mismatches = append(o.Mismatches, c.name+m)
		}
		if err != nil {
			done <- &ExitError{ExitRefused, hint.With(fmt.Errorf("%s%w", c.name, err), hint.Of(err))}
			return
		}
		began := time.Now()
		run(func(pid int, err error) {
			c.pid = pid
			done <- err
		})
		if c.pid != 0 {
			_ = linux.AwaitEnd(c.pid)
			if opened := g.opened.Load(); opened != nil {
				began = *opened
			}
			c.wall <- time.Since(began)
		}
		<-g.over
	}()
	return <-done
}

// gather waits until all copies are at the gate, or one was killed on the way.
func (g *group) gather() {
	for g.gate.Waiting() < len(g.copies) {
		if slices.ContainsFunc(g.pids(), linux.ChildEnded) {
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// pids returns those of the copies.
func (g *group) pids() (pids []int) {
	for _, c := range g.copies {
		pids = append(pids, c.pid)
	}
	return pids
}

// obey passes signals on to the commands until they are over, and kills them when the signals end.
func (g *group) obey() {
	for {
		select {
		case number, more := <-g.signals:
			if !more {
				g.signal(syscall.SIGKILL)
				return
			}
			g.signal(number)
		case <-g.over:
			return
		}
	}
}

// signal sends a signal to the commands that have not ended.
func (g *group) signal(number syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.copies {
		if !c.ended {
			_ = syscall.Kill(c.pid, number) // it may just have ended
		}
	}
}

// readBack ends the watch of a command.
func (o *Outcome) readBack(c *copied) {
	checked, mismatches := c.monitor.End()
	o.Checked += checked
	for _, m := range mismatches {
		o.Mismatches = append(o.Mismatches, c.name+m)
	}
}

// ownChanges notes the settings that a command may have changed itself. They are mismatches if the online CPUs have changed too: then
// the kernel changed them.
func (o *Outcome) ownChanges(c *copied, online bool) {
	for _, m := range c.monitor.Own() {
		if online {
			o.Mismatches = append(o.Mismatches, c.name+m.Error())
			continue
		}
		what := m.What
		if what == "CPUs" {
			what = "affinity"
		}
		o.Changed = append(o.Changed, fmt.Sprintf("%sthe command changed its own %s, unless another program did: %v", c.name, what, m))
	}
}

// reap waits for the commands, and adds up what they and their descendants used. When a command has ended but is not yet reaped, the
// kernel still knows its settings, which are read back.
func (g *group) reap(o *Outcome, machine *placement.Monitor) error {
	endings := make([]Ending, len(g.copies))
	for left := len(g.copies); left > 0; {
		pid, err := linux.AwaitEnded()
		if err != nil {
			break // no child is left
		}
		i := slices.Index(g.pids(), pid)
		if i < 0 || g.copies[i].ended {
			if _, _, err := o.wait(pid, 0); err != nil {
				break
			}
			continue
		}
		c, e := g.copies[i], &endings[i]
		e.PID, e.WallSeconds = pid, (<-c.wall).Seconds()
		e.Turns, _ = linux.TurnsOf(os.DirFS("/"), pid)
		o.readBack(c)
		before := o.Ending
		o.Usage, o.MaxRSSBytes = linux.Usage{}, 0
		g.mu.Lock() // its PID may be another process's from now on
		_, status, err := o.wait(pid, 0)
		c.ended = true
		g.mu.Unlock()
		o.SystemSeconds = max(0, o.SystemSeconds-c.before.Seconds()) // of the fork, in the kernel
		e.Usage, e.MaxRSSBytes = o.Usage, o.MaxRSSBytes
		o.Usage, o.MaxRSSBytes = before.Add(o.Usage), max(before.MaxRSSBytes, o.MaxRSSBytes)
		if err != nil {
			break
		}
		left--
		e.ended(status)
		e.Late = g.asked
		if g.Together && e.ExitCode != 0 && left > 0 && !g.asked {
			g.asked = true
			g.signal(syscall.SIGTERM)
			defer time.AfterFunc(g.Patience, func() { g.signal(syscall.SIGKILL) }).Stop()
		}
	}
	_, changes := machine.End()
	for _, c := range g.copies {
		if !c.ended {
			o.readBack(c)
		}
		o.ownChanges(c, len(changes) > 0)
	}
	o.sum(endings)
	if g.gate == nil {
		return nil
	}
	o.Copies = endings
	for i := range endings {
		if err := g.gate.Failed(i); err != nil {
			return runError(string(g.Copies[i].Argv[0]), err)
		}
	}
	return nil
}

// sum adds up the endings of all copies.
func (o *Outcome) sum(of []Ending) {
	for _, e := range of {
		if o.ExitCode == 0 && !e.Late {
			o.ExitCode, o.Signal = e.ExitCode, e.Signal
		}
		o.WallSeconds = max(o.WallSeconds, e.WallSeconds)
		o.Turns = linux.Turns{OnCPU: o.Turns.OnCPU + e.Turns.OnCPU, Waited: o.Turns.Waited + e.Turns.Waited, Count: o.Turns.Count + e.Turns.Count}
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
func (e *Ending) ended(status syscall.WaitStatus) {
	e.ExitCode = status.ExitStatus()
	if status.Signaled() {
		e.Signal = int(status.Signal())
		e.ExitCode = exitSignal + e.Signal
	}
}
