package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/cpuset"
	"gorun/internal/journal"
	"gorun/internal/linux"
	"gorun/internal/render"
	"gorun/internal/result"
)

// fault is what goes wrong while gorun measures: a row of the table in topics/faults.md, and what holds it.
type fault struct {
	name string
	then string // what gorun does
	says string // what it reports, one way or another ("or"); N is any number, and … any text
	lost string
	test func(*testing.T, fault)
}

// What a fault costs.
const (
	nothing   = "nothing"
	theSample = "the sample in flight"
)

var faults = []fault{
	{
		"a CPU goes offline, or is back again", "the sample ends and is invalid; the next ones wait up to 2 s for the CPU",
		"CPU N went offline or the CPUs that gorun may use were N and are N or asked for CPUs N or set the affinity to CPUs N " +
			"or it may use CPU N only", theSample, losesACPU,
	},
	{
		"a CPU leaves the cpuset of the control group", "as above", "the CPUs that gorun may use were N and are N or asked for CPUs N or set the affinity to CPUs N", theSample,
		losesACPUOfTheCpuset,
	},
	{
		"another program changes the CPUs that gorun may use (taskset)", "the sample ends and is invalid",
		"the CPUs that gorun may use were N and are N", theSample, losesItsMask,
	},
	{
		"the CPU quota of the control group shrinks", "the samples are suspect", "the cgroup's CPU quota stopped threads for N s",
		nothing, shrinkingQuota,
	},
	{
		"a process of a sample is killed", "the sample is invalid; a load begins anew", "killed by SIGKILL", theSample,
		killedProcess,
	},
	{
		"a process of a sample is stopped (SIGSTOP, Ctrl-Z)", "the sample is suspect", "stopped for N s by a signal", nothing,
		stopped,
	},
	{
		"gorun is killed", "the journal ends with the last whole sample; --resume goes on after it", "", theSample, killedItself,
	},
	{
		"the disk fills under the journal", "the run ends with exit code 1; its result is shown, with the sample that could not be " +
			"stored", "cannot write --out …", nothing, fullDisk,
	},
	{
		"the journal is removed", "the run goes on; its result is shown, with exit code 1",
		"… was removed or replaced during the run, and its samples with it", "the journal", removedJournal,
	},
	{
		"a byte of the journal changes, or its end is cut off", "what reads it refuses it and names the line; a last line that " +
			"is broken is left out", "line N is broken: its checksum is …", "the last line", damagedJournal,
	},
	{
		"two runs measure at once", "each reports the other one; where they share CPUs, the samples are suspect",
		"another run of gorun measured at the same time (PID N: …)", nothing, twoRuns,
	},
	{"the clock is set", "durations are right", "", nothing, steppingClock},
}

// Each fault is reported in the words of the table, and costs no more than it says.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) { f.test(t, f) })
	}
}

const faultsTopic = "topics/faults.md"

// The table of the help topic is this one.
func TestFaultsTopic(t *testing.T) {
	table := "| Fault | What happens | Report | What is lost |\n| --- | --- | --- | --- |\n"
	for _, f := range faults {
		says := "none"
		if f.says != "" {
			says = "`" + strings.ReplaceAll(f.says, " or ", "` or `") + "`"
		}
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", f.name, f.then, says, f.lost)
	}
	text, err := os.ReadFile(faultsTopic)
	require.NoError(t, err)
	is := regexp.MustCompile(`(?m)(^\|.*\n)+`).FindString(string(text))
	if *update {
		require.NoError(t, os.WriteFile(faultsTopic, bytes.Replace(text, []byte(is), []byte(table), 1), 0o644))
		return
	}
	assert.Equal(t, table, is, "go test ./cmd/gorun -run TestFaultsTopic -update")
}

// report matches what is reported.
func (f fault) report() *regexp.Regexp {
	words := regexp.QuoteMeta(f.says)
	words = regexp.MustCompile(`\bN\b`).ReplaceAllString(words, `[0-9.,-]+`)
	return regexp.MustCompile(strings.NewReplacer("…", `(.|\n)*`, " or ", "|").Replace(words))
}

// laboratory skips what harms the machine, unless that is one of the laboratory (testdata/vm).
func laboratory(t *testing.T) {
	t.Helper()
	if os.Getenv("GORUN_LABORATORY") == "" {
		t.Skip("it harms the machine: make vm does it in a virtual one")
	}
}

