package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gorun/csrc"
	"gorun/internal/base/hint"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/perf"
	"gorun/internal/place/placement"
)

// supervised is a group as its supervisor has it.
type supervised struct {
	request
	gate      *csrc.Start               // nil: the only member does not wait
	opened    atomic.Pointer[time.Time] // when the gate was opened
	over      chan struct{}             // closed at the end of the request
	processes []*process                // of the members, in their order
	family    *perf.Family              // of the only member
	counters  *perf.Counters            // of the only member; nil: not requested
	mu        sync.Mutex
	asked     bool // the members that still run were asked to end, since another one failed
}

// process is that of a member.
type process struct {
	name    string
	pid     int
	monitor *placement.Monitor
	lived   chan lived // at its end
	ended   bool
	before  time.Duration // CPU time until the gate was opened
	turns   linux.Turns   // until then
}

// lived is what is known of a process when it has just ended.
type lived struct {
	wall  time.Duration
	turns linux.Turns   // none: not known
	later time.Duration // by which they were read after the end
}

// start starts all members, which wait at the gate if there is one.
func (g *supervised) start(o *Outcome) error {
	files := g.files
	for i, of := range g.Members {
		argv, env := of.Argv, g.environ(of, os.Environ())
		path := of.Path
		if path == "" {
			var err error
			if path, err = find(argv, os.Environ()); err != nil {
				return err
			}
		}
		own := files[:g.Files[i]]
		files = files[g.Files[i]:]
		c := &process{lived: make(chan lived, 1)}
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
		if err := g.startOne(o, c, of.Setting, run); err != nil {
			return err
		}
		g.processes = append(g.processes, c)
	}
	return nil
}

// startOne starts a member from a thread that has the setting and lives until the group is over: the member dies with it.
// The thread waits for the member's end: whatever other threads do meanwhile, such as reading files of /proc, is not in
// the wall time.
func (g *supervised) startOne(o *Outcome, c *process, s placement.Setting, run func(forked func(pid int, err error))) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the setting ends with the thread
		if g.Migrations && g.gate == nil {
			g.family = o.follow()
		}
		if g.Counters && g.gate == nil {
			g.counters = perf.OpenCounters()
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
			l := lived{wall: time.Since(began)}
			l.turns, _ = linux.TurnsOf(os.DirFS("/"), c.pid) // at once: the kernel may still be ending it
			l.later = time.Since(began) - l.wall
			c.lived <- l
		}
		<-g.over
	}()
	return <-done
}

// gather waits until all members are asleep at the gate, or one was killed on the way. For how long one waits for a CPU is not known before it has it.
func (g *supervised) gather() {
	for g.gate.Waiting() < len(g.processes) {
		if slices.ContainsFunc(g.pids(), linux.ChildEnded) {
			return
		}
		time.Sleep(soon)
	}
	for _, pid := range g.pids() {
		for linux.Runnable(pid) {
			time.Sleep(soon)
		}
	}
}

// soon is how long gather waits before it looks again.
const soon = 50 * time.Microsecond

// pids returns those of the members.
func (g *supervised) pids() (pids []int) {
	for _, c := range g.processes {
		pids = append(pids, c.pid)
	}
	return pids
}

// obey passes signals on to the members until they are over, and kills them when the signals end.
func (g *supervised) obey() {
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

// signal sends a signal to the members that have not ended.
func (g *supervised) signal(number syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.processes {
		if !c.ended {
			_ = syscall.Kill(c.pid, number) // it may just have ended
		}
	}
}

// readBack ends the watch of a member.
func (o *Outcome) readBack(c *process) {
	checked, mismatches := c.monitor.End()
	o.Checked += checked
	for _, m := range mismatches {
		o.Mismatches = append(o.Mismatches, c.name+m)
	}
}

// ownChanges notes the settings that a member may have changed itself. They are mismatches if the online CPUs have changed too: then
// the kernel changed them.
func (o *Outcome) ownChanges(c *process, online bool) {
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

// reap waits for the members, and adds up what they and their descendants used. When a member has ended but is not yet reaped, the
// kernel still knows its settings, which are read back.
func (g *supervised) reap(o *Outcome, machine *placement.Monitor) error {
	endings := make([]Ending, len(g.processes))
	for left := len(g.processes); left > 0; {
		pid, err := linux.AwaitEnded()
		if err != nil {
			break // no child is left
		}
		i := slices.Index(g.pids(), pid)
		if i < 0 || g.processes[i].ended {
			if _, _, err := o.wait(pid, 0); err != nil {
				break
			}
			continue
		}
		c, e := g.processes[i], &endings[i]
		l := <-c.lived
		e.PID, e.WallSeconds = pid, l.wall.Seconds()
		if l.turns.Count > 0 {
			e.Turns = l.turns.Since(c.turns).Within(e.WallSeconds, l.later.Seconds())
		}
		o.readBack(c)
		before := o.Ending
		o.Usage, o.MaxRSSBytes = linux.Usage{}, 0
		g.mu.Lock() // its PID may be another process's from now on
		_, status, err := o.wait(pid, 0)
		c.ended = true
		g.mu.Unlock()
		forked := c.before.Seconds() // in the kernel, whose ticks may have missed it
		o.UserSeconds = max(0, o.UserSeconds-max(0, forked-o.SystemSeconds))
		o.SystemSeconds = max(0, o.SystemSeconds-forked)
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
	for _, c := range g.processes {
		if !c.ended {
			o.readBack(c)
		}
		o.ownChanges(c, len(changes) > 0)
	}
	o.sum(endings)
	o.Members = endings
	for i := range g.Members {
		if g.gate == nil {
			break
		}
		if err := g.gate.Failed(i); err != nil {
			return runError(g.Members[i].Argv[0], err)
		}
	}
	return nil
}

// sum adds up the endings of all members.
func (o *Outcome) sum(of []Ending) {
	for _, e := range of {
		if o.ExitCode == 0 && !e.Late {
			o.ExitCode, o.Signal = e.ExitCode, e.Signal
		}
		o.WallSeconds = max(o.WallSeconds, e.WallSeconds)
		o.Turns = o.Turns.Add(e.Turns)
	}
}

// reapLeft kills the descendants that the members have left, and adds up what they used.
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

// ended records how the member ended.
func (e *Ending) ended(status syscall.WaitStatus) {
	e.ExitCode = status.ExitStatus()
	if status.Signaled() {
		e.Signal = int(status.Signal())
		e.ExitCode = exitSignal + e.Signal
	}
}
