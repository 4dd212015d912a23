package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/bind"
	"gorun/internal/linux"
	"gorun/internal/numa"
	"gorun/internal/pair"
	"gorun/internal/result"
	"gorun/internal/run"
)

// below returns a descendant of a process whose command line has this word; 0 if there is none yet.
func below(t *testing.T, pid int, word string) int {
	t.Helper()
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pids[i])) // it may have ended
		for _, task := range tasks {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pids[i], task.Name()))
			for _, field := range strings.Fields(string(text)) {
				child, err := strconv.Atoi(field)
				require.NoError(t, err)
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
				if slices.Contains(strings.Split(string(line), "\x00"), word) {
					return child
				}
				pids = append(pids, child)
			}
		}
	}
	return 0
}

// stopped stops the process that takes a sample, in each of the ways to take one: that sample is suspect, and no other.
func stopped(t *testing.T, f fault) {
	if !linux.Cgo {
		t.Skip("needs cgo, for the kernels")
	}
	if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children"); err != nil {
		t.Skip("needs CONFIG_PROC_CHILDREN, to find processes by their parents: ", err)
	}
	const stop = 400 * time.Millisecond
	for name, c := range map[string]struct {
		args    string // with --samples or a command: a run that ends by itself; else one that is ended (harm)
		stopped string // a word of the command line of the process that is stopped; "": gorun itself
		warning bool   // the stopped process takes no sample
	}{
		"primes":        {"primes --limit 100000 --warmup 0", "", false},
		"contend":       {"contend", "", false},
		"futex":         {"futex A A", "", false},
		"migrate":       {"migrate --relation same-cpu --working-set 16KiB", "", false},
		"matrix":        {"matrix primes --limit 200000 --serial --workers 1,2 --warmup 0 --budget 0 --samples 1", run.SampleCommand, false},
		"matrix itself": {"matrix primes --limit 200000 --serial --workers 1,2 --warmup 0 --budget 0 --samples 1", "", true},
		"pair":          {"pair A A --warmup 0", pair.SideCommand, false},
		"bind":          {"bind --processes 2 --array 64KiB --passes 100 --checks 50000000 --trials 2", bind.ProcessCommand, false},
		"numa": {
			"numa --numa-balancing keep --cpu float --preferred-node none --mem float --load 0 --warmup 0",
			numa.ProbeCommand, false,
		},
		"exec":              {"exec --stat --format json -- sleep 2", "sleep", false},
		"exec, a shell's":   {"exec --stat --format json -- sh -c sleep${IFS}2.5;true", "2.5", false},
		"exec, samples":     {"matrix exec --nice 0,1 --samples 2 --warmup 0 -- sleep 0.8", "0.8", false},
		"exec, gorun":       {"exec --stat --format json -- sleep 2", "", false},
		"exec, not stopped": {"exec --stat --format json -- sleep 0.8", "none", false},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !slices.Contains([]string{"primes", "pair", "exec"}, name) {
				t.Skip("needs a run without -short, which tries one of each way to notice a stop")
			}
			stopOne := func(pid int) bool {
				if c.stopped != "" {
					if pid = below(t, pid, c.stopped); pid == 0 {
						return false
					}
				}
				time.Sleep(stop / 2) // it has begun
				if syscall.Kill(pid, syscall.SIGSTOP) != nil {
					return false
				}
				time.Sleep(stop)
				return syscall.Kill(pid, syscall.SIGCONT) == nil
			}
			var got result.Run
			switch args := strings.Fields(c.args); {
			case slices.Contains(args, "--samples"), slices.Contains(args, "--trials"), args[0] == "exec":
				if !slices.Contains(args, "--format") {
					args = slices.Insert(args, 1+strings.Count(args[0], "matrix"), "--format", "json")
				}
				cmd := gorunCommand(args...)
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				if args[0] == "exec" {
					cmd.Stdout, cmd.Stderr = os.Stderr, &stdout // the command's result is on stderr
				}
				require.NoError(t, cmd.Start())
				t.Cleanup(func() { _ = cmd.Process.Kill() })
				time.Sleep(stop)
				for end := time.Now().Add(20 * time.Second); c.stopped != "none" && !stopOne(cmd.Process.Pid); {
					require.True(t, time.Now().Before(end), "no process %s", c.stopped)
					time.Sleep(5 * time.Millisecond)
				}
				require.NoError(t, cmd.Wait(), "%s", stderr.String())
				require.NoError(t, json.Unmarshal(stdout.Bytes(), &got), "%s", stdout.String())
			default:
				h := harm(t, t.TempDir(), c.args, gorunCommand)
				h.awaitAfter(0, true)
				var next time.Time
				h.await("stopped sample", func() bool {
					if time.Now().After(next) { // again if the stop fell between two samples
						stopOne(h.cmd.Process.Pid)
						next = time.Now().Add(2 * stop)
					}
					return slices.ContainsFunc(h.samples(), func(s result.Sample) bool {
						return s.Quality.Signals.StoppedSeconds != nil && *s.Quality.Signals.StoppedSeconds > stop.Seconds()/2
					})
				})
				got = h.end()
			}
			stops := 0.0
			for _, s := range got.Samples {
				seconds := s.Quality.Signals.StoppedSeconds
				require.NotNil(t, seconds)
				stops += *seconds
				if *seconds > 0 {
					assert.NotEqual(t, result.Valid, s.Quality.Verdict)
					assert.Regexp(t, f.report(), strings.Join(s.Quality.Reasons, "\n"))
				}
			}
			warned := slices.ContainsFunc(got.Warnings, func(w result.Warning) bool { return w.Code == "stopped" })
			assert.Equal(t, c.warning, warned)
			if c.warning || c.stopped == "none" {
				assert.Zero(t, stops)
				return
			}
			assert.Greater(t, stops, stop.Seconds()/2)
			assert.Less(t, stops, 10.0)
		})
	}
}
