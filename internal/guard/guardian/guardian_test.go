package guardian

import (
	"bufio"
	"bytes"
	"encoding/json"
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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/subject"
	"gorun/internal/start/launch"
)

// The names under which the test binary is a process of these tests.
const (
	asGorun  = "gorun"  // a guardian
	asHolder = "holder" // of the setting in a file, to which it gives a value
	asLiar   = "liar"   // a guardian that does not guard
)

func TestMain(m *testing.M) {
	var err error
	switch os.Args[0] {
	case asGorun:
		err = Guard(os.Stdin, os.Stdout)
	case asHolder:
		err = hold(os.Args[1], os.Args[2])
	case asLiar:
		fmt.Println("unknown command")
		_ = syscall.Pause() // until it is killed
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// self is the test binary under one of its names.
func self(name string) launch.Self {
	return launch.Self{Path: "/proc/self/exe", Argv: []string{name}, Env: os.Environ()}
}

// hold sets a file's value, prints the guardian's PID, and keeps the file until its stdin ends.
func hold(path, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return err
	}
	g := New(self(asGorun))
	s, err := g.Hold(path)
	if err != nil {
		return err
	}
	if err := s.Set(n); err != nil {
		return err
	}
	fmt.Println(g.process.Process.Pid)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Restore()
}

// sysctl makes a file that takes the place of the sysctl.
func sysctl(t *testing.T, value string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "numa_balancing")
	require.NoError(t, os.WriteFile(path, []byte(value+"\n"), 0o600))
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	text := tests.Read(t, path)
	return strings.TrimSpace(string(text))
}

func holdHere(t *testing.T, path string) *KernelFile {
	t.Helper()
	s, err := New(self(asGorun)).Hold(path)
	require.NoError(t, err)
	return s
}

// startHolder starts a process that has set the file's value; it has its own process group.
func startHolder(t *testing.T, path string, value int) (holder *exec.Cmd, stdin io.Closer, guardian int) {
	t.Helper()
	holder = exec.Command("/proc/self/exe", path, strconv.Itoa(value))
	holder.Args[0] = asHolder
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

// awaitFree returns when neither a holder nor its guardian holds the file.
func awaitFree(t *testing.T, path string) {
	t.Helper()
	of := subject.New(subject.Who{}, path)
	tests.Await(t, "end of the guardian", func() bool { return of.InUse() == nil })
}

func TestKernelFileIsRestored(t *testing.T) {
	path := sysctl(t, "123")
	b := holdHere(t, path)
	assert.Equal(t, 123, b.Before())
	assert.Equal(t, "123", content(t, path), "holding changes nothing")
	require.NoError(t, b.Set(123))
	assert.Nil(t, b.guardian.process, "nothing is to be put back")
	for _, value := range []int{1, 0, 123, 2} {
		require.NoError(t, b.Set(value))
		assert.Equal(t, strconv.Itoa(value), content(t, path))
	}
	process := b.guardian.process
	require.NoError(t, b.Restore())
	assert.Equal(t, "123", content(t, path))
	require.NotNil(t, process.ProcessState, "the guardian has ended")
	assert.True(t, process.ProcessState.Success())

	require.NoError(t, os.WriteFile(path, []byte("3\n"), 0o600))
	require.NoError(t, b.Restore())
	assert.Equal(t, "3", content(t, path), "it is not ours a second time")
}

func TestKernelFileHasOneHolder(t *testing.T) {
	path := sysctl(t, "1")
	b := holdHere(t, path)
	_, err := New(self(asGorun)).Hold(path)
	require.ErrorContains(t, err, "another gorun, has changed it", "in the same process")
	require.NoError(t, b.Restore())

	holder, stdin, _ := startHolder(t, path, 0)
	_, err = New(self(asGorun)).Hold(path)
	require.ErrorContains(t, err, "another gorun, has changed it", "in another process")
	stdin.Close()
	require.NoError(t, holder.Wait())
	assert.Equal(t, "1", content(t, path))
	require.NoError(t, holdHere(t, path).Restore())
}

func TestKernelFileAfterSIGKILL(t *testing.T) {
	path := sysctl(t, "1")
	holder, _, guardian := startHolder(t, path, 0)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		require.NoError(t, syscall.Kill(guardian, sig), "the guardian lives on")
	}
	require.NoError(t, syscall.Kill(-holder.Process.Pid, syscall.SIGKILL), "the whole process group")
	var exit *exec.ExitError
	require.ErrorAs(t, holder.Wait(), &exit)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	awaitFree(t, path)
	assert.Equal(t, "1", content(t, path))
}

