package csrc_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/tests"
)

// Processes wait for the gate, and then become their programs or have an error.
func TestStart(t *testing.T) {
	start, err := csrc.NewStart(3)
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
	var pids []int
	for i, p := range []csrc.Program{
		{Path: "/bin/sh", Argv: []string{"sh", "-c", "echo $WORD >&3"}, Env: []string{"WORD=word"}},
		{Path: script, Argv: []string{"name", "argument"}},
		{Path: "/none", Argv: []string{"none"}},
	} {
		p.Files = []*os.File{null, null, null, to}
		forked := make(chan int)
		go func() {
			runtime.LockOSThread() // the process ends with the thread at the latest
			start.Run(i, p, func(pid int, err error) {
				assert.NoError(t, err)
				forked <- pid
			})
			<-t.Context().Done()
		}()
		pids = append(pids, <-forked)
	}
	require.NoError(t, to.Close())
	tests.Await(t, "the processes at the gate", func() bool { return start.Waiting() == 3 })
	for _, pid := range pids {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		require.NoError(t, err)
		assert.Zero(t, got, "it waits")
	}
	start.Open()
	text := ""
	for part := make([]byte, 100); ; {
		n, err := from.Read(part)
		text += string(part[:n])
		if err != nil {
			break
		}
	}
	var codes []int
	for _, pid := range pids {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, 0, nil)
		require.NoError(t, err)
		codes = append(codes, status.ExitStatus())
	}
	assert.Equal(t, []int{0, 0, 127}, codes)
	assert.Contains(t, text, "word\n")
	assert.Contains(t, text, "script "+script+" argument\n")
	assert.NoError(t, start.Failed(0))
	assert.Equal(t, syscall.ENOENT, start.Failed(2))
}
