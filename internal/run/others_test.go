package run

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/experiment"
	"gorun/internal/linux"
	"gorun/internal/tests"
)

// Two runs notice each other once. A connection without data is not a run.
func TestMeet(t *testing.T) {
	name := fmt.Sprintf("gorun/%s/%d", t.Name(), os.Getpid())
	root := fstest.MapFS{fmt.Sprintf("proc/%d/cmdline", os.Getpid()): {Data: []byte("gorun\x00primes\x00")}}
	first := findOtherRuns(root, name)
	silent, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: "@" + name + "/0", Net: "unix"})
	require.NoError(t, err)
	require.NoError(t, silent.CloseWrite())
	_, err = silent.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "the run has closed it")
	require.NoError(t, silent.Close())
	assert.Empty(t, first.warnings())

	second := findOtherRuns(root, name)
	met := second.warnings()
	require.Len(t, met, 1)
	assert.Equal(t, fmt.Sprintf("another run of gorun measured at the same time (PID %d: gorun primes)", os.Getpid()), met[0].Message)
	tests.Await(t, "notice of the second run", func() bool {
		again := findOtherRuns(root, name) // a call counts only if its data comes within a second
		return assert.NoError(t, again.Close()) && len(first.warnings()) > 0
	})
	assert.Equal(t, met, first.warnings())
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
	assert.Empty(t, findOtherRuns(root, "").warnings())
}

// A result names eight other runs at most.
func TestNoteIsBounded(t *testing.T) {
	o := &otherRuns{root: fstest.MapFS{}}
	for range 2 {
		for pid := range 20 {
			o.note(pid)
		}
	}
	assert.Len(t, o.warnings(), mostNamed)
	assert.Contains(t, o.warnings()[0].Message, "in another PID namespace")
}

// A sample waits two seconds for missing CPUs, and later samples do not wait until the CPUs have been back.
func TestAwaitCPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestRun(t, experiment.InOrder, 1, Options{samples: 1})
		failed := false
		waits := func(had cpuset.Set) time.Duration {
			begun := time.Now()
			r.had = had
			r.awaitCPUs(t.Context(), failed)
			return time.Since(begun).Round(time.Second)
		}
		here, err := linux.GetAffinity(os.Getpid())
		require.NoError(t, err)
		gone := cpuset.Of(cpuset.Max)
		assert.Zero(t, waits(cpuset.Set{}), "what it could use is not known")
		assert.Equal(t, patience, waits(gone))
		assert.Zero(t, waits(gone))
		assert.Zero(t, waits(here), "they are back")
		assert.Equal(t, patience, waits(gone))
		failed = true
		assert.Zero(t, waits(here), "a thread may be given them")
	})
}
