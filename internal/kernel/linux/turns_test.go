package linux

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTurns(t *testing.T) {
	root := fstest.MapFS{
		"proc/7/schedstat": {Data: []byte("2000000000 500000000 30\n")}, "proc/8/schedstat": {Data: []byte("1 2\n")},
	}
	turns, err := TurnsOf(root, 7)
	require.NoError(t, err)
	assert.Equal(t, Turns{OnCPU: 2, Waited: 0.5, Count: 30}, turns)
	_, err = TurnsOf(root, 8)
	assert.ErrorContains(t, err, "proc/8/schedstat")
	_, err = TurnsOf(root, 9)
	assert.ErrorIs(t, err, fs.ErrNotExist)

	own, err := TurnsOf(os.DirFS("/"), os.Getpid())
	if err != nil {
		t.Skipf("needs a kernel with CONFIG_SCHED_INFO: %v", err)
	}
	assert.Positive(t, own.OnCPU)
}

// TestWithin: what a thread did after its end and before the reading is left out, if the reading was so late.
func TestWithin(t *testing.T) {
	for _, c := range []struct{ ran, waited, seconds, later, wantRan, wantWaited float64 }{
		{3, 1, 5, 2, 3, 1},
		{3, 1, 4, 2, 3, 1},
		{3, 1, 3.5, 0.5, 3, 0.5},
		{3, 1, 2, 2, 2, 0},
		{3, 1, 2, 1.9, 3, 1},
	} {
		got := Turns{OnCPU: c.ran, Waited: c.waited, Count: 7}.Within(c.seconds, c.later)
		assert.Equal(t, Turns{OnCPU: c.wantRan, Waited: c.wantWaited, Count: 7}, got, "%v", c)
	}
}

// A thread may have waited for the other threads of its program, but not longer than these ran.
func TestWithout(t *testing.T) {
	thread := Turns{OnCPU: 2, Waited: 0.5}
	assert.InDelta(t, 0.5, thread.Without(2), 1e-12, "there is no other thread")
	assert.InDelta(t, 0.5, thread.Without(1.99), 1e-12, "the two clocks differ")
	assert.InDelta(t, 0.2, thread.Without(2.3), 1e-12)
	assert.Negative(t, thread.Without(3))
}
