package linux

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"gorun/internal/sysfs"
)

// NUMABalancing is the right to set kernel.numa_balancing, which one process has at a time, and the duty to put it
// back. A guardian process does that when this one cannot any more.
type NUMABalancing struct {
	sysctl   string
	before   int
	lock     *os.File // the sysctl itself, with a flock(2)
	argv     []string
	guardian *exec.Cmd // nil until something is to be put back
	alive    *os.File  // its stdin: the kernel closes it when this process ends, however it ends
}

// guarding is the line by which a guardian says that it can be relied on.
const guarding = "guarding\n"

// HoldNUMABalancing takes the sysctl, a file such as NUMABalancingSysctl, for this process; it changes nothing yet. The
// lock is on the file itself: everybody can open it, there is no other name for it, and none stays behind. (A
// container has a /proc of its own, and so another lock.) guardian is the command, with its arguments, that calls
// GuardNUMABalancing with the number that Set appends.
func HoldNUMABalancing(sysctl string, guardian ...string) (*NUMABalancing, error) {
	op := "take " + sysctl
	lock, err := os.Open(sysctl)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("this kernel was built without NUMA balancing: %w", errors.ErrUnsupported)
	}
	if err != nil {
		return nil, &Error{Op: op, Err: err}
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		lock.Close()
		return nil, &Error{
			Op: op, Err: fmt.Errorf("%s holds it", flockHolder(sysctl)), Remedy: "wait until that one ends",
		}
	}
	if err != nil {
		lock.Close()
		return nil, &Error{Op: op, Err: err}
	}
	before, err := readSysctl(sysctl)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &NUMABalancing{sysctl: sysctl, before: before, lock: lock, argv: guardian}, nil
}

// Before returns the value that Restore puts back.
func (b *NUMABalancing) Before() int { return b.before }

// Set sets the value and reads it back. Before the first change it starts the guardian, which takes a few milliseconds;
// a value that is there already needs neither a guardian nor a privilege.
func (b *NUMABalancing) Set(value int) error {
	is, err := readSysctl(b.sysctl)
	if err != nil || is == value {
		return err
	}
	if b.guardian == nil {
		if err := unix.Access(b.sysctl, unix.W_OK); err != nil {
			return sysctlError(b.sysctl, value, err)
		}
		if err := b.startGuardian(); err != nil {
			return fmt.Errorf("start the guardian of %s: %w", b.sysctl, err)
		}
	}
	return setSysctl(b.sysctl, value)
}

// Restore puts the value back that was there before, and lets go of the sysctl; the guardian then looks once more, and
// ends. A second call does nothing.
func (b *NUMABalancing) Restore() error {
	if b.lock == nil {
		return nil
	}
	var err error
	if b.guardian != nil {
		err = setSysctl(b.sysctl, b.before) // by ourselves: somebody may have killed the guardian
		b.alive.Close()
		_ = b.guardian.Wait() // what it could not do either is err already
	}
	b.lock.Close()
	b.lock = nil
	return err
}

// startGuardian starts the guardian and waits until it guards. It is in a session of its own, so that neither ^C nor a
// signal to the process group takes it along, and it inherits the lock, so that nobody takes the sysctl before it is
// put back.
func (b *NUMABalancing) startGuardian() error {
	if len(b.argv) == 0 {
		return errors.New("no command was given for it")
	}
	stdin, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	cmd := exec.Command(b.argv[0], append(b.argv[1:len(b.argv):len(b.argv)], strconv.Itoa(b.before))...)
	cmd.Stdin = stdin
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{b.lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		alive.Close()
		return err
	}
	if err := cmd.Start(); err != nil {
		alive.Close()
		return err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line != guarding {
		alive.Close()
		_ = cmd.Process.Kill()
		return errors.Join(fmt.Errorf("it said %.60q", line), err, cmd.Wait())
	}
	b.guardian, b.alive = cmd, alive
	return nil
}

// GuardNUMABalancing is the body of the guardian process: in and out are its stdin and stdout, and value is what it
// puts back when in ends, as after a SIGKILL of the process that started it. Meanwhile no signal but SIGKILL ends it.
func GuardNUMABalancing(sysctl string, value int, in io.Reader, out io.Writer) error {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	if _, err := io.WriteString(out, guarding); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, in) // an error is an end too
	return setSysctl(sysctl, value)
}

func readSysctl(path string) (int, error) {
	return sysfs.ReadInt(os.DirFS(filepath.Dir(path)), filepath.Base(path))
}

// setSysctl sets a value and reads it back. One that is there already needs no privilege.
func setSysctl(path string, value int) error {
	if is, err := readSysctl(path); err != nil || is == value {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return sysctlError(path, value, err)
	}
	_, err = fmt.Fprintln(file, value)
	if err = errors.Join(err, file.Close()); err != nil {
		return sysctlError(path, value, err)
	}
	is, err := readSysctl(path)
	if err == nil && is != value {
		err = fmt.Errorf("it is %d afterwards", is)
	}
	if err != nil {
		return sysctlError(path, value, err)
	}
	return nil
}

func sysctlError(path string, value int, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err // the path is in what was asked
	}
	remedy := ""
	switch {
	case errors.Is(err, fs.ErrPermission):
		remedy = "that needs root on the machine itself"
	case errors.Is(err, unix.EROFS):
		remedy = "a container may not set it: do so on the machine itself"
	case errors.Is(err, unix.EINVAL):
		remedy = "this kernel has no such value"
	}
	return &Error{Op: fmt.Sprintf("set %s to %d", path, value), Err: err, Remedy: remedy}
}

// flockHolder names the process that took the lock on a file, from /proc/locks (proc_locks(5)): where a guardian still
// holds it, the process that the guardian outlived.
func flockHolder(path string) string {
	const unknown = "another process"
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return unknown
	}
	text, err := sysfs.ReadString(os.DirFS("/"), "proc/locks")
	if err != nil {
		return unknown
	}
	inode := fmt.Sprintf("%02x:%02x:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev), stat.Ino)
	if pid, ok := parseFlock(text, inode); ok {
		return fmt.Sprintf("process %d", pid)
	}
	return unknown
}

// parseFlock finds the line "1: FLOCK ADVISORY WRITE PID INODE 0 EOF", with INODE as "major:minor:number", of
// /proc/locks. Lines of those who wait have "->" behind the number.
func parseFlock(text, inode string) (pid int, ok bool) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[5] != inode {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 {
			return pid, true
		}
	}
	return 0, false
}
