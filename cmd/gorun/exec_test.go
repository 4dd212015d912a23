package main

import (
	"bufio"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gorun/internal/linux"
)

// No process of a command is left when gorun is killed. All of them inherit the write end of a pipe, which reads as closed when
// the last one has ended.
func TestExecKilledLeavesNobody(t *testing.T) {
	// Ignores what asks it to end, and has descendants in sessions of their own.
	const command = `trap "" TERM INT HUP; setsid sh -c 'sleep 600 & sleep 600' & echo started >&3; sleep 600; sleep 600`
	for name, args := range map[string][]string{
		"watched":  {"exec", "--stat"},
		"compared": {"exec", "--placements", "unbound,one-cpu"},
		"matrix":   {"matrix", "exec", "--nice", "18,19"},
	} {
		t.Run(name, func(t *testing.T) {
			if allowed, err := linux.GetAffinity(0); name == "compared" && (err != nil || allowed.Len() < 2) {
				t.Skip("one CPU has one placement")
			}
			t.Parallel()
			held, inherited, err := os.Pipe()
			require.NoError(t, err)
			defer held.Close()
			cmd := gorunCommand(append(args, "--", "sh", "-c", command)...)
			cmd.ExtraFiles = []*os.File{inherited}
			require.NoError(t, cmd.Start())
			require.NoError(t, inherited.Close())
			lines := bufio.NewReader(held)
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "started\n", line)
			require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
			require.NoError(t, held.SetReadDeadline(time.Now().Add(5*time.Minute))) // a process that is left sleeps longer
			_, err = io.Copy(io.Discard, lines)
			require.NoError(t, err, "a process is left")
			_ = cmd.Wait()
		})
	}
}
