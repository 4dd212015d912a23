package numa

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
)

const procStat = `cpu  101 2 30 4000 50 6 7 8 9 10
cpu0 50 1 15 2000 25 3 4 4 5 5
cpu12 51 1 15 1999 24 3 3 4 4 5
intr 38930 0 0
ctxt 1990473
cpu13 must not be reached
`

func TestParseIdle(t *testing.T) {
	ticks, ok := parseIdle(procStat)
	require.True(t, ok)
	assert.Equal(t, map[int]uint64{0: 2025, 12: 2023}, ticks)
	for _, text := range []string{
		"", "cpu  1 2 3 4 5\n", "cpu0 1 2 3\n", "cpu0 1 2 3 x 5\n", "cpux 1 2 3 4 5\n", "intr 0\n",
	} {
		_, ok := parseIdle(text)
		assert.False(t, ok, "%q", text)
	}
}

func FuzzParseIdle(f *testing.F) {
	f.Add(procStat)
	f.Add("cpu0 1 2 3 9223372036854775807 9223372036854775807\n")
	f.Fuzz(func(t *testing.T, text string) {
		ticks, ok := parseIdle(text)
		require.Equal(t, ok, len(ticks) > 0)
	})
}

func TestAllBusy(t *testing.T) {
	before := map[int]uint64{0: 5, 1: 5, 2: 5}
	after := map[int]uint64{0: 5, 1: 5, 2: 6}
	assert.True(t, allBusy(cpuset.Of(0, 1), before, after))
	assert.False(t, allBusy(cpuset.Of(0, 2), before, after))
	assert.False(t, allBusy(cpuset.Of(2), before, after))
}

// stat is a /proc/stat whose CPUs are idle or busy as the test requests. A reading waits for the test's next value, so
// that the previous one has taken effect.
type stat struct {
	busy chan bool // of the time since the last reading
	idle int
}

func (s *stat) Open(name string) (fs.File, error) {
	busy, more := <-s.busy
	if !more {
		return nil, errors.New("no more")
	}
	if !busy {
		s.idle++
	}
	text := "cpu 0\n"
	for cpu := range 64 {
		text += fmt.Sprintf("cpu%d 0 0 0 %d 0\n", cpu, s.idle)
	}
	return fstest.MapFS{name: {Data: []byte(text)}}.Open(name)
}

// The thread keeps to the near CPU while that is sometimes idle, and may use all CPUs while it is not.
func TestSoftAffinity(t *testing.T) {
	far, err := linux.GetAffinity(0)
	require.NoError(t, err)
	near := cpuset.Of(far.First())
	tid, end, ended := make(chan int), make(chan struct{}), make(chan struct{})
	defer func() { close(end); <-ended }()
	go func() {
		runtime.LockOSThread() // it ends locked, and its mask with it
		tid <- linux.Gettid()
		<-end
		_ = linux.SetAffinity(0, far) // in case this is the main thread, which cannot end
		close(ended)
	}()
	thread := <-tid
	fake := &stat{busy: make(chan bool)}
	started := make(chan *softAffinity)
	go func() {
		s, err := startSoftAffinity(fake, thread, near, far)
		assert.NoError(t, err)
		started <- s
	}()
	fake.busy <- false
	s := <-started
	require.NotNil(t, s)
	is := func(want cpuset.Set, when string) {
		t.Helper()
		got, err := linux.GetAffinity(thread)
		require.NoError(t, err)
		assert.Equal(t, want.String(), got.String(), when)
	}
	is(near, "at first")
	for _, step := range []struct {
		busy bool
		want cpuset.Set
	}{{false, near}, {true, far}, {true, far}, {false, near}, {true, far}, {false, near}} {
		fake.busy <- step.busy
		fake.busy <- step.busy // read when the previous one has taken effect
		is(step.want, fmt.Sprintf("busy: %v", step.busy))
	}
	close(fake.busy)
	assert.EqualError(t, <-s.ended, "proc/stat: no more")
}

func TestSoftAffinityWithoutProc(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	far, err := linux.GetAffinity(0)
	require.NoError(t, err)
	_, err = startSoftAffinity(fstest.MapFS{}, linux.Gettid(), far, far)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = startSoftAffinity(fstest.MapFS{"proc/stat": {Data: []byte("intr 0")}}, linux.Gettid(), far, far)
	assert.ErrorContains(t, err, "no CPU has an idle time")
	s, err := startSoftAffinity(os.DirFS("/"), linux.Gettid(), far, far)
	require.NoError(t, err)
	assert.NoError(t, s.end())
}
