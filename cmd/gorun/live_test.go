package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/subject"
	"gorun/internal/place/subject/programtest"
	"gorun/internal/record/result"
	"gorun/internal/stats"
	"gorun/internal/work/live"
)

// two are the first two CPUs that this process may use, as placements.
func two(t *testing.T) (a, b string, cpus []int) {
	t.Helper()
	cpus = tests.CPUs(t, 2)
	return strconv.Itoa(cpus[0]), strconv.Itoa(cpus[1]), cpus
}

// liveTest begins a test, which runs beside others: programs and loads mostly sleep.
func liveTest(t *testing.T) (a, b string, cpus []int) {
	t.Helper()
	tests.Live(t)
	t.Parallel()
	return two(t)
}

// liveCommand is `gorun live`, with its state files in a directory of the test.
func liveCommand(t *testing.T, state string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := gorunCommand(append([]string{"live", "--quiet"}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+state)
	return cmd
}

// runLive runs `gorun live` to its end.
func runLive(t *testing.T, args ...string) (run result.Run, stderr string, err error) {
	t.Helper()
	state := t.TempDir()
	cmd := liveCommand(t, state, append(args, "--format", "json")...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if out.Len() > 0 {
		require.NoError(t, json.Unmarshal(out.Bytes(), &run))
	}
	left, readErr := os.ReadDir(state)
	require.NoError(t, readErr)
	assert.Empty(t, left, "a state file is left")
	return run, errs.String(), err
}

// masksOf counts the threads of a process by their masks.
func masksOf(t *testing.T, pid int) map[string]int {
	t.Helper()
	tids, err := linux.TasksOf(pid)
	require.NoError(t, err)
	count := map[string]int{}
	for _, tid := range tids {
		if cpus, err := linux.GetAffinity(tid); err == nil {
			count[cpus.String()]++
		}
	}
	return count
}

// inherited is the only mask of a process that this one has started.
func inherited(t *testing.T) func(pid int) bool {
	t.Helper()
	cpus := allowed(t)
	return func(pid int) bool {
		count := masksOf(t, pid)
		return len(count) == 1 && count[cpus.String()] > 0
	}
}

// The figures of a load's lines, of an endpoint and of the process itself are judged, and everything is put back.
func TestLiveServerJudged(t *testing.T) {
	a, b, _ := liveTest(t)
	pid := strconv.Itoa(programtest.Start(t, "threads", "3").Process.Pid)
	first := tests.CPUs(t, 2)[0]
	shares := make([]string, first+1) // 1 but for the first CPU
	for i := range shares {
		shares[i] = "1"
	}
	shares[first] = "0.5"
	run, stderr, err := runLive(t, "--pid", pid, "--vary", "placement="+a+","+b, "--metric", "rate=([0-9.]+)", "--better", "higher",
		"--metric", "rate", "--better", "higher", "--block", "60ms", "--washout", "30ms", "--samples", "11",
		"--load", programtest.Load(t, append([]string{"rates", pid}, shares...)...))
	require.NoError(t, err, stderr)
	require.Len(t, run.Cells, 2)
	require.NotNil(t, run.Cells[1].Verdict)
	assert.Equal(t, stats.Faster, run.Cells[1].Verdict.Kind, "%v", run.Cells[1].Words)
	for _, s := range run.Samples.All() {
		assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
		v, ok := result.Typed[live.Figures](s)
		require.True(t, ok)
		require.NotNil(t, v.Metric2, "%v", s.Quality.Reasons)
		assert.Positive(t, *v.Metric2, "lines a second")
	}
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	assert.True(t, inherited(t)(n))

	tests.Tools(t, "taskset")
	lines := run.Cells[1].Lines.Now["taskset"]
	require.Len(t, lines, 1)
	out, err := exec.Command("sh", "-c", lines[0]).CombinedOutput()
	require.NoError(t, err, "%s: %s", lines[0], out)
	masks := masksOf(t, n)
	assert.Len(t, masks, 1)
	assert.Positive(t, masks[b], "all threads have what the line gives")
}

// An endpoint gives rates and gauges; a quantile alone is refused.
func TestLiveServerEndpoint(t *testing.T) {
	a, b, _ := liveTest(t)
	address := "127.0.0.1:" + strconv.Itoa(freePorts(t, 1)[0])
	pid := strconv.Itoa(programtest.Start(t, "serve", address).Process.Pid)
	url := "http://" + address + "/metrics"
	args := []string{"--pid", pid, "--vary", "placement=" + a + "," + b, "--metric-url", url, "--block", "100ms", "--washout", "10ms", "--samples", "2"}
	asking := programtest.Load(t, "ask", address)
	run, stderr, err := runLive(t, append(args, "--load", asking, "--better", "higher", "--metric", `asked_total{code="200"}`, "--metric", "waiting",
		"--metric", "process:cpu", "--metric", "histogram_quantile(0.5, took_seconds)")...)
	require.NoError(t, err, stderr)
	valid := 0
	for _, s := range run.Samples.All() {
		v, ok := result.Typed[live.Figures](s)
		if !ok || s.Quality.Grade == result.Invalid { // on a busy machine, a block may have had no answer
			continue
		}
		valid++
		assert.Positive(t, *v.Metric)
		assert.InDelta(t, 3, *v.Metric2, 1e-9)
		assert.Positive(t, *v.Metric3)
		assert.InDelta(t, 0.05, *v.Metric4, 1e-9, "the middle of the first bucket")
	}
	assert.Positive(t, valid)
	for _, refused := range [][2]string{
		{"histogram_quantile(0.5, took_seconds)", "a latency quantile needs a rate beside it"},
		{"asked", "it has asked_total"},
		{"took_seconds", "took_seconds is a histogram"},
		{"risen", "give --metric 'rate(risen)' if it counts something"},
		{"unknown", "unknown is NaN: only finite figures are compared"},
	} {
		var stderr string
		tests.Await(t, "answer in time", func() bool { // a busy machine may have none
			_, stderr, err = runLive(t, append(args, "--better", "higher", "--metric", refused[0])...)
			return !strings.Contains(stderr, "the endpoint took")
		})
		require.Error(t, err)
		assert.Contains(t, stderr, refused[1])
	}
}

// A load can run once in each block. An endpoint that writes its counter rarely needs longer blocks, and is refused with shorter ones.
func TestLiveServerBlocks(t *testing.T) {
	a, b, _ := liveTest(t)
	address := "127.0.0.1:" + strconv.Itoa(freePorts(t, 1)[0])
	pid := strconv.Itoa(programtest.Start(t, "serve", address).Process.Pid)
	args := []string{"--pid", pid, "--vary", "placement=" + a + "," + b, "--better", "higher", "--washout", "10ms", "--samples", "2"}
	run, stderr, err := runLive(t, append(args, "--metric", "rate=([0-9]+)", "--load", "echo rate=7", "--load-per-block")...)
	require.NoError(t, err, stderr)
	for _, s := range run.Samples.All() {
		v, ok := result.Typed[live.Figures](s)
		require.True(t, ok)
		require.NotNil(t, v.Metric, "%v", s.Quality.Reasons)
		assert.InDelta(t, 7, *v.Metric, 1e-9)
	}
	_, stderr, err = runLive(t, append(args, "--block", "50ms", "--metric-url", "http://"+address+"/metrics", "--metric", "slow_total",
		"--load", programtest.Load(t, "ask", address))...)
	require.Error(t, err)
	assert.Contains(t, stderr, "the counter is written only every")

	address = "127.0.0.1:" + strconv.Itoa(freePorts(t, 1)[0])
	pid = strconv.Itoa(programtest.Start(t, "serve", address, "60ms").Process.Pid)
	_, stderr, err = runLive(t, "--pid", pid, "--vary", "placement="+a+","+b, "--better", "higher", "--block", "50ms", "--metric", "asked_total",
		"--metric-url", "http://"+address+"/metrics")
	require.Error(t, err)
	assert.Regexp(t, `the endpoint takes \S+ to answer: a block of 50ms is too short\n.*give --block `, stderr)
}

// What ends a run: the load, the program, and --abort-if. Each says so, and everything is put back.
func TestLiveServerEnds(t *testing.T) {
	a, b, _ := liveTest(t)
	for name, c := range map[string]struct {
		load  func(pid string) string
		args  []string
		kills bool
		says  string
	}{
		"load": {func(pid string) string {
			return "sh -c 'for i in $(seq 200); do echo rate=5; sleep 0.01; done; exit 3'"
		}, nil, false, "the load ended with exit code 3"},
		"once":    {func(string) string { return "echo rate=5" }, nil, false, "add --load-per-block"},
		"wrong":   {func(string) string { return "sh -c 'echo cannot connect >&2; exit 3'" }, []string{"--load-per-block"}, false, "--load: the load ended with exit code 3: cannot connect"},
		"abort":   {func(pid string) string { return programtest.Load(t, "rates", pid) }, []string{"--abort-if", "metric>10"}, false, "--abort-if metric>10: it was"},
		"idle":    {func(string) string { return "sh -c 'while :; do echo rate=0; sleep 0.01; done'" }, nil, false, "the pilot, with " + a + ": rate=([0-9.]+) is 0: only figures above 0 are compared"},
		"program": {func(pid string) string { return "sh -c 'while :; do echo rate=5; sleep 0.01; done'" }, nil, true, "it has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			program := programtest.Start(t, "threads", "3")
			pid := strconv.Itoa(program.Process.Pid)
			if c.kills {
				go func() {
					tests.Pause(6 * time.Second)
					_ = program.Process.Kill()
				}()
			}
			_, stderr, err := runLive(t, append(c.args, "--pid", pid, "--vary", "placement="+a+","+b, "--metric", "rate=([0-9.]+)", "--better", "higher",
				"--block", "50ms", "--washout", "10ms", "--budget", "10m", "--load", c.load(pid))...)
			require.Error(t, err)
			assert.Contains(t, stderr, c.says)
			if !c.kills {
				assert.True(t, inherited(t)(program.Process.Pid))
			}
		})
	}
}

// A load that runs elsewhere belongs to the samples as long as one of its threads runs. The program itself is none.
func TestLiveServerWithLoadElsewhere(t *testing.T) {
	a, b, _ := liveTest(t)
	pid := strconv.Itoa(programtest.Start(t, "threads", "3").Process.Pid)
	elsewhere := strconv.Itoa(programtest.Start(t, "headless", "1").Process.Pid)
	args := []string{"--pid", pid, "--vary", "placement=" + a + "," + b, "--metric", "rate", "--better", "higher", "--block", "50ms", "--washout", "10ms", "--samples", "1"}
	run, stderr, err := runLive(t, append(args, "--with-pid", elsewhere, "--load", "sh -c 'kill -9 "+elsewhere+"; while :; do echo rate; sleep 0.01; done'")...)
	require.NoError(t, err, stderr)
	require.Positive(t, run.Samples.Len())
	for _, s := range run.Samples.All() {
		assert.Contains(t, strings.Join(s.Quality.Reasons, "\n"), "the process "+elsewhere+" (--with-pid): it has ended")
	}
	_, stderr, err = runLive(t, append(args, "--with-pid", pid, "--load", "yes rate")...)
	require.Error(t, err)
	assert.Contains(t, stderr, "--with-pid "+pid+": process "+pid+" is part of the program itself")
}

// A gorun that is killed leaves nothing: its guardian puts back every thread, also those that are started all the time. Where the
// guardian was killed too, another gorun refuses the program until --restore has put it back.
func TestLiveServerKilled(t *testing.T) {
	tests.Live(t)
	t.Parallel() // programs and loads mostly sleep
	killed(t, 4)
}

func TestLiveServerKilledOften(t *testing.T) {
	tests.Target(t, "ci-long")
	killed(t, 50)
}

func killed(t *testing.T, times int) {
	t.Helper()
	for by, who := range map[string]func(t *testing.T, pid string) []string{
		"threads": func(_ *testing.T, pid string) []string { return []string{"--pid", pid} },
		"cpuset": func(t *testing.T, pid string) []string {
			tests.Root(t)
			dir := programtest.Group(t)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(pid), 0))
			return []string{"--cgroup", dir}
		},
	} {
		t.Run(by, func(t *testing.T) { killedBy(t, times, who) })
	}
}

