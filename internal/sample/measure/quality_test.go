package measure

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

func TestJudge(t *testing.T) {
	good := result.Placement{Verified: true}
	doubt := result.Doubt{Grade: result.Suspect, Reason: "it cannot be read"}
	const cpus = 4
	for name, tc := range map[string]struct {
		sample  result.Sample
		grade   result.Grade
		reasons int
	}{
		"calm":           {result.Sample{Placement: good}, result.Valid, 0},
		"not as asked":   {result.Sample{Placement: result.Placement{Mismatches: []string{"worker 3: asked for CPU 1"}}}, result.Invalid, 1},
		"cut short":      {result.Sample{Placement: good, Partial: true}, result.Suspect, 1},
		"a little steal": {signals(good, result.Signals{StealSeconds: new(0.19)}), result.Valid, 0},
		"steal":          {signals(good, result.Signals{StealSeconds: new(0.21)}), result.Suspect, 1},
		"others":         {signals(good, result.Signals{OtherSeconds: new(5.0)}), result.Suspect, 1},
		"throttled":      {signals(good, result.Signals{ThrottledSeconds: new(0.001)}), result.Suspect, 1},
		"disk":           {signals(good, result.Signals{MajorFaults: new(uint64(2))}), result.Suspect, 1},
		// A sample too short for the ticks of the others' time is doubted for what its own thread waited.
		"waited":          {result.Sample{Placement: good, QueuedShare: 0.4}, result.Suspect, 1},
		"waited a little": {result.Sample{Placement: good, QueuedShare: 0.1}, result.Valid, 0},
		"waited, no others": {result.Sample{Placement: good, QueuedShare: 0.4, Quality: result.Quality{
			Signals: result.Signals{OtherSeconds: new(0.0)},
		}}, result.Valid, 0},
		"counters at 0": {signals(good, result.Signals{
			StealSeconds: new(0.0), ThrottledSeconds: new(0.0), MajorFaults: new(uint64(0)),
		}), result.Valid, 0},
		// A value that could be read neither before nor after a sample gives one reason.
		"a doubt twice":         {result.Sample{Placement: good, Doubts: []result.Doubt{doubt, doubt}}, result.Suspect, 1},
		"invalid stays invalid": {signals(result.Placement{}, result.Signals{StealSeconds: new(5.0)}), result.Invalid, 2},
	} {
		tc.sample.Quality.Signals.WatchedSeconds = 2.5
		Judge(&tc.sample, cpus)
		assert.Equal(t, tc.grade, tc.sample.Quality.Grade, name)
		assert.Len(t, tc.sample.Quality.Reasons, tc.reasons, name)
		assert.NotNil(t, tc.sample.Quality.Reasons, name)
	}
}

func signals(p result.Placement, s result.Signals) result.Sample {
	return result.Sample{Placement: p, Quality: result.Quality{Signals: s}}
}

