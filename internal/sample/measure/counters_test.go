package measure

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
)

const statLines = `cpu  40 4 8 100 1 2 2 4 0 0
cpu0 10 1 2 50 0 1 1 2 5 0
cpu1 30 3 6 50 1 1 1 2 0 0
intr 12345 0 0
`

// counted has every file that is read before and after a sample, and the signals that are lost without it. The clock rate is not a
// disturbance, and most virtual machines do not show it: it is absent without a warning.
var counted = []struct {
	name, content string
	lost          []string
	spared        bool // if the file is absent, and not only damaged, nothing is lost
}{
	{name: "proc/stat", content: statLines, lost: []string{"steal_seconds", "other_seconds"}},
	// A thread has ended meanwhile.
	{"proc/self/task/7/schedstat", "1000 2500000000 3\n", []string{"run_queue_seconds"}, true},
	{"proc/self/task/8/schedstat", "0 500000000 1\n", []string{"run_queue_seconds"}, true},
	{name: "proc/pressure/cpu", content: "some avg10=0.00 total=1500000\nfull avg10=0.00 total=0\n", lost: []string{"cpu_pressure_seconds"}},
	{name: "proc/self/cgroup", content: "0::/a\n", lost: throttled},
	{name: "proc/self/mountinfo", content: "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", lost: throttled},
	{"sys/fs/cgroup/a/cpu.max", "150000 100000\n", throttled, true}, // cpu.stat has the counters
	{name: "sys/fs/cgroup/a/cpu.stat", content: "nr_periods 4\nnr_throttled 2\nthrottled_usec 2000000\n", lost: throttled},
	{name: "proc/self/status", content: "Name:\tgorun\nVmHWM:\t  2048 kB\n", lost: []string{"memory_peak_bytes"}},
	{name: cpuDir(0) + clockRate, content: "2000000\n", lost: []string{"mhz"}},
	{name: cpuDir(1) + clockRate, content: "3000000\n", lost: []string{"mhz"}},
}

var throttled = []string{"throttled_seconds"}

const clockRate = "cpufreq/scaling_cur_freq"

// whole returns a machine with these files.
func whole() map[string]string {
	files := map[string]string{}
	for _, file := range counted {
		files[file.name] = file.content
	}
	return files
}

func filesOf(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

// signalsOf returns the names of the signals that a sample on such a machine has, and the warnings of its run.
func signalsOf(t *testing.T, files map[string]string, outside bool) (names []string, warnings []result.Warning) {
	t.Helper()
	w := newWatcher(filesOf(files), cpuset.Range(0, 1))
	w.outside = outside
	warnings = w.lacking()
	s := result.Sample{Seconds: 1, Placement: result.Placement{Verified: true}}
	s.Values = result.FiguresOf(&struct{ result.OwnProcess }{})
	before, after := w.read(), w.read()
	after.at = before.at.Add(time.Second)
	w.finish(&s, Canary(), before, after)
	text, err := json.Marshal(s.Quality.Signals)
	require.NoError(t, err)
	var signals map[string]any
	require.NoError(t, json.Unmarshal(text, &signals))
	if s.Values.Own().MemoryPeakBytes != nil {
		signals["memory_peak_bytes"] = true
	}
	return slices.Sorted(maps.Keys(signals)), warnings
}

func TestCounters(t *testing.T) {
	root := filesOf(whole())
	times, err := readStat(root, cpuset.Range(0, 1))
	require.NoError(t, err)
	assert.InDelta(t, 0.04, times.steal, 1e-12)
	assert.InDelta(t, 0.15+0.41, times.busy, 1e-12)
	assert.InDelta(t, 0.04, times.interrupts, 1e-12)
	times, err = readStat(root, cpuset.Of(1))
	require.NoError(t, err)
	assert.InDelta(t, 0.02, times.steal, 1e-12)
	assert.InDelta(t, 0.41, times.busy, 1e-12)
	// A CPU that is offline has no line: the time of the others is not part of the sum that begins when it is back.
	_, err = readStat(root, cpuset.Range(0, 2))
	require.ErrorContains(t, err, "no line of CPU 2")
	turns, err := readTurns(root)
	require.NoError(t, err)
	assert.InDelta(t, 3, *waited(turns), 1e-12)
	pressure, err := readPressure(root, "cpu")
	require.NoError(t, err)
	assert.InDelta(t, 1.5, pressure, 1e-12)
}

// If any file is hidden, empty or malformed, its signals are absent from the sample, the run has a warning that names
// the file, and all other signals are present.
func TestHiddenFilesAreNotZeros(t *testing.T) {
	all, warnings := signalsOf(t, whole(), false)
	require.Empty(t, warnings)
	without := func(files map[string]string, name string, lost []string) {
		t.Helper()
		require.Subset(t, all, lost)
		got, warnings := signalsOf(t, files, false)
		want := slices.DeleteFunc(slices.Clone(all), func(signal string) bool { return slices.Contains(lost, signal) })
		assert.Equal(t, want, got, "without %s", name)
		if len(lost) == 0 || strings.HasSuffix(name, clockRate) {
			assert.Empty(t, warnings, "without %s", name)
			return
		}
		require.Len(t, warnings, 1, "without %s", name)
		assert.Contains(t, warnings[0].Message, name)
	}
	for _, file := range counted {
		files := whole()
		for _, content := range []string{"", "\x00\n", "0"} {
			files[file.name] = content
			without(files, file.name, file.lost)
		}
		delete(files, file.name)
		if file.spared {
			file.lost = nil
		}
		without(files, file.name, file.lost)
	}
	// A kernel that does not count how long threads wait.
	files := whole()
	files["proc/self/task/7/schedstat"], files["proc/self/task/8/schedstat"] = "0 0 0\n", "0 0 0\n"
	without(files, "schedstat", []string{"run_queue_seconds"})
	// A container whose /proc/stat shows some of the CPUs.
	files = whole()
	files["proc/stat"] = strings.Replace(statLines, "cpu1", "cpu2", 1)
	without(files, "proc/stat: no line of CPU 1", []string{"steal_seconds", "other_seconds"})

	got, warnings := signalsOf(t, map[string]string{}, true)
	assert.Equal(t, []string{"canary_seconds", "suspended_seconds", "watched_seconds"}, got)
	assert.Len(t, warnings, 3)
}