// measures are a run of each kind that lasts until it is ended, on two CPUs A and B.
var measures = []struct {
	name, args string
	below      string // a word of the command line of a process of its own, which ends with its sample; "": it has none
}{
	{"primes", "primes --cpus A,B --limit 20000 --warmup 0", ""},
	{"primes pinned", "primes --cpus A,B --limit 20000 --warmup 0 --pin-cpus A,B", ""},
	{"primes pin-thread", "primes --cpus A,B --limit 20000 --warmup 0 --pin-thread", ""},
	{"pair", "pair A B 500 --work pingpong-pipe --warmup 0", "pair-side"},
	{"bind", "bind --cpus A,B --processes 2 --checks 100000 --array 1MiB --passes 1", "bind-process"},
	{"contend", "contend --cpus A,B --op inc", ""},
	{"c2c", "c2c --cpus A,B --warmup 0", ""},
	{"futex", "futex A B --round-trips 200 --warmup 0", ""},
	{
		"numa", "numa --cpus A,B --mem float --cpu 0 --preferred-node none --numa-balancing keep --load 0 --buffer 1MiB --warmup 0",
		"numa-probe",
	},
	{"load", "numa --load-only --load 20 --cpus A,B --duration 10m", "load-burner"},
	{"exec", "exec --cpus A,B --placements unbound,one-cpu --warmup 0 -- sleep 0.1", "sleep"},
	{"matrix", "matrix primes --cpus A,B --limit 5000,5001 --pin-cpus B --warmup 0", "sample"},
}

// harmed is a run that a fault happens to.
type harmed struct {
	*testing.T
	cmd            *exec.Cmd
	journal        string
	stdout, stderr bytes.Buffer
	over           chan error // how it ended
}

// twoCPUs are the first two that this process may use, or the same one twice.
func twoCPUs(t *testing.T) (a, b string) {
	t.Helper()
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	list := allowed.List()
	return strconv.Itoa(list[0]), strconv.Itoa(list[min(1, len(list)-1)])
}

// harm starts a run, whose journal is in a directory.
func harm(t *testing.T, dir, args string, start func(args ...string) *exec.Cmd) *harmed {
	t.Helper()
	if !linux.Cgo {
		t.Skip("a build without cgo has no kernels, and looks when a sample begins and when it ends")
	}
	h := &harmed{T: t, journal: filepath.Join(dir, "run.jsonl"), over: make(chan error, 1)}
	a, b := twoCPUs(t)
	words := strings.Fields(args)
	if words[0] == "c2c" && a == b {
		t.Skip("a pair needs two CPUs")
	}
	for i, word := range words {
		switch word {
		case "A", "B", "A,B":
			words[i] = strings.NewReplacer("A", a, "B", b).Replace(word)
		}
	}
	own := []string{"--quiet", "--format", "json", "--out", h.journal}
	if !slices.Contains(words, "--duration") && !slices.Contains(words, "--samples") {
		own = append(own, "--samples", "100000", "--budget", "20m")
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

// samples are those in the journal.
func (h *harmed) samples() []result.Sample {
	text, _ := os.ReadFile(h.journal)
	rec, err := result.ReadJournal(bytes.NewReader(text))
	if err != nil {
		return nil
	}
	return rec.Run.Samples
}

// await waits for something, for a minute at most. A run that ends meanwhile has failed.
func (h *harmed) await(what string, is func() bool) {
	h.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-h.over:
			h.Fatalf("it ended (%v) before %s: %s\n%s", err, what, h.stderr.String(), h.stdout.String())
		default:
		}
		if time.Now().After(end) {
			h.Fatalf("no %s within a minute: %s", what, reasons(h.samples()))
		}
	}
}

// awaitAfter waits for a sample after the first n that is measured, or for one that is not.
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

func isMeasured(s result.Sample) bool { return s.Quality.Verdict != result.Invalid }

func reasons(samples []result.Sample) (all []string) {
	for _, s := range samples {
		all = append(all, s.Quality.Reasons...)
	}
	return all
}

// end interrupts the run, and returns its result, which its journal holds too.
func (h *harmed) end() (run result.Run) {
	h.Helper()
	require.NoError(h, h.cmd.Process.Signal(syscall.SIGINT))
	<-h.over
	require.NoError(h, json.Unmarshal(h.stdout.Bytes(), &run), "%s%s", h.stdout.String(), h.stderr.String())
	verified(h.T, h.journal)
	return run
}

func verified(t *testing.T, path string) journal.Recording {
	t.Helper()
	rec, err := journal.Read(path, render.Views(rows).Known)
	require.NoError(t, err)
	return rec
}

