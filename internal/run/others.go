package run

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/result"
)

// places is the number of runs that can listen at the same time. A run without a free place still calls the others.
const places = 16

// mostNamed is the maximum number of other runs that a result names, so that a program that connects repeatedly cannot make
// the result long.
const mostNamed = 8

// otherRuns notices runs of gorun that take place at the same time. Each run listens at the first free place, then calls
// all other places, so that of any two runs at least one calls the other. A place is an abstract address (unix(7)): it
// needs no file and no privilege, and is free again when its process ends. Runs in different network namespaces, which
// most containers have, do not notice each other. While it waits for a call, a run uses no CPU time.
type otherRuns struct {
	root     fs.FS
	listener *net.UnixListener // nil: no place is free
	ended    chan struct{}     // closed when listening has ended

	mutex sync.Mutex
	met   []result.Warning
}

// findOtherRuns begins to listen at a place of this name, and calls the runs at the others. Without a name it does nothing.
func findOtherRuns(root fs.FS, name string) *otherRuns {
	o := &otherRuns{root: root, ended: make(chan struct{})}
	if name == "" {
		return o
	}
	place := func(i int) *net.UnixAddr { return &net.UnixAddr{Name: fmt.Sprintf("@%s/%d", name, i), Net: "unix"} }
	own := 0
	var err error
	for ; own < places; own++ {
		if o.listener, err = net.ListenUnix("unix", place(own)); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	if err != nil && !errors.Is(err, syscall.EADDRINUSE) {
		o.met = []result.Warning{result.WarningOf("no-other-runs", "other runs of gorun at the same time are not noticed", err)}
		return o
	}
	above := linux.Ancestors()
	for i := range places {
		if i == own {
			continue
		}
		if c, err := net.DialUnix("unix", nil, place(i)); err == nil {
			o.call(c, above)
		}
	}
	if o.listener != nil {
		go o.listen()
	}
	return o
}

// call reports this run to another one, unless the other one measures this run as its command.
func (o *otherRuns) call(c *net.UnixConn, above map[int]bool) {
	defer c.Close()
	pid, err := linux.PeerPID(c)
	if err != nil || above[pid] {
		return
	}
	_, _ = c.Write([]byte{'.'}) // the other one may have ended
	o.note(pid)
}

// listen records the runs that call. A connection without data is not a run.
func (o *otherRuns) listen() {
	defer close(o.ended)
	for {
		c, err := o.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no free descriptor, which is temporary
			time.Sleep(time.Second)
			continue
		}
		pid, err := linux.PeerPID(c)
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if n, _ := c.Read(make([]byte, 1)); n == 1 && err == nil {
			o.note(pid)
		}
		c.Close()
	}
}

// note records a warning about another run; its PID is 0 if it is in another PID namespace.
func (o *otherRuns) note(pid int) {
	who := "one in another PID namespace, such as a container"
	if pid > 0 {
		who = fmt.Sprintf("PID %d", pid)
		if text, err := fs.ReadFile(o.root, fmt.Sprintf("proc/%d/cmdline", pid)); err == nil {
			words := strings.Split(string(bytes.TrimRight(text, "\x00")), "\x00")
			words[0] = path.Base(words[0])
			who += " (" + hint.Printable(strings.Join(CommandLine(words[:min(2, len(words))]), " ")) + ")"
		}
	}
	w := result.Warning{
		Code: "other-run", Message: "another run of gorun measured at the same time: " + who,
		Hint: "runs at the same time disturb each other's figures: run one after the other, for example with flock(1)",
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if len(o.met) < mostNamed && !slices.Contains(o.met, w) { // two that begin at the same time call each other
		o.met = append(o.met, w)
	}
}

// warnings returns a warning about each run that was noticed so far.
func (o *otherRuns) warnings() []result.Warning {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.met[:len(o.met):len(o.met)]
}

// Close stops listening and frees the place.
func (o *otherRuns) Close() error {
	if o.listener == nil {
		return nil
	}
	err := o.listener.Close()
	<-o.ended
	return err
}
