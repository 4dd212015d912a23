package launch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"gorun/internal/kernel/linux"
)

// supervisor is the process between this one and commands.
type supervisor struct {
	pid     int
	group   bool          // it and its commands have their own process group
	conn    *linux.Socket // for messages; closing it kills the command
	answers *json.Decoder
	stderr  Stderr
	failed  error // what it reported when it ended without an answer; nil: nothing
}

// Lasting is a supervisor that runs one command after another. The zero value starts it when it is first needed.
type Lasting struct {
	idle *supervisor
	used float64 // CPU time of it and of its commands
}

// Close ends the supervisor.
func (l *Lasting) Close() {
	if l.idle != nil {
		l.idle.reap(false)
		l.idle, l.used = nil, 0
	}
}

// unwaited returns the CPU time of a supervisor that this process has not waited for, and of its commands.
func (l *Lasting) unwaited() float64 {
	if l == nil {
		return 0
	}
	return l.used
}

// take returns a supervisor for the next command. One that was killed, or was placed otherwise than this process, by a
// command or by another program, is not used: the next command would inherit that.
func (l *Lasting) take() *supervisor {
	if l == nil || l.idle == nil {
		return nil
	}
	if linux.ChildEnded(l.idle.pid) || !samePlace(l.idle.pid, os.Getpid()) {
		l.Close()
		return nil
	}
	idle := l.idle
	l.idle = nil
	return idle
}

// samePlace reports whether two processes give what they start the same CPUs, niceness and scheduling policy.
func samePlace(a, b int) bool {
	cpusA, errA := linux.GetAffinity(a)
	cpusB, errB := linux.GetAffinity(b)
	niceA, niceErrA := linux.GetNice(a)
	niceB, niceErrB := linux.GetNice(b)
	schedA, schedErrA := linux.GetSched(a)
	schedB, schedErrB := linux.GetSched(b)
	return cmp.Or(errA, errB, niceErrA, niceErrB, schedErrA, schedErrB) == nil && cpusA.Equal(cpusB) && niceA == niceB && schedA == schedB
}

// startSupervisor starts a supervisor. Descriptors that this process inherited are passed to the commands with the same
// numbers, as for make's jobserver or a shell's 3<FILE. The supervisor's own one has the lowest free number: so no number
// exceeds the limit on open files, which a parent may have lowered below the descriptors that it passes on.
func (g Group) startSupervisor() (*supervisor, error) {
	inherited, err := linux.InheritedFiles()
	if err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	stderr, err := NewStderr()
	if err != nil {
		return nil, err
	}
	conn, theirs, err := linux.SocketPair()
	if err != nil {
		stderr.Close()
		return nil, err
	}
	defer theirs.Close()
	terminal, _ := linux.Terminal()
	v := &supervisor{group: !g.PassThrough || !terminal, conn: conn, answers: json.NewDecoder(conn), stderr: stderr}
	files, number := layout(null.Fd(), theirs.Fd(), inherited)
	files[syscall.Stderr] = stderr.Fd()
	v.pid, err = syscall.ForkExec(g.Self.Path, g.Self.Args(SupervisorCommand, strconv.Itoa(number)), &syscall.ProcAttr{
		Env: g.Self.Env, Files: files, Sys: &syscall.SysProcAttr{Setpgid: v.group},
	})
	if err != nil {
		conn.Close()
		stderr.Close()
		return nil, fmt.Errorf("start %s: %w", g.Self.Path, err)
	}
	return v, nil
}

// layout returns the descriptors of a supervisor, by their numbers there: standard files, then its own socket on the
// lowest number that is not inherited. The socket is not lower than its new number: syscall.ForkExec would first move it to
// a number that may be inherited.
func layout(null, socket uintptr, inherited []int) (files []uintptr, number int) {
	files = []uintptr{null, null, null}
	for slices.Contains(inherited, len(files)) {
		files = append(files, uintptr(len(files)))
	}
	return append(files, socket), len(files)
}

// reap closes the socket and waits for the supervisor's end. If it was killed, the command's process group is killed.
func (v *supervisor) reap(killed bool) (status syscall.WaitStatus) {
	v.conn.Close()
	_ = linux.AwaitEnd(v.pid)
	if killed && v.group {
		_ = syscall.Kill(-v.pid, syscall.SIGKILL) // not yet reaped, so the group ID is still in use
	}
	for {
		if _, err := syscall.Wait4(v.pid, &status, 0, nil); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	v.failed = v.stderr.Reported(nil)
	return status
}

// signal sends a signal to the command.
func (v *supervisor) signal(s syscall.Signal) {
	_ = json.NewEncoder(v.conn).Encode(message{Signal: s}) // of a supervisor that has ended, there is no answer
}