func TestKernelFileWithoutItsGuardian(t *testing.T) {
	path := sysctl(t, "1")
	b := holdHere(t, path)
	require.NoError(t, b.Set(0))
	require.NoError(t, b.guardian.process.Process.Kill())
	tests.Await(t, "end of the guardian", func() bool { return tests.State(b.guardian.process.Process.Pid) == 'Z' })
	require.NoError(t, b.Restore())
	assert.Equal(t, "1", content(t, path))
	require.NoError(t, holdHere(t, path).Restore(), "the lock is free")
}

func TestKernelFileNeedsAGuardian(t *testing.T) {
	path := sysctl(t, "1")
	for says, c := range map[string]launch.Self{
		"no such file":          {Path: filepath.Join(t.TempDir(), "missing"), Argv: []string{"missing"}},
		`said ""`:               {Path: "/bin/false", Argv: []string{"false"}},
		`said "unknown command`: self(asLiar),
		"too few threads":       {Path: "/bin/sh", Argv: []string{"sh", "-c", "echo gorun: error: too few threads >&2"}},
	} {
		g := New(c)
		s, err := g.Hold(path)
		require.NoError(t, err)
		assert.ErrorContains(t, s.Set(0), says)
		assert.Equal(t, "1", content(t, path), "unguarded, nothing is changed")
		assert.Nil(t, g.process)
		require.NoError(t, s.Restore())
	}
}

func TestKernelFileRefusals(t *testing.T) {
	_, err := New(self(asGorun)).Hold(sysctl(t, "on"))
	assert.ErrorContains(t, err, "not a whole number")
	path := sysctl(t, "1")
	require.NoError(t, os.Chmod(path, 0o400))
	if os.Geteuid() != 0 {
		s := holdHere(t, path)
		require.ErrorIs(t, s.Set(0), fs.ErrPermission)
		assert.Nil(t, s.guardian.process, "it would have nothing to put back")
		require.NoError(t, s.Set(1), "it is there already")
		require.NoError(t, s.Restore())
	}
}

// A value that another program has set since stays, whether the process or its guardian finds it.
func TestKernelFileOfSomebodyElse(t *testing.T) {
	path := sysctl(t, "1")
	s := holdHere(t, path)
	require.NoError(t, s.Set(0))
	require.NoError(t, os.WriteFile(path, []byte("7\n"), 0o600))
	require.NoError(t, s.Restore())
	assert.Equal(t, "7", content(t, path))

	holder, _, _ := startHolder(t, path, 0)
	require.NoError(t, os.WriteFile(path, []byte("5\n"), 0o600))
	require.NoError(t, holder.Process.Kill())
	require.Error(t, holder.Wait())
	awaitFree(t, path)
	assert.Equal(t, "5", content(t, path))
}

// One guardian has several steps. It ends with the last, and is started again for another.
func TestGuardianOfSeveral(t *testing.T) {
	g := New(self(asGorun))
	paths := []string{sysctl(t, "1"), sysctl(t, "2")}
	for range 2 {
		var held []*KernelFile
		for _, path := range paths {
			s, err := g.Hold(path)
			require.NoError(t, err)
			require.NoError(t, s.Set(0))
			held = append(held, s)
		}
		process := g.process
		assert.Len(t, g.steps, 2)
		require.NoError(t, held[0].Restore())
		assert.Equal(t, "1", content(t, paths[0]))
		assert.Equal(t, "0", content(t, paths[1]))
		awaitFree(t, paths[0]) // the guardian has given up this lock, though it still runs
		assert.Same(t, process, g.process)
		require.NoError(t, held[1].Restore())
		assert.Equal(t, "2", content(t, paths[1]))
		assert.NotNil(t, process.ProcessState)
		assert.Nil(t, g.process)
	}
}

// A guardian whose process has ended undoes all steps, the latest first, and reports those that fail.
func TestGuard(t *testing.T) {
	orders, theirs, err := linux.SocketPair()
	require.NoError(t, err)
	defer theirs.Close()
	path := sysctl(t, "3")
	state := func(before string, given ...string) string {
		of := subject.New(subject.Who{}, path)
		of.Files = []subject.File{{Path: path, Before: before, Given: given}}
		text, err := json.Marshal(map[string]any{"kind": "state", "name": of.ID(), "state": of})
		require.NoError(t, err)
		return `{"add": ` + string(text) + `}`
	}
	for _, text := range []string{
		state("1", "1"),
		`{"add": {"kind": "state", "name": "other"}}`,
		state("2", "1", "3"),
		`{"add": {"kind": "folder", "name": "gone"}}`,
		`{"remove": {"kind": "folder", "name": "gone"}}`,
	} {
		_, err := orders.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, orders.Close())
	var out bytes.Buffer
	err = Guard(theirs, &out)
	signal.Reset()
	assert.Equal(t, strings.Repeat(done, 5), out.String())
	assert.ErrorContains(t, err, "JSON")
	assert.NotContains(t, err.Error(), "gone")
	assert.Equal(t, "2", content(t, path), "the last state counts")
}
