package measure

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

// The time for starting and ending the processes of a sample does not count as that of other programs.
func TestOwnSeconds(t *testing.T) {
	s := &result.Sample{UserSeconds: 1, SystemSeconds: 0.5, LoadSeconds: 2}
	at := func(seconds float64) reading { return reading{ours: &seconds} }
	assert.InDelta(t, 3.5, ownSeconds(s, reading{}, reading{}), 1e-12)
	assert.InDelta(t, 3.5, ownSeconds(s, reading{}, at(9)), 1e-12)
	assert.InDelta(t, 6, ownSeconds(s, at(5), at(9)), 1e-12)
}

// The account of what this process does itself is that of its busiest thread, without the time of the watch outside of the sample.
func TestAccountOfOwnWork(t *testing.T) {
	for name, c := range map[string]struct {
		wall    float64
		threads []linux.Turns
		want    *result.Account
	}{
		"one of several":   {1, []linux.Turns{{OnCPU: 0.1}, {OnCPU: 0.5, Waited: 0.2}, {OnCPU: 0.4}}, &result.Account{Running: 500e6, Waiting: 200e6, Blocked: 300e6, Others: 500e6, Kernel: new(uint64(0))}},
		"the watch itself": {1, []linux.Turns{{OnCPU: 1.01, Waited: 0.01}}, &result.Account{Running: 990e6, Waiting: 10e6, Others: 10e6, Kernel: new(uint64(0))}},
		"mostly outside":   {0.5, []linux.Turns{{OnCPU: 0.4}}, nil},
		"no thread":        {1, nil, nil},
		"too long a wait":  {1, []linux.Turns{{OnCPU: 0.001, Waited: 1.02}}, nil},
	} {
		s := result.Sample{Seconds: c.wall, UserSeconds: 1}
		s.Quality.Signals.WatchedSeconds = 1.02
		assert.Equal(t, c.want, accountOf(&s, c.threads), name)
	}
	tests.Await(t, "sample of which little of the watch is outside", func() bool {
		s := result.Sample{}
		begun := time.Now()
		finish := newWatcher(os.DirFS("/"), cpuset.Of(0)).Watch()
		for time.Since(begun) < 100*time.Millisecond {
		}
		s.Seconds = time.Since(begun).Seconds()
		finish(&s)
		if s.Account == nil {
			return false
		}
		assert.InDelta(t, s.Seconds*1e9, s.Account.Wall(), 0.5, "the parts add up to the wall time")
		return true
	})
}

func TestOutsideKnowsItsChildren(t *testing.T) {
	w, _ := OpenOutside(os.DirFS("/"), cpuset.Of(0))
	before := w.read()
	child := exec.Command("sh", "-c", "i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done")
	require.NoError(t, child.Run())
	used := (child.ProcessState.UserTime() + child.ProcessState.SystemTime()).Seconds()
	require.Positive(t, used)
	ours := increase(before.ours, w.read().ours)
	require.NotNil(t, ours)
	assert.GreaterOrEqual(t, *ours+1e-6, used)
}

// The canary makes every one of its steps: the generator can jump over them, by squaring the step.
func TestCanary(t *testing.T) {
	multiply, add := uint64(6364136223846793005), uint64(1442695040888963407)
	for n := canarySteps; n > 1; n /= 2 {
		multiply, add = multiply*multiply, (multiply+1)*add
	}
	for _, x := range []uint64{0, 1, 20260102} {
		seconds, end := canary(x)
		assert.Equal(t, x*multiply+add, end)
		assert.Positive(t, seconds)
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

// reads counts the files that are opened.
type reads struct {
	fs.FS
	opened int
}

func (r *reads) Open(name string) (fs.File, error) {
	r.opened++
	return r.FS.Open(name)
}

// Each sample reads the same few files.
func TestReadsOfASample(t *testing.T) {
	root := &reads{FS: os.DirFS("/")}
	w, _ := OpenOutside(root, cpuset.Of(0))
	for i := range 100 {
		before := root.opened
		w.Watch()(&result.Sample{Seconds: 1})
		require.LessOrEqual(t, root.opened-before, 8, "sample %d", i)
	}
}