// lost holds that a run's invalid samples are those that the fault cost: most, from the sample that was in flight on.
func (h *harmed) lost(f fault, from, most int) {
	h.Helper()
	run := h.end()
	lost := 0
	for i, s := range run.Samples {
		if isMeasured(s) {
			continue
		}
		lost++
		assert.GreaterOrEqual(h, i, from, "a sample before the fault")
		assert.Regexp(h, f.report(), strings.Join(s.Quality.Reasons, "\n"))
	}
	assert.Positive(h, lost)
	assert.LessOrEqual(h, lost, most, "%q", reasons(run.Samples))
	h.Logf("%d of %d samples lost", lost, len(run.Samples))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// losesACPU takes the second CPU away while a sample is taken, and brings it back.
func losesACPU(t *testing.T, f fault) {
	laboratory(t)
	_, b := twoCPUs(t)
	online := "/sys/devices/system/cpu/cpu" + b + "/online"
	for _, m := range measures {
		if m.name == "contend" {
			continue // its threads, which c2c has too, are never at work at the same time on an emulated machine
		}
		t.Run(m.name, func(t *testing.T) {
			h := harm(t, t.TempDir(), m.args, gorunCommand)
			before := h.awaitAfter(0, true)
			t.Cleanup(func() { write(t, online, "1") })
			write(t, online, "0")
			h.awaitAfter(before, false)
			write(t, online, "1")
			h.awaitAfter(len(h.samples()), true)
			h.lost(f, before, 2) // the next sample may have begun when the CPU went
		})
	}
}

// grouped starts gorun in a control group of its own, with these files in it.
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
		for end := time.Now().Add(10 * time.Second); os.Remove(dir) != nil && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond) // its processes are about to end
		}
	})
	return dir, func(args ...string) *exec.Cmd {
		cmd := gorunCommand(args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
		return cmd
	}
}

func losesACPUOfTheCpuset(t *testing.T, f fault) {
	laboratory(t)
	a, b := twoCPUs(t)
	for _, m := range measures {
		if !slices.Contains([]string{"primes pinned", "pair", "matrix", "load"}, m.name) {
			continue // it is noticed as a CPU that is gone is
		}
		t.Run(m.name, func(t *testing.T) {
			dir, start := grouped(t, "cpuset.cpus", a+","+b)
			h := harm(t, t.TempDir(), m.args, start)
			before := h.awaitAfter(0, true)
			write(t, dir+"/cpuset.cpus", a)
			h.awaitAfter(before, false)
			write(t, dir+"/cpuset.cpus", a+","+b)
			h.awaitAfter(len(h.samples()), true)
			h.lost(f, before, 2)
		})
	}
}

// A sample ends when the CPUs change that gorun may use: what it measures from then on is not what was asked, and may
// take a thousand times as long.
func losesItsMask(t *testing.T, f fault) {
	a, b := twoCPUs(t)
	if a == b {
		t.Skip("with one CPU there is no other mask")
	}
	both, err := cpuset.Parse(a + "," + b)
	require.NoError(t, err)
	h := harm(t, t.TempDir(), "pair A B 1000000000 --work pingpong-shm --warmup 0", gorunCommand)
	allowed, err := linux.GetAffinity(h.cmd.Process.Pid)
	require.NoError(t, err)
	h.await("sample in flight", func() bool { return len(children(t, h.cmd.Process.Pid)) == 2 })
	h.await("invalid sample", func() bool { // a change before the sample began is none within it
		require.NoError(t, linux.SetAffinity(h.cmd.Process.Pid, cpuset.Of(both.First())))
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, linux.SetAffinity(h.cmd.Process.Pid, allowed))
		return len(h.samples()) > 0
	})
	h.lost(f, 0, 2)
}

// A burner that another program moves costs the sample, and the next one begins with a new load.
func TestLoadIsWatched(t *testing.T) {
	a, b := twoCPUs(t)
	if a == b {
		t.Skip("with one CPU there is no other mask")
	}
	h := harm(t, t.TempDir(), "numa --load-only --load 20 --cpus A --duration 10m", gorunCommand)
	before := h.awaitAfter(0, true)
	other, err := cpuset.Parse(b)
	require.NoError(t, err)
	require.NoError(t, linux.SetAffinity(below(t, h.cmd.Process.Pid, "load-burner"), other))
	h.awaitAfter(before, false)
	h.awaitAfter(len(h.samples()), true)
	h.lost(fault{says: "the burner of CPU N: asked for CPUs N, the kernel answers CPUs N"}, before, 1)
}

