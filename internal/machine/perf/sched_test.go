package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/sysfs"
)

// schedText returns a thread's file in the format of Linux 6.
func schedText(migrations uint64) string {
	return fmt.Sprintf(`gorun (7774, #threads: 5)
-------------------------------------------------------------------
se.exec_start                                :       1792280.787135
se.nr_migrations                             :   %18d
nr_switches                                  :                   30
clock-delta                                  :                   17
current_node=0, numa_group_id=0
`, migrations)
}

// threads returns a /proc/self/task with threads that have these numbers of migrations.
func threads(migrations map[int]uint64) fstest.MapFS {
	fsys := fstest.MapFS{"proc/self/task": {Mode: fs.ModeDir | 0o555}}
	for tid, n := range migrations {
		fsys[fmt.Sprintf("proc/self/task/%d/sched", tid)] = &fstest.MapFile{Data: []byte(schedText(n))}
	}
	return fsys
}

func TestSchedCountsFromItsOpening(t *testing.T) {
	s, err := openSched(threads(map[int]uint64{1: 100, 2: 50}))
	require.NoError(t, err)
	for _, step := range []struct {
		why     string
		threads map[int]uint64
		want    uint64
	}{
		{"nothing happened", map[int]uint64{1: 100, 2: 50}, 0},
		{"one moved", map[int]uint64{1: 103, 2: 50}, 3},
		{"a new thread starts at 0", map[int]uint64{1: 103, 2: 50, 3: 4}, 7},
		{"an ended thread's count is kept", map[int]uint64{1: 103, 3: 4}, 7},
		{"a TID is reused", map[int]uint64{1: 104, 3: 1}, 9},
	} {
		s.fsys = threads(step.threads)
		got, err := s.Read()
		require.NoError(t, err)
		assert.Equal(t, step.want, got, step.why)
	}
}

func TestSchedOfThisProcess(t *testing.T) {
	a, b := twoCPUs(t)
	s, err := openSched(os.DirFS("/"))
	if err != nil {
		t.Skip("needs /proc/self/sched")
	}
	startThread(t, b).alternate(t, 20, a, b)
	n, err := s.Read()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, n, uint64(20))
}

func TestSchedOfAKernelWithoutIt(t *testing.T) {
	for _, fsys := range []fs.FS{
		fstest.MapFS{},
		fstest.MapFS{"proc/self/task/1/status": {Data: []byte("Name:\tx\n")}},
		fstest.MapFS{"proc/self/task/1/sched": {Data: []byte("nr_migrations : 1\n")}},
		ended{threads(map[int]uint64{1: 1})},
	} {
		_, err := openSched(fsys)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		assert.NotEmpty(t, hint.Of(err))
	}
}

// ended simulates threads that end between the listing and the reading (fs/proc/base.c: ESRCH).
type ended struct{ fstest.MapFS }

func (e ended) Open(name string) (fs.File, error) {
	if name == "proc/self/task" {
		return e.MapFS.Open(name)
	}
	return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.ESRCH}
}

func (e ended) ReadFile(name string) ([]byte, error) {
	_, err := e.Open(name)
	return nil, err
}

func TestSchedMalformed(t *testing.T) {
	for _, text := range []string{"se.nr_migrations : many\n", "se.nr_migrations : -1\n", "se.nr_migrations :\n"} {
		fsys := fstest.MapFS{"proc/self/task/7/sched": {Data: []byte(text)}}
		_, err := openSched(fsys)
		require.ErrorIs(t, err, sysfs.ErrMalformed)
		assert.ErrorContains(t, err, "proc/self/task/7/sched")
	}
}
