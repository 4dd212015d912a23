package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/files/input"
	"gorun/internal/judge/journal"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

// measures has one endless run of each kind, on two CPUs A and B.
var measures = []struct {
	name, args string
	below      string // a word in the command line of a process that takes its samples; "": gorun takes them itself
}{
	{"primes", "primes --cpus A,B --limit 20000 --warmup 0", ""},
	{"primes pinned", "primes --cpus A,B --limit 20000 --warmup 0 --pin-cpus A,B", ""},
	{"primes pin-thread", "primes --cpus A,B --limit 20000 --warmup 0 --pin-thread", ""},
	{"pair", "pair A B 500 --work pingpong-pipe --warmup 0", "copy-work"},
	{"bind", "bind --cpus A,B --processes 2 --checks 1000000 --array 1MiB --passes 1", "copy-work"},
	{"contend", "contend --cpus A,B --op inc --count 1000000", ""},
	{"c2c", "c2c --cpus A,B --warmup 0", ""},
	{"futex", "futex A B --round-trips 200 --warmup 0", ""},
	{"migrate", "migrate --cpus A,B --working-set 16KiB --moves 10 --warmup 0", ""},
	{
		"numa", "numa --cpus A,B --mem float --cpu 0 --preferred-node none --numa-balancing keep --load 0 --buffer 1MiB --warmup 0",
		"numa-probe",
	},
	{
		"load", "numa --cpus A,B --mem float --cpu float --preferred-node none --numa-balancing keep --load 20 --buffer 1MiB --settle 500ms --warmup 0",
		"load-burner",
	},
	{"exec", "exec --cpus A,B --placements unbound,one-cpu --warmup 0 -- sleep 0.1", launch.SupervisorCommand},
	{"matrix", "matrix primes --cpus A,B --limit 5000,5001 --pin-cpus B --warmup 0", "sample"},
}

// harmed is a run to which a fault happens.
type harmed struct {
	*testing.T
	cmd            *exec.Cmd
	journal        string
	size           int64           // size of the journal when it was last read
	have           []result.Sample // the samples that it had then
	stdout, stderr bytes.Buffer
	over           chan error // receives the run's error when it has ended
}

// allowed returns the CPUs that this process may use.
func allowed(t testing.TB) cpuset.Set {
	t.Helper()
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	return cpus
}

// twoCPUs returns the first two CPUs that this process may use, or its only one twice.
func twoCPUs(t *testing.T) (a, b string) {
	t.Helper()
	list := allowed(t).List()
	return strconv.Itoa(list[0]), strconv.Itoa(list[min(1, len(list)-1)])
}

// A gate is a command that lasts until the test opens it: it reads a line of a named pipe.
type gate struct {
	*testing.T
	pipe, command string
}

func newGate(t *testing.T) gate {
	t.Helper()
	dir := t.TempDir()
	g := gate{t, dir + "/pipe", dir + "/gate"}
	require.NoError(t, syscall.Mkfifo(g.pipe, 0o600))
	require.NoError(t, os.WriteFile(g.command, []byte("#!/bin/sh\nread line <"+g.pipe+"\n"), 0o700))
	return g
}

// open ends the command, and reports whether it ran.
func (g gate) open() (ran bool) {
	g.Helper()
	pipe, err := os.OpenFile(g.pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return false // nobody reads
	}
	require.NoError(g, err)
	_, err = pipe.WriteString("\n")
	require.NoError(g, pipe.Close())
	return err == nil // the reader may have been killed
}

// openUntil ends the command again and again until the run is over, whose error it returns.
func (g gate) openUntil(over <-chan error) (err error) {
	g.Helper()
	tests.Await(g, "end", func() bool {
		g.open()
		select {
		case err = <-over:
			return true
		default:
			return false
		}
	})
	return err
}

// harm starts a run of measures by a command that start makes, with its journal in dir.
func harm(t *testing.T, dir, args string, start func(args ...string) *exec.Cmd) *harmed {
	t.Helper()
	h := &harmed{T: t, journal: filepath.Join(dir, "run.jsonl"), over: make(chan error, 1)}
	a, b := twoCPUs(t)
	words := strings.Fields(args)
	if words[0] == "c2c" {
		tests.CPUs(t, 2) // for a pair of them
	}
	for i, word := range words {
		switch word {
		case "A", "B", "A,B":
			words[i] = strings.NewReplacer("A", a, "B", b).Replace(word)
		}
	}
	own := []string{"--quiet", "--format", "json", "--out", h.journal}
	if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains([]string{"--duration", "--samples", "--trials"}, w) }) {
		own = append(own, "--samples", "100000000", "--budget", "100000h")
		if words[0] == "bind" {
			own = append(own[:5], "--trials", "1000")
		}
	}
	at := slices.Index(words, "--")
	if at < 0 {
		at = len(words)
	}
	h.cmd = start(slices.Insert(words, at, own...)...)
	h.cmd.Stdout, h.cmd.Stderr = &h.stdout, &h.stderr
	require.NoError(t, h.cmd.Start())
	go func() { h.over <- h.cmd.Wait() }()
	t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	return h
}