func shrinkingQuota(t *testing.T, f fault) {
	laboratory(t)
	dir, start := grouped(t)
	h := harm(t, t.TempDir(), measures[0].args, start)
	before := h.awaitAfter(0, true)
	write(t, dir+"/cpu.max", "20000 100000")
	h.await(f.says, func() bool { return f.report().MatchString(strings.Join(reasons(h.samples()), "\n")) })
	write(t, dir+"/cpu.max", "max")
	run := h.end()
	for i, s := range run.Samples {
		assert.True(t, isMeasured(s), "%q", s.Quality.Reasons)
		if i < before {
			assert.NotRegexp(t, f.report(), strings.Join(s.Quality.Reasons, "\n"))
		}
	}
}

// A process of a sample that is killed costs that sample: the run goes on, and its result is shown.
func killedProcess(t *testing.T, f fault) {
	for _, m := range measures {
		if m.below == "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			h := harm(t, t.TempDir(), m.args, gorunCommand)
			before := h.awaitAfter(0, true)
			h.await("invalid sample", func() bool { // one that was about to end is not missed
				if slices.ContainsFunc(h.samples(), func(s result.Sample) bool { return !isMeasured(s) }) {
					return true
				}
				if pid := below(t, h.cmd.Process.Pid, m.below); pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
					time.Sleep(200 * time.Millisecond)
				}
				return false
			})
			h.awaitAfter(len(h.samples()), true)
			h.lost(f, before, 2)
		})
	}
}

// A run that is killed goes on where its journal ends.
func killedItself(t *testing.T, _ fault) {
	dir := t.TempDir()
	h := harm(t, dir, "matrix primes --limit 3000,4000 --method brute --kernel go --warmup 0 --samples 100000 --budget 20m", gorunCommand)
	h.await("sample", func() bool { return len(h.samples()) > 2 })
	require.NoError(t, h.cmd.Process.Kill())
	<-h.over
	kept := h.samples()
	h = harm(t, dir, "matrix primes --limit 3000,4000 --method brute --kernel go --warmup 0 --samples 100000 --budget 20m --resume", gorunCommand)
	h.await("sample", func() bool { return len(h.samples()) > len(kept) })
	run := h.end()
	assert.Equal(t, kept, run.Samples[:len(kept)])
}

// fullDisk leaves a journal that has a sample no room for more: in the laboratory the file system is full, elsewhere the
// process may write no longer files, which is an error of write(2) too.
func fullDisk(t *testing.T, f fault) {
	for _, m := range measures {
		t.Run(m.name, func(t *testing.T) {
			dir := t.TempDir()
			disk := os.Getenv("GORUN_LABORATORY") != ""
			if disk {
				require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"))
				t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
			}
			h := harm(t, dir, m.args, gorunCommand)
			h.await("sample", func() bool { return len(h.samples()) > 0 })
			if disk {
				require.ErrorIs(t, os.WriteFile(dir+"/full", make([]byte, 64<<10), 0o644), syscall.ENOSPC)
			} else {
				info, err := os.Stat(h.journal)
				require.NoError(t, err)
				most := [2]uint64{uint64(info.Size()) + 10, uint64(info.Size()) + 10}
				_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(h.cmd.Process.Pid), syscall.RLIMIT_FSIZE,
					uintptr(unsafe.Pointer(&most)), 0, 0, 0)
				require.Zero(t, errno)
			}
			var ended *exec.ExitError
			require.ErrorAs(t, <-h.over, &ended)
			assert.Equal(t, exitFailed, ended.ExitCode())
			assert.Regexp(t, f.report(), h.stderr.String())
			var run result.Run
			require.NoError(t, json.Unmarshal(h.stdout.Bytes(), &run), "%s", h.stderr.String())
			kept := verified(t, h.journal).Run.Samples
			require.NotEmpty(t, kept)
			assert.True(t, run.Partial)
			assert.Len(t, run.Samples, len(kept)+1, "and the one that could not be stored")
			t.Logf("%d samples stored, %d shown: %s", len(kept), len(run.Samples), h.stderr.String())
		})
	}
}

func removedJournal(t *testing.T, f fault) {
	h := harm(t, t.TempDir(), "primes --limit 3000 --warmup 0 --samples 20", gorunCommand)
	h.await("sample", func() bool { return len(h.samples()) > 0 })
	require.NoError(t, os.Remove(h.journal))
	var ended *exec.ExitError
	require.ErrorAs(t, <-h.over, &ended)
	assert.Equal(t, exitFailed, ended.ExitCode())
	assert.Regexp(t, f.report(), h.stderr.String())
	var run result.Run
	require.NoError(t, json.Unmarshal(h.stdout.Bytes(), &run))
	assert.Len(t, run.Samples, 20)
}

