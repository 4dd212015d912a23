package launch

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/linux"
	"gorun/internal/tests"
)

func TestStopTime(t *testing.T) {
	for _, c := range []struct {
		looks string // one every 100 ms: '-' finds no stopped process, 'T' finds one
		ms    int
	}{
		{"---", 0}, {"-T-", 100}, {"-TT-", 200}, {"T", 50}, {"-T--T-", 200},
	} {
		now := time.Unix(1000, 0)
		s := stopTime{last: now}
		for _, is := range c.looks {
			now = now.Add(100 * time.Millisecond)
			s.look(now, is == 'T')
		}
		assert.Equal(t, time.Duration(c.ms)*time.Millisecond, s.total, c.looks)
	}
}

// startsCat is a script that starts cat(1) with its own input, and tells its PID. A shell would give it another input.
const startsCat = "exec 3<&0; cat <&3 & echo $!; wait"

// A child and a child's child are descendants.
func TestHasStoppedDescendant(t *testing.T) {
	cmd := exec.Command("sh", "-c", startsCat)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	grandchild, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	stopped := func() bool {
		is, err := linux.HasStoppedDescendant()
		require.NoError(t, err)
		return is
	}
	for _, pid := range []int{cmd.Process.Pid, grandchild} {
		assert.False(t, stopped())
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		tests.Await(t, "stopped descendant", stopped)
		require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		tests.Await(t, "continued descendant", func() bool { return !stopped() })
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
}

// A stop of the command's child is in the outcome.
func TestStoppedCommand(t *testing.T) {
	stop := lookEvery
	tests.Await(t, "stop that is long enough to be noticed", func() bool {
		stop += lookEvery
		d := stop
		from, to, err := os.Pipe()
		require.NoError(t, err)
		input, theirs, err := os.Pipe()
		require.NoError(t, err)
		c := command(sh(startsCat)...)
		c.Stdin, c.Stdout = input, to
		go func() {
			defer theirs.Close()
			var pid int
			_, err := fmt.Fscan(from, &pid)
			assert.NoError(t, err)
			assert.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
			tests.Pause(d)
			assert.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		}()
		o, err := run(t, c)
		require.NoError(t, err)
		for _, file := range []*os.File{from, to, input} {
			require.NoError(t, file.Close())
		}
		require.NotNil(t, o.StoppedSeconds)
		return *o.StoppedSeconds > 0
	})
}