// samples returns the samples in the journal so far.
func (h *harmed) samples() []result.Sample {
	info, err := os.Stat(h.journal)
	if err != nil || info.Size() == h.size {
		return h.have
	}
	if rec, err := journal.Read(context.Background(), input.Opener{}, h.journal, render.Views(rows).Known); err == nil {
		h.size, h.have = info.Size(), tests.Values(rec.Run.Samples.All())
	}
	return h.have
}

// await waits until a condition is true. It fails if the run ends before.
func (h *harmed) await(what string, is func() bool) {
	h.Helper()
	tests.Await(h, what, func() bool {
		if is() {
			return true
		}
		select {
		case err := <-h.over:
			h.Fatalf("it ended (%v) before %s: %s\n%s", err, what, h.stderr.String(), h.stdout.String())
		default:
		}
		return false
	})
}

// awaitAfter waits until one of the samples after the first n is measured, or is invalid, and returns how many there are.
func (h *harmed) awaitAfter(n int, measured bool) (samples int) {
	h.Helper()
	what := map[bool]string{true: "sample that is measured", false: "invalid sample"}[measured]
	h.await(what, func() bool {
		all := h.samples()
		samples = len(all)
		return slices.ContainsFunc(all[min(n, samples):], func(s result.Sample) bool { return isMeasured(s) == measured })
	})
	return samples
}

func isMeasured(s result.Sample) bool { return s.Quality.Grade != result.Invalid }

func reasons(samples []result.Sample) (all []string) {
	for _, s := range samples {
		all = append(all, s.Quality.Reasons...)
	}
	return all
}

// end interrupts the run, and returns its result. Its journal must be sound.
func (h *harmed) end() (run result.Run) {
	h.Helper()
	require.NoError(h, h.cmd.Process.Signal(syscall.SIGINT))
	<-h.over
	require.NoError(h, json.Unmarshal(h.stdout.Bytes(), &run), "%s%s", h.stdout.String(), h.stderr.String())
	verified(h.T, h.journal)
	return run
}

func verified(t *testing.T, path string) *journal.Recording {
	t.Helper()
	rec, err := journal.Read(t.Context(), input.Opener{}, path, render.Views(rows).Known)
	require.NoError(t, err)
	return rec
}

// lost ends the run some samples after the fault is over, and requires that the fault cost at least one: none before the sample
// from, which was in flight, and none but the one or two that had begun when it was over. It returns how many were lost.
func (h *harmed) lost(f fault, from int) (lost int) {
	h.Helper()
	over := len(h.samples())
	h.awaitAfter(over+1, true)
	return h.invalid(f, from, over+1)
}

// invalid ends the run, and returns the number of its invalid samples. There is at least one; all of them are between two samples,
// and report the fault.
func (h *harmed) invalid(f fault, from, to int) (invalid int) {
	h.Helper()
	run := h.end()
	for i, s := range run.Samples.All() {
		if isMeasured(*s) {
			continue
		}
		invalid++
		assert.GreaterOrEqual(h, i, from, "a sample before the fault")
		assert.LessOrEqual(h, i, to, "a sample after the fault: %q", s.Quality.Reasons)
		assert.Regexp(h, f.report(), strings.Join(s.Quality.Reasons, "\n"))
	}
	assert.Positive(h, invalid)
	h.Logf("%d of %d samples lost", invalid, run.Samples.Len())
	return invalid
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// grouped makes a control group, writes files in it (their names and contents, in turn), and returns how gorun is started
// there.
func grouped(t *testing.T, files ...string) (dir string, start func(args ...string) *exec.Cmd) {
	t.Helper()
	dir = "/sys/fs/cgroup/" + strings.NewReplacer("/", ".", " ", "_").Replace(t.Name())
	require.NoError(t, os.Mkdir(dir, 0o755))
	for i := 0; i < len(files); i += 2 {
		write(t, dir+"/"+files[i], files[i+1])
	}
	group, err := os.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() {
		group.Close()
		tests.Await(t, "end of its processes", func() bool { return os.Remove(dir) == nil })
	})
	return dir, func(args ...string) *exec.Cmd {
		cmd := gorunCommand(args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
		return cmd
	}
}