// Two runs that measure at once report each other, whichever began first; a run within another one's command is no such.
func twoRuns(t *testing.T, f fault) {
	apart := func(args ...string) *exec.Cmd {
		cmd := gorunCommand(args...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("GORUN_TEST_MEETING=gorun/%s/%d", t.Name(), os.Getpid()))
		return cmd
	}
	const args = "primes --limit 3000 --warmup 0"
	first := harm(t, t.TempDir(), args, apart)
	first.awaitAfter(0, true)
	second := harm(t, t.TempDir(), args, apart)
	second.awaitAfter(0, true)
	for _, runs := range [][2]*harmed{{second, first}, {first, second}} {
		var met []string
		for _, w := range runs[0].end().Warnings {
			if w.Code == "other-run" {
				met = append(met, w.Message)
			}
		}
		require.Len(t, met, 1)
		assert.Regexp(t, f.report(), met[0])
		assert.Contains(t, met[0], fmt.Sprintf("PID %d: gorun primes --limit 3000 ", runs[1].cmd.Process.Pid))
	}

	inner := filepath.Join(t.TempDir(), "inner")
	within := apart("matrix", "exec", "--nice", "0,1", "--samples", "2", "--warmup", "0", "--quiet", "--format", "json",
		"--", "sh", "-c", "gorun primes --limit 1000 --samples 1 --quiet --format json >>"+inner)
	out, err := within.CombinedOutput()
	require.NoError(t, err, "%s", out)
	shown, err := os.ReadFile(inner)
	require.NoError(t, err)
	assert.Contains(t, string(shown), `"samples"`)
	assert.NotContains(t, string(out)+string(shown), "other-run")
}

// damagedJournal changes and cuts a journal at every byte.
func damagedJournal(t *testing.T, f fault) {
	archive, err := txtar.ParseFile("../../testdata/runs/exec.txtar")
	require.NoError(t, err)
	at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "run.jsonl" })
	text := archive.Files[at].Data
	lines := bytes.Count(text, []byte("\n"))
	read := func(text []byte) (journal.Recording, error) {
		rec, err := result.ReadJournal(bytes.NewReader(text))
		if err != nil {
			return journal.Recording{}, err
		}
		return journal.Check(rec, render.Views(rows).Known)
	}
	whole, err := read(text)
	require.NoError(t, err)
	step := 1
	if testing.Short() || raced {
		step = 7
	}
	for i := 0; i < len(text); i += step {
		line := 1 + bytes.Count(text[:i], []byte("\n"))
		for bit := range 8 {
			if step > 1 && bit != i/step%8 {
				continue
			}
			changed := bytes.Clone(text)
			changed[i] ^= 1 << bit
			rec, err := read(changed)
			switch {
			case text[i] == '\n' && line == lines-1: // it and the last one are now one, which is torn
				require.NoError(t, err)
				require.True(t, rec.Torn)
			case line == lines: // as of a run that was killed
				if err != nil { // the checksum's name has changed
					require.ErrorContains(t, err, fmt.Sprintf("line %d: ", line), "byte %d", i)
					continue
				}
				require.True(t, rec.Torn)
				require.Equal(t, whole.Run.Samples, rec.Run.Samples)
			default:
				require.Regexp(t, fmt.Sprintf(`\bline %d\b|no whole line|journal`, line), err, "byte %d", i)
			}
		}
		rec, err := read(text[:i])
		if line == 1 {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, "cut at byte %d", i)
		require.Equal(t, line-1, rec.Lines)
		require.Equal(t, whole.Run.Samples[:min(line-2, len(whole.Run.Samples))], rec.Run.Samples)
	}
	changed := bytes.Clone(text)
	changed[10] ^= 1
	_, err = read(changed)
	require.Regexp(t, f.report(), err)
}

func steppingClock(t *testing.T, _ fault) {
	laboratory(t)
	h := harm(t, t.TempDir(), measures[0].args, gorunCommand)
	begun := time.Now()
	for _, step := range []time.Duration{time.Hour, -2 * time.Hour, time.Hour} {
		h.awaitAfter(len(h.samples()), true)
		now := syscall.NsecToTimeval(time.Now().Add(step).UnixNano())
		require.NoError(t, syscall.Settimeofday(&now))
	}
	h.awaitAfter(len(h.samples()), true)
	run, took := h.end(), time.Since(begun).Seconds()
	sum := 0.0
	for _, s := range run.Samples {
		assert.True(t, isMeasured(s))
		assert.Zero(t, *s.Quality.Signals.SuspendedSeconds)
		sum += s.Seconds
	}
	assert.Less(t, sum, took)
}