// The counters of /proc/stat have ticks of 10 ms. A time of a few ticks says nothing about other programs or the hypervisor, and
// a longer one nothing impossible: no time below zero, and no more than the CPUs had.
func TestTicks(t *testing.T) {
	none, some := []any{nil, nil}, func(steal, other float64) []any { return []any{steal, other} }
	for name, c := range map[string]struct {
		stat    string // user and steal of the two CPUs afterwards, in ticks; 1000 and 100 before
		watched time.Duration
		used    float64
		want    []any // seconds of steal and of other programs
		grade   result.Grade
	}{
		"calm, too short":              {"1000 100 1000 100", time.Millisecond, 0.0009, none, result.Valid},
		"a tick, too short":            {"1001 101 1001 100", 2 * time.Millisecond, 0.0009, none, result.Valid},
		"137%":                         {"1002 101 1001 102", 11 * time.Millisecond, 0, none, result.Valid},
		"just too short":               {"1009 109 1009 109", 49 * time.Millisecond, 0, none, result.Valid},
		"below zero":                   {"1005 100 1004 100", 100 * time.Millisecond, 0.0968, some(0, 0), result.Valid},
		"rounding":                     {"1003 102 1003 102", 50 * time.Millisecond, 0.02, some(0.04, 0.04), result.Valid},
		"more than there was":          {"1010 108 1008 108", 60 * time.Millisecond, 0, some(0.12, 0.12), result.Suspect},
		"busy":                         {"1030 100 1020 100", 500 * time.Millisecond, 0.2, some(0, 0.3), result.Suspect},
		"a counter that went backward": {"1030 99 1020 100", 500 * time.Millisecond, 0.2, []any{nil, 0.3}, result.Suspect},
	} {
		w := &Watcher{root: stat(t, "1000 100 1000 100"), cpus: cpuset.Of(0, 1), outside: true}
		before := w.read()
		w.root = stat(t, c.stat)
		after := w.read()
		after.at = before.at.Add(c.watched)
		s := result.Sample{Placement: result.Placement{Verified: true}}
		w.fill(&s.Quality.Signals, before, after, c.used)
		Judge(&s, 2)
		assert.Equal(t, c.grade, s.Quality.Grade, "%s: %v", name, s.Quality.Reasons)
		for i, got := range []*float64{s.Quality.Signals.StealSeconds, s.Quality.Signals.OtherSeconds} {
			if c.want[i] == nil {
				assert.Nil(t, got, name)
			} else if assert.NotNil(t, got, name) {
				assert.InDelta(t, c.want[i], *got, 1e-9, name)
			}
		}
		for _, reason := range s.Quality.Reasons {
			assert.NotRegexp(t, `[1-9][0-9]{2,}%`, strings.ReplaceAll(reason, "(100%", ""), name)
		}
	}
}

// stat is /proc/stat with the user time and the steal of two CPUs.
func stat(t *testing.T, ticks string) fstest.MapFS {
	t.Helper()
	var user, steal [2]int
	_, err := fmt.Sscan(ticks, &user[0], &steal[0], &user[1], &steal[1])
	require.NoError(t, err)
	text := "cpu  1 2 3 4 5 6 7 8 9 10\n"
	for cpu := range user {
		text += fmt.Sprintf("cpu%d %d 0 50 900000 0 0 3 %d 0 0\n", cpu, user[cpu], steal[cpu])
	}
	return fstest.MapFS{"proc/stat": {Data: []byte(text)}}
}

// The watcher measures the work done between its two readings.
func TestWatcher(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	w, _ := OpenWatcher(os.DirFS("/"), allowed, 1)
	defer func() { require.NoError(t, w.Close()) }()
	finish := w.Watch()
	pages := make([]byte, 8<<20)
	for i := 0; i < len(pages); i += 4096 {
		pages[i] = 1
	}
	s := result.Sample{Seconds: 1, Placement: result.Placement{Verified: true}, Values: result.FiguresOf(&struct{ result.OwnProcess }{})}
	finish(&s)
	require.NotNil(t, s.Quality.Signals.MinorFaults)
	assert.Positive(t, *s.Quality.Signals.MinorFaults)
	require.NotNil(t, s.Quality.Signals.CanarySeconds)
	assert.Positive(t, *s.Quality.Signals.CanarySeconds)
	peak := s.Values.Own().MemoryPeakBytes
	require.NotNil(t, peak)
	assert.Greater(t, *peak, uint64(len(pages)))
}

// Many threads do not get a counter each, and the run has a warning.
func TestWatcherSparesManyThreads(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	w, warnings := OpenWatcher(os.DirFS("/"), allowed, 50_000)
	var codes []string
	for _, warning := range warnings {
		codes = append(codes, warning.Code)
	}
	assert.Subset(t, codes, []string{"no-run-queue", "no-migrations"})
	s := result.Sample{Seconds: 1}
	w.Watch()(&s)
	assert.Nil(t, s.Quality.Signals.Migrations)
}
