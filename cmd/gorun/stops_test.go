package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/record/result"
	"gorun/internal/start/process"
)

// stops has runs in which a process of a command, or of a copy of built-in work, is stopped. All but those of exec --stat are endless,
// and are stopped until one of their samples reports it.
var stops = map[string]struct {
	args    string
	stopped string // a word of the command line of the process that is stopped
}{
	"pair":            {"pair A A --warmup 0", process.Command},
	"bind":            {"bind --processes 2 --array 64KiB --passes 100 --checks 30000000", process.Command},
	"exec":            {"exec --stat --format json -- cat", "cat"},
	"exec, a shell's": {"exec --stat --format json -- sh -c cat;true", "cat"},
	"exec, samples":   {"matrix exec --nice 0,1 --warmup 0 -- sleep 0.8", "0.8"},
}

// stopTime is the time for which a process is stopped: longer than any interval at which gorun looks for stops.
const stopTime = 400 * time.Millisecond

// stopOnce stops for stopTime the process that takes a sample of a run of gorun, some time after it has found it. It reports
// whether there was one.
func stopOnce(t *testing.T, gorun int, word string, after time.Duration) bool {
	pid := tests.Descendant(t, gorun, word)
	if pid == 0 {
		return false
	}
	tests.Pause(after)
	return stopFor(pid)
}

// stopFor stops a process for stopTime. It reports whether the process lived until then.
func stopFor(pid int) bool {
	if syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return false // it has ended
	}
	time.Sleep(stopTime)
	return syscall.Kill(pid, syscall.SIGCONT) == nil
}

// stoppedSeconds returns the time for which the samples say that a process was stopped. Each of them is suspect for it.
func stoppedSeconds(t *testing.T, f fault, samples []result.Sample) (sum float64) {
	for _, s := range samples {
		seconds := s.Quality.Signals.StoppedSeconds
		if seconds == nil {
			require.False(t, isMeasured(s)) // the interrupted one
			continue
		}
		if sum += *seconds; *seconds > 0 {
			assert.NotEqual(t, result.Valid, s.Quality.Grade)
			assert.Regexp(t, f.report(), strings.Join(s.Quality.Reasons, "\n"))
		}
	}
	return sum
}

// stopped stops the process that takes a sample, in each of the ways to take one: that sample is suspect.
func stopped(t *testing.T, f fault) {
	for name, c := range stops {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(c.args, "exec") {
				run, noticed := execStopped(t, c.args, c.stopped)
				assert.True(t, noticed)
				assert.Positive(t, stoppedSeconds(t, f, tests.Values(run.Samples.All())))
				return
			}
			h := harm(t, t.TempDir(), c.args, gorunCommand)
			h.awaitAfter(0, true)
			after := time.Duration(0)
			h.await("stopped sample", func() bool { // again, at another moment of a sample, if the stop fell between two
				stopOnce(t, h.cmd.Process.Pid, c.stopped, after)
				if after = 2 * max(after, time.Millisecond); after > time.Second {
					after = 0
				}
				return slices.ContainsFunc(h.samples(), isStopped)
			})
			assert.Positive(t, stoppedSeconds(t, f, tests.Values(h.end().Samples.All())))
		})
	}
}

func isStopped(s result.Sample) bool {
	seconds := s.Quality.Signals.StoppedSeconds
	return seconds != nil && *seconds > 0
}

// execStopped stops a process of exec --stat, whose command reads stdin to its end, until the run reports it. A run reports
// nothing before it ends, so each try is a run.
func execStopped(t *testing.T, args, word string) (run result.Run, noticed bool) {
	for begun := time.Now(); !noticed && time.Since(begun) < tests.Hang; {
		cmd := gorunCommand(strings.Fields(args)...)
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		pid := 0
		tests.Await(t, "the command", func() bool { pid = tests.Descendant(t, cmd.Process.Pid, "cat"); return pid > 0 })
		assert.True(t, stopFor(pid))
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait(), "%s", stderr.String())
		run = result.Run{}
		require.NoError(t, json.Unmarshal(stderr.Bytes(), &run), "%s", stderr.String())
		noticed = slices.ContainsFunc(tests.Values(run.Samples.All()), isStopped)
	}
	return run, noticed
}
