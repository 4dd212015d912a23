package linux

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/hint"
)

// What the test binary is as a process of these tests; a file's name follows.
const (
	asGuardian = "guardian" // and the value that it puts back
	asHolder   = "holder"   // and the value that it sets
	asLiar     = "liar"     // a guardian that does not guard
)

func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) < 3:
		os.Exit(m.Run())
	case os.Args[1] == asGuardian:
		var value int
		if value, err = strconv.Atoi(os.Args[3]); err == nil {
			err = GuardNUMABalancing(os.Args[2], value, os.Stdin, os.Stdout)
		}
	case os.Args[1] == asHolder:
		err = hold(os.Args[2], os.Args[3])
	case os.Args[1] == asLiar:
		fmt.Println("unknown command")
		_ = unix.Pause() // until it is killed
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hold sets a file's value, says the guardian's PID, and keeps the file until its stdin ends.
func hold(path, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return err
	}
	b, err := HoldNUMABalancing(path, os.Args[0], asGuardian, path)
	if err != nil {
		return err
	}
	if err := b.Set(n); err != nil {
		return err
	}
	fmt.Println(b.guardian.Process.Pid)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return b.Restore()
}

// sysctl makes a file that stands for the sysctl.
func sysctl(t *testing.T, value string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "numa_balancing")
	require.NoError(t, os.WriteFile(path, []byte(value+"\n"), 0o600))
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

func holdHere(t *testing.T, path string) *NUMABalancing {
	t.Helper()
	b, err := HoldNUMABalancing(path, os.Args[0], asGuardian, path)
	require.NoError(t, err)
	return b
}

// startHolder starts a process that has set the file's value; it is in a process group of its own.
func startHolder(t *testing.T, path string, value int) (holder *exec.Cmd, stdin io.Closer, guardian int) {
	t.Helper()
	holder = exec.Command(os.Args[0], asHolder, path, strconv.Itoa(value))
	holder.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	holder.Stderr = os.Stderr
	stdin, err := holder.StdinPipe()
	require.NoError(t, err)
	stdout, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	guardian, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(value), content(t, path))
	return holder, stdin, guardian
}

// awaitLock returns when nobody holds the file any more, neither a holder nor its guardian.
func awaitLock(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			require.NoError(t, err)
			return
		}
	}
}

func TestNUMABalancingIsRestored(t *testing.T) {
	path := sysctl(t, "123")
	b := holdHere(t, path)
	assert.Equal(t, 123, b.Before())
	assert.Equal(t, "123", content(t, path), "holding changes nothing")
	require.NoError(t, b.Set(123))
	assert.Nil(t, b.guardian, "nothing is to be put back")
	for _, value := range []int{1, 0, 123, 2} {
		require.NoError(t, b.Set(value))
		assert.Equal(t, strconv.Itoa(value), content(t, path))
	}
	guardian := b.guardian
	require.NoError(t, b.Restore())
	assert.Equal(t, "123", content(t, path))
	require.NotNil(t, guardian.ProcessState, "the guardian has ended")
	assert.True(t, guardian.ProcessState.Success())

	require.NoError(t, os.WriteFile(path, []byte("3\n"), 0o600))
	require.NoError(t, b.Restore())
	assert.Equal(t, "3", content(t, path), "it is not ours a second time")
}

func TestNUMABalancingHasOneHolder(t *testing.T) {
	path := sysctl(t, "1")
	b := holdHere(t, path)
	_, err := HoldNUMABalancing(path)
	require.Error(t, err, "in the same process")
	if locks, readErr := os.ReadFile("/proc/locks"); readErr == nil && strings.Contains(string(locks), "FLOCK") {
		assert.EqualError(t, err, fmt.Sprintf("take %s: process %d holds it", path, os.Getpid()))
	}
	assert.Equal(t, "wait until that one ends", hint.Of(err))
	require.NoError(t, b.Restore())

	holder, stdin, _ := startHolder(t, path, 0)
	_, err = HoldNUMABalancing(path)
	require.ErrorContains(t, err, "holds it", "in another process")
	stdin.Close()
	require.NoError(t, holder.Wait())
	assert.Equal(t, "1", content(t, path))
	require.NoError(t, holdHere(t, path).Restore())
}

func TestNUMABalancingAfterSIGKILL(t *testing.T) {
	path := sysctl(t, "1")
	holder, _, guardian := startHolder(t, path, 0)
	for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM} {
		require.NoError(t, syscall.Kill(guardian, sig), "the guardian lives on")
	}
	require.NoError(t, syscall.Kill(-holder.Process.Pid, unix.SIGKILL), "the whole process group")
	var exit *exec.ExitError
	require.ErrorAs(t, holder.Wait(), &exit)
	require.Equal(t, unix.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	awaitLock(t, path)
	assert.Equal(t, "1", content(t, path))
}

// ^C at a terminal, which the holder does not handle.
func TestNUMABalancingAfterSIGINT(t *testing.T) {
	path := sysctl(t, "1")
	holder, _, _ := startHolder(t, path, 0)
	require.NoError(t, syscall.Kill(-holder.Process.Pid, unix.SIGINT))
	require.Error(t, holder.Wait())
	awaitLock(t, path)
	assert.Equal(t, "1", content(t, path))
}

