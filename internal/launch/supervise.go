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

// order is the message by which Run requests a command from a supervisor.
type order struct {
	Setting
	Migrations bool `json:"migrations,omitempty"`
	Leaves     bool `json:"leaves,omitempty"` // processes that the command leaves live until Run's process closes control
	Padding    int  `json:"padding,omitempty"`
}

// PaddingVariable is the environment variable whose value only has a length.
const PaddingVariable = "GORUN_PADDING"

// environ returns the environment of the command.
func (o order) environ(env []string) []string {
	env = o.Setting.environ(env)
	if o.Padding == 0 {
		return env
	}
	return append(env[:len(env):len(env)], PaddingVariable+"="+strings.Repeat("x", o.Padding))
}

// answer is the message that a supervisor sends to Run at the end.
type answer struct {
	Outcome
	Failure string `json:"failure,omitempty"` // why the command never ran; then ExitCode is ExitError's
	Hint    string `json:"hint,omitempty"`
}

// Supervise is the body of the process that Run starts between itself and the command; args are those that Run appends.
// It survives a SIGKILL of Run's process, and then kills the command and its descendants. Only SIGKILL ends it.
func Supervise(args []string) error {
	if len(args) < 4 {
		return errors.New("a supervisor takes two descriptors, an order and a command")
	}
	control, err := descriptor(args[0])
	if err != nil {
		return err
	}
	out, err := descriptor(args[1])
	if err != nil {
		return err
	}
	var o order
	if err := json.Unmarshal([]byte(args[2]), &o); err != nil {
		return fmt.Errorf("the order %q: %w", args[2], err)
	}
	catch(make(chan os.Signal, 1), passed) // never read: signals for the command come over control
	a := answer{}
	gone := make(chan struct{})
	if a.Outcome, err = supervise(control, gone, o, args[3:]); err != nil {
		a.Failure, a.Hint, a.ExitCode = err.Error(), hint.Of(err), ExitRefused
		if e := new(ExitError); errors.As(err, &e) {
			a.ExitCode = e.Code
		}
	}
	err = json.NewEncoder(out).Encode(a)
	if o.Leaves && a.Failure == "" {
		go func() { // so that kill(2) finds no process that has ended
			for err := error(nil); err == nil; {
				_, _, err = new(Outcome).wait(-1, 0)
			}
		}()
		<-gone
		new(Outcome).reapLeft()
	}
	return err
}

// descriptor opens a descriptor that Run passed to this process, and closes it on exec.
func descriptor(text string) (*os.File, error) {
	fd, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "descriptor "+text), nil
}

// supervise starts the command and returns when it and all its descendants have ended. Bytes from control are signals
// for the command; at its end, the command is killed and gone is closed. If the order is to leave the descendants, it
// returns when the command has ended.
func supervise(control *os.File, gone chan<- struct{}, asked order, argv []string) (Outcome, error) {
	if err := linux.AdoptOrphans(); err != nil {
		return Outcome{}, err
	}
	path, argv, err := find(argv, os.Environ())
	if err != nil {
		return Outcome{}, err
	}
	_, _ = os.FindProcess(os.Getpid()) // Go tries pidfds on a process of its own at their first use, which is not to be timed
	over := make(chan struct{})
	defer close(over)
	c := start(asked, path, argv, over)
	if c.err != nil {
		return c.Outcome, c.err
	}
	go func() {
		obey(control, c.process)
		close(gone)
	}()
	o := c.Outcome
	if o.MaxRSSFloorBytes, err = linux.PeakRSS(os.DirFS("/")); err != nil {
		return o, err
	}
	counted := count(c.family) // after the floor, which reading the trace would raise
	stopped := watchStops()
	machine := placement.WatchMachine(nil)
	monitor := placement.Watch(placement.Thread{TID: c.process.Pid, Setting: asked.Setting.Setting, Free: true})
	o.reap(c.process.Pid, c.wall, func() { o.readBack(machine, monitor) })
	if !asked.Leaves {
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
func start(asked order, path string, argv []string, over <-chan struct{}) started {
	done := make(chan started)
	go func() {
		runtime.LockOSThread() // never unlocked: the setting ends with the thread
		wall := make(chan time.Duration, 1)
		c := started{wall: wall}
		if asked.Migrations {
			c.family = c.follow()
		}
		c.Checked, c.Mismatches, c.err = asked.place()
		if c.err != nil {
			c.err = &ExitError{ExitRefused, c.err}
			done <- c
			return
		}
		attr := &os.ProcAttr{
			Env: asked.environ(os.Environ()), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: linux.DieWithParent(),
		}
		began := time.Now()
		c.process, c.err = os.StartProcess(path, argv, attr)
		if errors.Is(c.err, syscall.ENOEXEC) {
			path, argv := script(path, argv)
			c.process, c.err = os.StartProcess(path, argv, attr)
		}
		if c.err != nil {
			c.err = runError(argv[0], c.err)
		}
		done <- c
		if c.err == nil {
			_ = linux.AwaitEnd(c.process.Pid)
			wall <- time.Since(began)
		}
		<-over
	}()
	return <-done
}

// obey passes signals on to the command, and kills it when control ends.
func obey(control *os.File, command *os.Process) {
	number := make([]byte, 1)
	for {
		if _, err := control.Read(number); err != nil {
			_ = command.Kill()
			return
		}
		_ = command.Signal(syscall.Signal(number[0])) // it may have ended
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
	o.UserSeconds += seconds(used.Utime)
	o.SystemSeconds += seconds(used.Stime)
	o.MaxRSSBytes = max(o.MaxRSSBytes, uint64(used.Maxrss)*1024)
	o.MinorFaults += uint64(used.Minflt)
	o.MajorFaults += uint64(used.Majflt)
	o.VoluntarySwitches += uint64(used.Nvcsw)
	o.InvoluntarySwitches += uint64(used.Nivcsw)
	return pid, status, nil
}

func seconds(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e9 }

// ended records how the command ended.
func (o *Outcome) ended(status syscall.WaitStatus) {
	o.ExitCode = status.ExitStatus()
	if status.Signaled() {
		o.Signal = int(status.Signal())
		o.ExitCode = exitSignal + o.Signal
	}
}
