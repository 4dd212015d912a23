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
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/dev/tests"
	"gorun/internal/files/input"
	"gorun/internal/judge/journal"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/start/process"
)

// fault is something that goes wrong while gorun measures: a row of the table in topics/faults.md, and its test.
type fault struct {
	name string
	then string   // what gorun does
	says []string // what it reports, one of these; N is any number, and … any text
	lost string
	test func(*testing.T, fault)
}

// The costs of a fault.
const (
	nothing   = "nothing"
	theSample = "the sample in flight"
)

var faults = []fault{
	{
		"a CPU goes offline, or comes back", "the sample ends and is invalid; the next ones wait up to 2 s for the CPU",
		[]string{
			"CPU N went offline", "CPU N came online", "the CPUs that gorun may use were N and are N", "asked for CPUs N",
			"set the affinity to CPUs N", "it may use only CPU N",
		},
		theSample, losesACPU,
	},
	{
		"a CPU leaves the cpuset of the control group", "the sample ends and is invalid; the next ones wait up to 2 s for the CPU",
		[]string{"the CPUs that gorun may use were N and are N", "asked for CPUs N", "set the affinity to CPUs N"},
		theSample,
		losesACPUOfTheCpuset,
	},
	{
		"another program changes the CPUs that gorun may use (taskset)", "the sample ends and is invalid",
		[]string{"the CPUs that gorun may use were N and are N"},
		theSample, losesItsMask,
	},
	{
		"the CPU quota of the control group shrinks", "the samples are suspect",
		[]string{"the cgroup's CPU quota stopped threads for N s"},
		nothing, shrinkingQuota,
	},
	{
		"a process of a sample is killed", "the sample is invalid; a load begins anew",
		[]string{"killed by SIGKILL"},
		theSample, killedProcess,
	},
	{
		"a process of a command that is measured is stopped (SIGSTOP, Ctrl-Z)", "the sample is suspect",
		[]string{"stopped for N s by a signal"},
		nothing, stopped,
	},
	{
		"gorun is killed", "the journal ends with the last whole sample; --resume goes on after it", nil, theSample, resumeAfterKill,
	},
	{
		"the disk fills under the journal", "the run ends with exit code 1; its result is shown, with the sample that could not be " +
			"stored", []string{"cannot write --out …"}, nothing, fullDisk,
	},
	{
		"the journal is removed", "the run goes on; its result is shown, with exit code 1",
		[]string{"… was removed or replaced during the run, and its samples with it"},
		"the journal", removedJournal,
	},
	{
		"a byte of the journal changes, or its end is cut off", "what reads it refuses it and names the line; a last line that " +
			"is broken is left out", []string{"line N is broken: its checksum is …"}, "the last line", damagedJournal,
	},
	{"the clock is set", "durations stay right", nil, nothing, steppingClock},
}

// Each fault is reported in the words of the table, and costs no more than the table says.
func TestLiveFaults(t *testing.T) {
	tests.Live(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) { f.test(t, f) })
	}
}

const faultsTopic = "topics/faults.md"

// The help topic has the table of faults, with each row as it is tested.
func TestFaultsTopic(t *testing.T) {
	table := "| Fault | What happens | Report | What is lost |\n| --- | --- | --- | --- |\n"
	for _, f := range faults {
		says := "none"
		if len(f.says) > 0 {
			says = "`" + strings.Join(f.says, "` or `") + "`"
		}
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", f.name, f.then, says, f.lost)
	}
	text := tests.Read(t, faultsTopic)
	has := regexp.MustCompile(`(?m)(^\|.*\n)+`).FindString(string(text))
	if *update {
		require.NoError(t, os.WriteFile(faultsTopic, bytes.Replace(text, []byte(has), []byte(table), 1), 0o644))
		return
	}
	assert.Equal(t, table, has, "go test ./cmd/gorun -run TestFaultsTopic -update")
}

// report returns a regular expression that matches each of the reports.
func (f fault) report() *regexp.Regexp {
	var each []string
	for _, words := range f.says {
		words = regexp.MustCompile(`\bN\b`).ReplaceAllString(regexp.QuoteMeta(words), `[0-9.,-]+`)
		each = append(each, strings.ReplaceAll(words, "…", `(.|\n)*`))
	}
	return regexp.MustCompile(strings.Join(each, "|"))
}

