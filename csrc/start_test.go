package csrc_test

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/linux"
)

// Processes wait for the gate, and then become their programs or have an error. A signal that this process catches ends one that waits,
// and each ends with its thread.
func TestStart(t *testing.T) {
	start, err := csrc.NewStart(5)
	require.NoError(t, err)
	defer start.Free()
	from, to, err := os.Pipe()
	require.NoError(t, err)
	defer from.Close()
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	script := t.TempDir() + "/script"
	require.NoError(t, os.WriteFile(script, []byte("echo script $0 $1 >&3"), 0o755))
	opened := make(chan struct{})
	var pids []int
	for i, p := range []csrc.Program{
		{Path: "/bin/sh", Argv: []string{"sh", "-c", "echo $WORD >&3"}, Env: []string{"WORD=word"}},
		{Path: script, Argv: []string{"name", "argument"}},
		{Path: "/none", Argv: []string{"none"}},
		{Path: "/bin/sleep", Argv: []string{"signalled", "600"}},
		{Path: "/bin/sleep", Argv: []string{"orphan", "600"}},
	} {
		p.Files = []*os.File{null, null, null, to}
		forked := make(chan int)
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			start.Run(i, p, func(pid int, err error) {
				assert.NoError(t, err)
				forked <- pid
			})
			<-opened // where clone(2) is emulated, Run does not wait
			if p.Argv[0] != "orphan" {
				<-t.Context().Done()
			}
		}()
		pids = append(pids, <-forked)
	}
	require.NoError(t, to.Close())
	tests.Await(t, "the processes at the gate", func() bool { return start.Waiting() == len(pids) })
	for _, pid := range pids {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		require.NoError(t, err)
		assert.Zero(t, got, "it waits")
	}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGUSR1)
	defer signal.Stop(caught)
	require.NoError(t, syscall.Kill(pids[3], syscall.SIGUSR1))
	tests.Await(t, "end of a process at the gate", func() bool { return linux.ChildEnded(pids[3]) })
	start.Open()
	close(opened)
	text := ""
	for part := make([]byte, 100); ; {
		n, err := from.Read(part)
		text += string(part[:n])
		if err != nil {
			break
		}
	}
	var codes []int // and what ended those with -1
	var signals []syscall.Signal
	for _, pid := range pids {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, 0, nil)
		require.NoError(t, err)
		codes, signals = append(codes, status.ExitStatus()), append(signals, status.Signal())
	}
	assert.Equal(t, []int{0, 0, 127, -1, -1}, codes)
	assert.Equal(t, []syscall.Signal{syscall.SIGUSR1, syscall.SIGKILL}, signals[3:])
	assert.Contains(t, text, "word\n")
	assert.Contains(t, text, "script "+script+" argument\n")
	assert.NoError(t, start.Failed(0))
	assert.Equal(t, syscall.ENOENT, start.Failed(2))
}