func killedBy(t *testing.T, times int, who func(t *testing.T, pid string) []string) {
	t.Helper()
	a, b, cpus := two(t)
	pid := programtest.Start(t, "churn", "20").Process.Pid
	args := who(t, strconv.Itoa(pid))
	of := subject.Who{Group: args[1]}
	if args[0] == "--pid" {
		task, err := linux.ReadTask(os.DirFS("/"), pid, pid)
		require.NoError(t, err)
		of = subject.Who{PID: pid, Start: task.Start}
	}
	was := inherited(t)
	state := t.TempDir()
	args = append(args, "--vary", "placement="+a+","+b, "--metric", "process:cpu", "--block", "50ms", "--washout", "10ms")
	begin := func() *exec.Cmd {
		cmd := liveCommand(t, state, args...)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		tests.Await(t, "switch", func() bool {
			count := masksOf(t, pid)
			return count[cpuset.Of(cpus[0]).String()]+count[cpuset.Of(cpus[1]).String()] > 0
		})
		return cmd
	}
	gone := func() bool { return subject.New(of, "").InUse() == nil }
	var longest time.Duration
	for range times {
		cmd := begin()
		tests.Pause(time.Duration(rand.IntN(300)) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		begun := time.Now()
		tests.Await(t, "restore", func() bool { return was(pid) })
		longest = max(longest, time.Since(begun))
		_ = cmd.Wait()
		tests.Await(t, "removal of the state", gone)
		assert.True(t, was(pid), "it stays so")
	}
	t.Logf("every thread was put back at most %v after the kill", longest)

	cmd := begin()
	guardian := tests.Descendant(t, cmd.Process.Pid, "guardian")
	require.NotZero(t, guardian)
	require.NoError(t, syscall.Kill(guardian, syscall.SIGSTOP)) // neither puts anything back when the other is gone
	tests.Await(t, "stop", func() bool { return tests.State(guardian) == 'T' })
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.NoError(t, syscall.Kill(guardian, syscall.SIGKILL))
	again := liveCommand(t, state, args...)
	out, err := again.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "it still has what a gorun gave it that was killed")
	restore := liveCommand(t, state, "--restore")
	out, err = restore.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "put back")
	assert.True(t, was(pid))
	assert.True(t, gone())
}