// losesACPU takes the second CPU offline during a sample, and online again.
func losesACPU(t *testing.T, f fault) {
	tests.Laboratory(t)
	_, b := twoCPUs(t)
	online := "/sys/devices/system/cpu/cpu" + b + "/online"
	for _, m := range measures {
		if m.name == "contend" {
			continue // on an emulated machine its two threads never work at the same time; c2c has threads of the same kind
		}
		t.Run(m.name, func(t *testing.T) {
			h := harm(t, t.TempDir(), m.args, gorunCommand)
			before := h.awaitAfter(0, true)
			t.Cleanup(func() { write(t, online, "1") })
			write(t, online, "0")
			h.awaitAfter(before, false)
			write(t, online, "1")
			h.lost(f, before)
		})
	}
}

func losesACPUOfTheCpuset(t *testing.T, f fault) {
	tests.Laboratory(t)
	a, b := twoCPUs(t)
	for _, m := range measures {
		if !slices.Contains([]string{"primes pinned", "pair", "matrix", "load"}, m.name) {
			continue // it is noticed in the same way as a CPU that goes offline
		}
		t.Run(m.name, func(t *testing.T) {
			dir, start := grouped(t, "cpuset.cpus", a+","+b)
			h := harm(t, t.TempDir(), m.args, start)
			before := h.awaitAfter(0, true)
			write(t, dir+"/cpuset.cpus", a)
			h.awaitAfter(before, false)
			write(t, dir+"/cpuset.cpus", a+","+b)
			h.lost(f, before)
		})
	}
}

// A sample ends when the CPUs that gorun may use change: from then on it measures something else, and may take a thousand
// times as long.
func losesItsMask(t *testing.T, f fault) {
	cpus := tests.CPUs(t, 2) // one has no other mask
	h := harm(t, t.TempDir(), "pair A B 1000000000 --work pingpong-shm --warmup 0", gorunCommand)
	allowed, err := linux.GetAffinity(h.cmd.Process.Pid)
	require.NoError(t, err)
	h.await("sample in flight", func() bool { return tests.Descendant(t, h.cmd.Process.Pid, process.Command) != 0 })
	h.await("invalid sample", func() bool { // again if the mask changed before the sample began
		require.NoError(t, linux.SetAffinity(h.cmd.Process.Pid, cpuset.Of(cpus[0])))
		tests.Pause(100 * time.Millisecond)
		require.NoError(t, linux.SetAffinity(h.cmd.Process.Pid, allowed))
		return len(h.samples()) > 0
	})
	h.invalid(f, 0, len(h.samples()))
}

// A burner that another program moves costs the sample, and the next one begins with a new load.
func TestLiveLoadIsWatched(t *testing.T) {
	tests.Live(t)
	cpus := tests.CPUs(t, 2)
	h := harm(t, t.TempDir(), "numa --cpus A --mem float --cpu float --preferred-node none --numa-balancing keep --load 20 --buffer 1MiB --settle 500ms --warmup 0", gorunCommand)
	before := h.awaitAfter(0, true)
	require.NoError(t, linux.SetAffinity(tests.Descendant(t, h.cmd.Process.Pid, "load-burner"), cpuset.Of(cpus[1])))
	h.awaitAfter(before, false)
	h.lost(fault{says: []string{"the burner of CPU N: asked for CPUs N, the kernel answers CPUs N"}}, before)
}

func shrinkingQuota(t *testing.T, f fault) {
	tests.Laboratory(t)
	dir, start := grouped(t)
	h := harm(t, t.TempDir(), measures[0].args, start)
	before := h.awaitAfter(0, true)
	write(t, dir+"/cpu.max", "20000 100000")
	h.await(f.says[0], func() bool { return f.report().MatchString(strings.Join(reasons(h.samples()), "\n")) })
	write(t, dir+"/cpu.max", "max")
	run := h.end()
	for i, s := range run.Samples.All() {
		assert.True(t, isMeasured(*s), "%q", s.Quality.Reasons)
		if i < before {
			assert.NotRegexp(t, f.report(), strings.Join(s.Quality.Reasons, "\n"))
		}
	}
}

