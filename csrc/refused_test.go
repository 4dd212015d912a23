package csrc_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
)

// Where the kernel refuses a process what the Go runtime needs, it ends with an error that names the limit.
func TestRefused(t *testing.T) {
	tests.Tools(t, "prlimit")
	self, err := os.Executable()
	require.NoError(t, err)
	if exec.Command(self, "-test.run", "^$").Run() != nil { // prlimit would have a shell run it
		t.Skip("needs a machine that runs this binary without an emulator")
	}
	for limit, want := range map[string]struct{ words, hint string }{
		"--nofile=6": {"another open file: Too many open files", "RLIMIT_NOFILE (ulimit -n)"},
		"--nproc=1":  {"another thread: Resource temporarily unavailable", "RLIMIT_NPROC of the user (ulimit -u), or pids.max"},
	} {
		t.Run(limit, func(t *testing.T) {
			cmd := exec.Command("prlimit", limit, "/proc/self/fd/3", "-test.run", "^$")
			program, err := os.Open(self) // another user may not search its directory
			require.NoError(t, err)
			defer program.Close()
			cmd.ExtraFiles = []*os.File{program}
			if limit == "--nproc=1" { // it does not hold for root
				tests.Root(t)
				const nobodyElse = 61199
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyElse, Gid: nobodyElse}}
			}
			var stderr strings.Builder
			cmd.Stderr = &stderr
			require.Error(t, cmd.Run())
			assert.Equal(t, 1, cmd.ProcessState.ExitCode(), stderr.String())
			lines := strings.Split(stderr.String(), "\n")
			require.Len(t, lines, 3, stderr.String())
			assert.Equal(t, "gorun: error: the kernel refuses "+want.words, lines[0])
			assert.Contains(t, lines[1], want.hint)
			assert.True(t, strings.HasPrefix(lines[1], "gorun: hint: raise the limit on "))
		})
	}
}
