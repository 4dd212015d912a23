package measure

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
)

// asSample makes the test's executable a process that takes a watched sample until its stdin ends.
const asSample = "GORUN_TEST_SAMPLE"

func TestMain(m *testing.M) {
	if os.Getenv(asSample) == "" {
		os.Exit(m.Run())
	}
	w, _ := OpenWatcher(os.DirFS("/"), cpuset.Of(0), 1)
	finish := w.Watch()
	fmt.Println("begun")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	s := result.Sample{Seconds: 1, Placement: result.Placement{Verified: true}}
	finish(&s)
	if err := json.NewEncoder(os.Stdout).Encode(s.Quality); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// sampled starts a process that takes a sample, watches it from outside, and returns what both found. The process is stopped
// for this time, unless it is 0.
func sampled(t *testing.T, stop time.Duration) (itself, parent result.Quality) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), asSample+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	w, _ := OpenOutside(os.DirFS("/"), cpuset.Of(0))
	defer func() { require.NoError(t, w.Close()) }()
	finish := w.Watch()
	require.NoError(t, cmd.Start())
	read := bufio.NewReader(out)
	_, err = read.ReadString('\n')
	require.NoError(t, err)
	if pid := cmd.Process.Pid; stop > 0 {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		tests.Await(t, "stop", func() bool { return tests.State(pid) == 'T' })
		time.Sleep(stop) // it is stopped for at least as long
		require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	}
	_, err = in.Write([]byte("\n"))
	require.NoError(t, err)
	require.NoError(t, json.NewDecoder(read).Decode(&itself))
	require.NoError(t, cmd.Wait())
	s := result.Sample{Seconds: 1, Placement: result.Placement{Verified: true}}
	finish(&s)
	for _, q := range []result.Quality{itself, s.Quality} {
		require.NotNil(t, q.Signals.StoppedSeconds)
	}
	return itself, s.Quality
}

// A process that takes a sample detects its own stop, and a parent that of its child. A process that waits was not stopped.
func TestStopsOfThisProcessAndOfAChild(t *testing.T) {
	itself, parent := sampled(t, 0)
	assert.Zero(t, *itself.Signals.StoppedSeconds)
	assert.Zero(t, *parent.Signals.StoppedSeconds)

	const stop = 3 * beat // longer than what is taken for a late reading of the clock
	noticed := map[string]bool{}
	tests.Await(t, "stop that both notice", func() bool { // on a busy machine a process may learn too late that it continues
		itself, parent := sampled(t, stop)
		if seconds := *itself.Signals.StoppedSeconds; seconds > 0 {
			assert.GreaterOrEqual(t, seconds, (stop - beat).Seconds())
		}
		for who, q := range map[string]result.Quality{"itself": itself, "its parent": parent} {
			if *q.Signals.StoppedSeconds >= (stop - beat).Seconds() {
				assert.Equal(t, result.Suspect, q.Verdict, who)
				assert.Contains(t, fmt.Sprint(q.Reasons), "by a signal (SIGSTOP", who)
				noticed[who] = true
			}
		}
		return len(noticed) == 2
	})
}

// A stopped child counts in each sample until it is killed.
func TestStoppedChildThatIsKilled(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	require.NoError(t, cmd.Start())
	var s Stops
	s.Begin()
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	tests.Await(t, "stop", func() bool { return tests.State(cmd.Process.Pid) == 'T' })
	_, children := s.End()
	assert.Positive(t, children)
	s.Begin()
	_, children = s.End()
	assert.Positive(t, children, "it is still stopped")
	require.NoError(t, cmd.Process.Kill())
	assert.Error(t, cmd.Wait())
	s.Begin()
	own, children := s.End()
	assert.Zero(t, own)
	assert.Zero(t, children)
}

// The times of stops, without signals: a late reading of the clock for another reason, a SIGCONT before or after it,
// children stopped at the same time.
func TestStopsByTheClock(t *testing.T) {
	type event struct {
		ms        int
		continued bool
		pid       int // of a child that is stopped, or negative: goes on
	}
	for name, c := range map[string]struct {
		events        []event
		own, children int // ms
	}{
		"calm":                    {[]event{{ms: 50}, {ms: 100}, {ms: 151}}, 0, 0},
		"late and not stopped":    {[]event{{ms: 50}, {ms: 900}, {ms: 950}}, 0, 0},
		"SIGCONT and not late":    {[]event{{ms: 50}, {ms: 70, continued: true}, {ms: 100}}, 0, 0},
		"SIGCONT long after late": {[]event{{ms: 900}, {ms: 950}, {ms: 1000}, {ms: 1050}, {ms: 1110, continued: true}}, 0, 0},
		"stopped, SIGCONT first":  {[]event{{ms: 50}, {ms: 1050, continued: true}, {ms: 1051}}, 975, 0},
		"stopped, clock first":    {[]event{{ms: 50}, {ms: 1050}, {ms: 1051, continued: true}}, 975, 0},
		"stopped twice": {[]event{
			{ms: 50}, {ms: 1050}, {ms: 1051, continued: true}, {ms: 1100}, {ms: 2100, continued: true},
		}, 1950, 0},
		"a child":                    {[]event{{ms: 50}, {ms: 60, pid: 7}, {ms: 110}, {ms: 160, pid: -7}}, 0, 100},
		"two children at once":       {[]event{{ms: 20, pid: 7}, {ms: 30, pid: 8}, {ms: 70, pid: -7}, {ms: 120, pid: -8}}, 0, 100},
		"one child after the other":  {[]event{{ms: 20, pid: 7}, {ms: 30, pid: -7}, {ms: 40, pid: 8}, {ms: 50, pid: -8}}, 0, 20},
		"both changes between looks": {[]event{{ms: 50}, {ms: 90, pid: -7}}, 0, 40},
	} {
		t.Run(name, func(t *testing.T) {
			none := func() (int, bool, bool) { return 0, false, false }
			begun := time.Unix(1000, 0)
			var s Stops
			s.begin(begun, none)
			for _, e := range c.events {
				next := none
				if e.pid != 0 {
					left := true
					next = func() (int, bool, bool) {
						ok := left
						left = false
						return max(e.pid, -e.pid), e.pid > 0, ok
					}
				}
				s.look(begun.Add(time.Duration(e.ms)*time.Millisecond), e.continued, next)
			}
			assert.Equal(t, time.Duration(c.own)*time.Millisecond, s.own)
			assert.Equal(t, time.Duration(c.children)*time.Millisecond, s.children)
		})
	}
}

func TestSuspended(t *testing.T) {
	w := newWatcher(os.DirFS("/"), cpuset.Of(0))
	before := w.read()
	after := before
	var sig result.Signals
	after.suspended += time.Millisecond
	w.fill(&sig, before, after, 0)
	assert.Zero(t, *sig.SuspendedSeconds, "two clocks are not read at once")
	after.suspended += 90 * time.Second
	w.fill(&sig, before, after, 0)
	assert.InDelta(t, 90, *sig.SuspendedSeconds, 0.1)
	s := signals(result.Placement{Verified: true}, sig)
	Judge(&s, 1)
	assert.Contains(t, fmt.Sprint(s.Quality.Reasons), "the machine was suspended for 90.0 s")
}
