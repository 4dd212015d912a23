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

// A thread may have waited for the other threads of its program, but not longer than these ran.
func TestWithout(t *testing.T) {
	thread := Turns{OnCPU: 2, Waited: 0.5}
	assert.InDelta(t, 0.5, thread.Without(2), 1e-12, "there is no other thread")
	assert.InDelta(t, 0.5, thread.Without(1.99), 1e-12, "the two clocks differ")
	assert.InDelta(t, 0.2, thread.Without(2.3), 1e-12)
	assert.Negative(t, thread.Without(3))
}