// A gorun that a signal stops does not leave the program switched: its guardian puts it back, and the block is invalid.
func TestLiveServerStopped(t *testing.T) {
	a, b, cpus := liveTest(t)
	pid := programtest.Start(t, "churn", "20").Process.Pid
	was := inherited(t)
	journal := filepath.Join(t.TempDir(), "run.jsonl")
	cmd := liveCommand(t, t.TempDir(), "--pid", strconv.Itoa(pid), "--vary", "placement="+a+","+b, "--metric", "process:cpu",
		"--block", "80ms", "--washout", "10ms", "--out", journal, "--samples", "100000000", "--budget", "100000h")
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(stderr)
		}
	})
	switched := func() bool {
		count := masksOf(t, pid)
		return count[cpuset.Of(cpus[0]).String()]+count[cpuset.Of(cpus[1]).String()] > 0
	}
	recorded := func() string {
		text, _ := os.ReadFile(journal)
		return string(text)
	}
	const said = "its guardian has put the program back meanwhile"
	stops := 0
	tests.Await(t, "stop in a block", func() bool { // and not between two
		tests.Await(t, "switch", switched)
		begun := time.Now()
		require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
		tests.Await(t, "restore", func() bool { return was(pid) })
		assert.Greater(t, time.Since(begun), 2*time.Second, "what a long block takes is waited for, at each stop anew")
		stops++
		before := recorded()
		require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
		tests.Await(t, "sample", func() bool { return len(recorded()) > len(before) })
		return strings.Contains(recorded(), said) && stops >= 3
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	for line := range strings.Lines(recorded()) {
		if strings.Contains(line, said) {
			assert.Regexp(t, `"verdict":"invalid"|"cells"`, line)
		}
	}
	assert.Contains(t, stderr.String(), "is stopped: what it has changed is put back")
	assert.True(t, was(pid))
}

// What a sample measures is that of the whole run, also where it is continued: what was asked is compared, and what a pilot found holds.
func TestLiveServerResumed(t *testing.T) {
	a, b, _ := liveTest(t)
	address := "127.0.0.1:" + strconv.Itoa(freePorts(t, 1)[0])
	pid := strconv.Itoa(programtest.Start(t, "serve", address).Process.Pid)
	journal := filepath.Join(t.TempDir(), "run.jsonl")
	args := []string{
		"--pid", pid, "--vary", "placement=" + a + "," + b, "--metric", "slow_total", "--better", "higher", "--metric-url", "http://" + address + "/metrics",
		"--load", programtest.Load(t, "ask", address), "--samples", "2", "--out", journal,
	}
	run, stderr, err := runLive(t, args...)
	require.NoError(t, err, stderr)
	block := run.Spec.(map[string]any)["block"]
	assert.NotContains(t, run.Asked, "block")
	for _, other := range [][]string{{"--block", "700ms"}, {"--washout", "1ms"}, {"--load", "yes"}} {
		_, stderr, err := runLive(t, append(args, append(other, "--resume")...)...)
		require.Error(t, err)
		assert.Contains(t, stderr, "holds another run: the journal has ")
		assert.Contains(t, stderr, other[0]+" ")
	}
	run, stderr, err = runLive(t, append(args, "--samples", "3", "--resume")...)
	require.NoError(t, err, stderr)
	want, err := time.ParseDuration(block.(string))
	require.NoError(t, err)
	assert.Greater(t, want, 400*time.Millisecond, "the default is too short for this counter")
	require.Equal(t, 9, run.Samples.Len())
	assert.GreaterOrEqual(t, run.Samples.At(8).Seconds, want.Seconds())
}

// A server in a control group that is restarted costs a block, and not the run.
func TestLiveServerRestarted(t *testing.T) {
	a, b, _ := liveTest(t)
	tests.Root(t)
	dir := programtest.Group(t)
	join := func(pid int) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
	}
	first := programtest.Start(t, "threads", "2")
	join(first.Process.Pid)
	state := t.TempDir()
	journal := filepath.Join(t.TempDir(), "run.jsonl")
	cmd := liveCommand(t, state, "--cgroup", dir, "--vary", "placement="+a+","+b, "--metric", "rate", "--better", "higher", "--block", "50ms",
		"--washout", "10ms", "--samples", "20", "--out", journal, "--load", "sh -c 'while echo rate; do sleep 0.01; done'")
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	tests.Await(t, "sample", func() bool {
		text, _ := os.ReadFile(journal)
		return bytes.Contains(text, []byte(`{"sample"`))
	})
	require.NoError(t, first.Process.Kill())
	_, _ = first.Process.Wait()
	tests.Pause(100 * time.Millisecond)
	second := programtest.Start(t, "threads", "2")
	join(second.Process.Pid)
	require.NoError(t, tests.Receive(t, "end", over), out.String())
	assert.Contains(t, out.String(), "20 rounds · 60 samples")
	text := tests.Read(t, journal)
	assert.Contains(t, string(text), `"control group `+dir+`: it has ended"`)
	assert.True(t, inherited(t)(second.Process.Pid))
}