func TestNUMABalancingWithoutItsGuardian(t *testing.T) {
	path := sysctl(t, "1")
	b := holdHere(t, path)
	require.NoError(t, b.Set(0))
	require.NoError(t, b.guardian.Process.Kill())
	var dead unix.Siginfo
	for errors.Is(unix.Waitid(unix.P_PID, b.guardian.Process.Pid, &dead, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	require.NoError(t, b.Restore())
	assert.Equal(t, "1", content(t, path))
	require.NoError(t, holdHere(t, path).Restore(), "the lock is free")
}

func TestNUMABalancingNeedsAGuardian(t *testing.T) {
	path := sysctl(t, "1")
	for says, argv := range map[string][]string{
		"no command":              nil,
		"no such file":            {filepath.Join(t.TempDir(), "missing")},
		`it said ""`:              {"/bin/false"},
		`it said "unknown comman`: {os.Args[0], asLiar, path},
	} {
		b, err := HoldNUMABalancing(path, argv...)
		require.NoError(t, err)
		assert.ErrorContains(t, b.Set(0), says)
		assert.Equal(t, "1", content(t, path), "unguarded, nothing is changed")
		require.NoError(t, b.Restore())
	}
}

func TestNUMABalancingRefusals(t *testing.T) {
	_, err := HoldNUMABalancing(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	assert.ErrorContains(t, err, "without NUMA balancing")

	_, err = HoldNUMABalancing(sysctl(t, "on"))
	assert.ErrorContains(t, err, "not a whole number")

	path := sysctl(t, "1")
	require.NoError(t, os.Chmod(path, 0o400))
	if os.Geteuid() != 0 {
		b := holdHere(t, path)
		err := b.Set(0)
		require.ErrorIs(t, err, fs.ErrPermission)
		assert.EqualError(t, err, "set "+path+" to 0: permission denied")
		assert.Contains(t, hint.Of(err), "needs root")
		assert.Nil(t, b.guardian, "it would have nothing to put back")
		require.NoError(t, b.Set(1), "it is there already")
		require.NoError(t, b.Restore())
	}
	for errno, says := range map[error]string{
		unix.EROFS: "a container may not", unix.EINVAL: "no such value", unix.EPERM: "needs root", unix.EIO: "",
	} {
		err := sysctlError("f", 7, &fs.PathError{Op: "write", Path: "f", Err: errno})
		assert.EqualError(t, err, "set f to 7: "+errno.Error())
		assert.ErrorIs(t, err, errno)
		assert.True(t, strings.Contains(hint.Of(err), says) && (says == "") == (hint.Of(err) == ""), hint.Of(err))
	}
	assert.ErrorContains(t, setSysctl("/dev/null", 7), "malformed")
}

// A file of the kernel's that takes 0 and then holds another number: it sets the default (proc_pid_timerslack_ns(5)).
func TestSetSysctlReadsBack(t *testing.T) {
	runtime.LockOSThread()
	err := setSysctl(fmt.Sprintf("/proc/%d/timerslack_ns", Gettid()), 0)
	skipIfRefusedOrMissing(t, err)
	assert.ErrorContains(t, err, "to 0: it is 50000 afterwards")
}

func TestNUMABalancingOfThisMachine(t *testing.T) {
	before, err := ReadNUMABalancing(os.DirFS("/"))
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	b, err := HoldNUMABalancing(NUMABalancingSysctl)
	if err != nil {
		require.ErrorContains(t, err, "holds it")
		t.Skip(err)
	}
	assert.Equal(t, before, b.Before())
	_, err = HoldNUMABalancing(NUMABalancingSysctl)
	assert.ErrorContains(t, err, "holds it", "procfs takes locks")
	require.NoError(t, b.Set(before))
	require.NoError(t, b.Restore())
}

func TestParseFlock(t *testing.T) {
	const locks = `1: POSIX  ADVISORY  WRITE 1111 00:15:91499 0 EOF
2: FLOCK  ADVISORY  WRITE 8314 00:15:91499 0 EOF
2: -> FLOCK  ADVISORY  WRITE 9999 00:15:7 0 EOF
3: FLOCK  ADVISORY  WRITE 0 fe:00:8 0 EOF
4: FLOCK  ADVISORY  WRITE x fe:00:9 0 EOF
5: FLOCK
`
	pid, ok := parseFlock(locks, "00:15:91499")
	assert.True(t, ok)
	assert.Equal(t, 8314, pid)
	for _, inode := range []string{"00:15:9149", "00:15:7", "fe:00:8", "fe:00:9", ""} {
		_, ok = parseFlock(locks, inode)
		assert.False(t, ok, inode)
	}
}

func FuzzParseFlock(f *testing.F) {
	f.Add("2: FLOCK  ADVISORY  WRITE 8314 00:15:91499 0 EOF\n", "00:15:91499")
	f.Fuzz(func(t *testing.T, text, inode string) {
		pid, ok := parseFlock(text, inode)
		require.Equal(t, ok, pid > 0)
	})
}
