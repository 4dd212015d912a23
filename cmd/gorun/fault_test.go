package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/result"
)

// A process of a sample that is killed costs that sample: the run goes on, and its result is shown.
func TestKilledProcessCostsItsSample(t *testing.T) {
	if !linux.Cgo {
		t.Skip("a build without cgo has no kernels")
	}
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	a, b := strconv.Itoa(allowed.First()), strconv.Itoa(allowed.Last())
	for name, args := range map[string]string{
		"pair":   "pair " + a + " " + b + " 4000 --work pingpong-pipe --samples 5",
		"futex":  "matrix futex " + a + " " + b + " --round-trips 2000,3000 --samples 3 --warmup 0",
		"bind":   "bind --processes 2 --checks 1000000 --array 1MiB --trials 4",
		"numa":   "numa --mem float --cpu float --preferred-node none --numa-balancing keep --load 0 --buffer 1MiB --samples 5",
		"primes": "matrix primes --limit 30000,30001 --kernel go --method brute --samples 4 --warmup 0",
	} {
		t.Run(name, func(t *testing.T) {
			journal := filepath.Join(t.TempDir(), "run.jsonl")
			cmd := gorunCommand(append(strings.Fields(args), "--quiet", "--format", "json", "--out", journal)...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			lines := func() int {
				text, _ := os.ReadFile(journal)
				return bytes.Count(text, []byte("\n"))
			}
			wait(func() bool { return lines() >= 2 }) // the header and a sample
			killed := 0
			wait(func() bool {
				require.NoError(t, cmd.Process.Signal(syscall.Signal(0)), "it ended before a process was killed")
				for _, pid := range children(t, cmd.Process.Pid) {
					if syscall.Kill(pid, syscall.SIGKILL) == nil {
						killed = pid
						break
					}
				}
				return killed > 0
			})
			require.NoError(t, cmd.Wait(), stderr.String())
			var run result.Run
			require.NoError(t, json.Unmarshal(stdout.Bytes(), &run))
			var invalid []result.Sample
			for _, s := range run.Samples {
				if s.Quality.Verdict == result.Invalid {
					invalid = append(invalid, s)
				}
			}
			require.Len(t, invalid, 1)
			assert.Regexp(t, `killed|ended`, invalid[0].Quality.Reasons[0])
			assert.Less(t, invalid[0].Index, len(run.Samples)-1, "the run went on")
			assert.False(t, run.Partial)
		})
	}
}

// A sample ends when the CPUs that gorun may use change: what it measures from then on is not what was asked, and may
// take a thousand times as long.
func TestChangedCPUsEndTheSample(t *testing.T) {
	if !linux.Cgo {
		t.Skip("a build without cgo looks when a sample begins and when it ends")
	}
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	if allowed.Len() < 2 {
		t.Skip("with one CPU there is no other mask")
	}
	journal := filepath.Join(t.TempDir(), "run.jsonl")
	a, b := strconv.Itoa(allowed.First()), strconv.Itoa(allowed.Last())
	cmd := gorunCommand("pair", a, b, "1000000000", "--work", "pingpong-shm", "--warmup", "0", "--quiet", "--out", journal)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	wait(func() bool { return len(children(t, cmd.Process.Pid)) == 2 })
	var text []byte
	wait(func() bool { // a change before the sample began is none within it
		require.NoError(t, linux.SetAffinity(cmd.Process.Pid, cpuset.Of(allowed.First())))
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, linux.SetAffinity(cmd.Process.Pid, allowed))
		text, err = os.ReadFile(journal)
		return err == nil && bytes.Count(text, []byte("\n")) >= 2
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, cmd.Wait())
	out, err := gorunCommand("journal", "verify", journal).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(text), "the CPUs that gorun may use were "+allowed.String())
	assert.Contains(t, string(text), `"verdict":"invalid"`)
}