// falseClaims runs A against B, equal but for what a load is told to plant, many times, and counts the claims.
func falseClaims(t *testing.T, times int, placements string, plant ...string) (claimed int, warned int) {
	t.Helper()
	var counting sync.Mutex
	var running sync.WaitGroup
	slots := make(chan struct{}, 5) // the program sleeps, and the load too
	for range times {
		program := programtest.Start(t, "threads", "3")
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			pid := strconv.Itoa(program.Process.Pid)
			run, stderr, err := runLive(t, "--pid", pid, "--vary", "placement="+placements, "--metric", "rate=([0-9.]+)", "--better", "higher",
				"--samples", "25", "--load", programtest.Load(t, append([]string{"rates", pid}, plant...)...))
			counting.Lock()
			defer counting.Unlock()
			if !assert.NoError(t, err, stderr) {
				return
			}
			for _, cell := range run.Cells[1:] {
				if k := cell.Verdict.Kind; k == stats.Faster || k == stats.Slower || k == stats.Mixed {
					claimed++
					t.Log(cell.Words)
				}
			}
			for _, w := range run.Warnings {
				if strings.HasPrefix(w.Code, "slow-carry") {
					warned++
				}
			}
		})
	}
	running.Wait()
	return claimed, warned
}

// Two names for one placement, and a cost of 5% for each switch with equal steady states: at most 1 claim in 20. A slowness of 3 s after
// each switch is noticed.
func TestLiveServerFalseClaims(t *testing.T) {
	tests.Target(t, "ci-long")
	a, b, _ := two(t)
	claimed, _ := falseClaims(t, 20, a+","+b)
	assert.LessOrEqual(t, claimed, 1, "A/A")
	claimed, _ = falseClaims(t, 20, a+","+b, "cost=0.05", "cost-for=0.5")
	assert.LessOrEqual(t, claimed, 1, "a cost of each switch")
	_, warned := falseClaims(t, 5, a+","+b, "cost=0.1", "cost-for=3")
	assert.Equal(t, 5, warned, "slow carry-over")
}
