package perf

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/linux"
)

// eachTrace runs a test with a thread on the second CPU that is traced by each method that is available here.
func eachTrace(t *testing.T, test func(t *testing.T, a, b int, traced *thread, trace *Trace)) {
	a, b := twoCPUs(t)
	for _, method := range []Method{TraceMigrations, TraceSwitches} {
		t.Run(string(method), func(t *testing.T) {
			traced := startThread(t, b)
			traced.alternate(t, 2, a, b) // moves before the trace do not count
			var trace *Trace
			var err error
			traced.do(t, func() error {
				trace, err = openTrace(method)
				return nil
			})
			refused(t, "traces by "+string(method), err)
			defer func() { assert.NoError(t, trace.Close()) }()
			test(t, a, b, traced, trace)
		})
	}
}

// steps returns the expected result of n moves of alternate, starting on the second CPU.
func steps(n, a, b int) []Move {
	moves := make([]Move, n)
	for i := range moves {
		moves[i] = Move{From: []int{b, a}[i%2], To: []int{a, b}[i%2]}
	}
	return moves
}

// timeless returns the moves without their times, after checking that these ascend from since until now.
func timeless(t *testing.T, moves []Move, since int64) []Move {
	t.Helper()
	out := make([]Move, len(moves))
	for i, m := range moves {
		require.GreaterOrEqual(t, m.NS, since)
		since = m.NS
		out[i] = Move{From: m.From, To: m.To}
	}
	require.LessOrEqual(t, since, int64(linux.Monotonic()))
	return out
}

// The thread moves itself, with and without a Read between. The moves of another thread are not seen.
func TestTraceSeesEachMove(t *testing.T) {
	const moves = 20
	eachTrace(t, func(t *testing.T, a, b int, traced *thread, trace *Trace) {
		other := startThread(t, b)
		for range 3 {
			since := int64(linux.Monotonic())
			other.alternate(t, moves, a, b)
			traced.alternate(t, moves, a, b)
			other.alternate(t, moves, a, b)
			got, lost, err := trace.Read()
			require.NoError(t, err)
			assert.Zero(t, lost)
			assert.Equal(t, steps(moves, a, b), timeless(t, got, since))
		}
		require.NoError(t, trace.Close())
		_, _, err := trace.Read()
		assert.ErrorIs(t, err, os.ErrClosed, "a closed trace differs from one without moves")
	})
}

// Records that do not fit are counted once, and later ones are seen again.
func TestTraceCountsTheLost(t *testing.T) {
	const moves = 400 // a page holds 170 of them
	a, b := twoCPUs(t)
	traced := startThread(t, b)
	var e *event
	var err error
	traced.do(t, func() error {
		e, err = openEvent(unix.PerfEventAttr{
			Config: unix.PERF_COUNT_SW_CPU_MIGRATIONS, Sample: 1, Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU,
		}, linux.Gettid(), -1, os.Getpagesize())
		return nil
	})
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("needs perf events of the kernel")
	}
	require.NoError(t, err)
	defer func() { assert.NoError(t, e.close()) }()
	read := func() (kept int, lost uint64) {
		lost, err := e.read(func(record) error { kept++; return nil })
		require.NoError(t, err)
		return kept, lost
	}
	// A move is reported when the thread is next switched in, even if it was made before the event was opened.
	traced.do(t, func() error { return nil })
	read()

	traced.alternate(t, moves, a, b)
	kept, lost := read()
	assert.Equal(t, os.Getpagesize()/24, kept)
	n, err := unix.Read(e.fd, make([]byte, 16))
	require.NoError(t, err)
	if n == 16 { // Linux 6.0: reported at once
		assert.Equal(t, uint64(moves-kept), lost)
	}

	traced.alternate(t, 10, a, b)
	again, more := read()
	assert.Equal(t, 10, again)
	assert.Equal(t, uint64(moves-kept), lost+more)
	assert.Equal(t, lost+more, e.told, "the ring and the event agree")
}

// On any machine there is the best method, or the other one with a reason, or an error with a reason.
func TestOpenTrace(t *testing.T) {
	for _, ordinary := range []bool{false, true} {
		t.Run(map[bool]string{false: "as it is", true: "without privilege"}[ordinary], func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if ordinary {
				dropCapabilities(t)
			}
			trace, err := OpenTrace()
			refused(t, "perf_event_paranoid of 2 or less", err)
			if ordinary || trace.Method != TraceMigrations {
				assert.Equal(t, TraceSwitches, trace.Method)
				assert.NotEmpty(t, hint.Of(trace.Degraded))
			} else {
				assert.NoError(t, trace.Degraded)
			}
			_, _, err = trace.Read()
			assert.NoError(t, err)
			assert.NoError(t, trace.Close())
		})
	}
}

// A record that is too short is an error, and one of another kind is skipped.
func TestTraceReadsRecords(t *testing.T) {
	trace := &Trace{event: &event{ring: newRing(1<<12, 0)}, follower: follower{cpu: 7}}
	put := func(kind uint32, body []byte) { require.True(t, trace.event.ring.write(recordOf(kind, body...))) }
	put(unix.PERF_RECORD_SAMPLE, words(123456789012, 411))
	put(unix.PERF_RECORD_THROTTLE, nil)
	put(unix.PERF_RECORD_SWITCH, words(123456789013, 8))
	put(unix.PERF_RECORD_SWITCH, words(123456789014, 8))
	moves, _, err := trace.Read()
	require.NoError(t, err)
	assert.Equal(t, []Move{{123456789012, 7, 411}, {123456789013, 411, 8}}, moves)
	put(unix.PERF_RECORD_SAMPLE, words(1, 2)[:15])
	_, _, err = trace.Read()
	assert.ErrorIs(t, err, errRing)
}