// When a process of a sample is killed, that sample is lost; the run goes on, and its result is shown.
func killedProcess(t *testing.T, f fault) {
	for _, m := range measures {
		if m.below == "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			h := harm(t, t.TempDir(), m.args, gorunCommand)
			before := h.awaitAfter(0, true)
			kills := 0
			h.await("invalid sample", func() bool { // again if the process was about to end anyway
				if pid := tests.Descendant(t, h.cmd.Process.Pid, m.below); pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
					kills++
					seen := len(h.samples())
					h.await("next sample", func() bool { return len(h.samples()) > seen })
				}
				return slices.ContainsFunc(h.samples(), func(s result.Sample) bool { return !isMeasured(s) })
			})
			assert.LessOrEqual(t, h.lost(f, before), kills)
		})
	}
}

// fullDisk leaves no room in a journal after its first samples: in the laboratory the file system is full; elsewhere the process is limited.
func fullDisk(t *testing.T, f fault) {
	for _, m := range measures {
		t.Run(m.name, func(t *testing.T) {
			dir := t.TempDir()
			disk := tests.Runs("vm")
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
				limitFiles(t, h.cmd.Process.Pid, uint64(info.Size())+10)
			}
			var ended *exec.ExitError
			require.ErrorAs(t, <-h.over, &ended)
			assert.Equal(t, exitFailed, ended.ExitCode())
			assert.Regexp(t, f.report(), h.stderr.String())
			var run result.Run
			require.NoError(t, json.Unmarshal(h.stdout.Bytes(), &run), "%s", h.stderr.String())
			kept := verified(t, h.journal).Run.Samples
			require.Positive(t, kept.Len())
			assert.True(t, run.Partial)
			assert.Equal(t, kept.Len()+1, run.Samples.Len(), "and the one that could not be stored")
			t.Logf("%d samples stored, %d shown: %s", kept.Len(), run.Samples.Len(), h.stderr.String())
		})
	}
}

// limitFiles keeps a process from writing files that are longer, which is an error of write(2) as a full disk is.
func limitFiles(t *testing.T, pid int, bytes uint64) {
	t.Helper()
	most := [2]uint64{bytes, bytes}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&most)), 0, 0, 0)
	require.Zero(t, errno)
}

func removedJournal(t *testing.T, f fault) {
	gate := newGate(t)
	h := harm(t, t.TempDir(), "matrix exec --nice 0,1 --warmup 0 --samples 2 -- "+gate.command, gorunCommand)
	h.await("sample", func() bool {
		gate.open()
		return len(h.samples()) > 0
	})
	require.NoError(t, os.Remove(h.journal))
	var ended *exec.ExitError
	require.ErrorAs(t, gate.openUntil(h.over), &ended)
	assert.Equal(t, exitFailed, ended.ExitCode())
	assert.Regexp(t, f.report(), h.stderr.String())
	var run result.Run
	require.NoError(t, json.Unmarshal(h.stdout.Bytes(), &run))
	assert.Equal(t, 6, run.Samples.Len(), "two rounds of two cells and the control")
}

// damagedJournal changes a byte of a journal. internal/judge/journal tests the changes of each kind of byte.
func damagedJournal(t *testing.T, f fault) {
	archive, err := txtar.ParseFile("../../testdata/runs/exec.txtar")
	require.NoError(t, err)
	at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "run.jsonl" })
	text := archive.Files[at].Data
	text[10] ^= 1
	path := filepath.Join(t.TempDir(), "run.jsonl")
	require.NoError(t, os.WriteFile(path, text, 0o644))
	_, err = journal.Read(t.Context(), input.Opener{}, path, render.Views(rows).Known)
	require.Regexp(t, f.report(), err)
}

func steppingClock(t *testing.T, _ fault) {
	tests.Laboratory(t)
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
	for _, s := range run.Samples.All() {
		assert.True(t, isMeasured(*s))
		assert.Zero(t, *s.Quality.Signals.SuspendedSeconds)
		sum += s.Seconds
	}
	assert.Less(t, sum, took)
}
