package launch

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
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
		c.Members[0].Stdin, c.Members[0].Stdout = input, to
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
