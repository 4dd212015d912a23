package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/sysfs"
)

// schedText returns a thread's file in the format of Linux 6.
func schedText(migrations, switches uint64) string {
	return fmt.Sprintf(`gorun (7774, #threads: 5)
-------------------------------------------------------------------
se.exec_start                                :       1792280.787135
se.nr_migrations                             :   %18d
nr_switches                                  :   %18d
nr_voluntary_switches                        :                    1
clock-delta                                  :                   17
current_node=0, numa_group_id=0
`, migrations, switches)
}

// threads returns a /proc/self/task with threads that have these numbers of migrations, and ten times as many switches.
func threads(migrations map[int]uint64) fstest.MapFS {
	fsys := fstest.MapFS{"proc/self/task": {Mode: fs.ModeDir | 0o555}}
	for tid, n := range migrations {
		fsys[fmt.Sprintf("proc/self/task/%d/sched", tid)] = &fstest.MapFile{Data: []byte(schedText(n, 10*n))}
	}
	return fsys
}

func TestSchedDebugCountsFromItsOpening(t *testing.T) {
	for event, times := range map[Event]uint64{Migrations: 1, ContextSwitches: 10} {
		s, err := openSchedDebug(threads(map[int]uint64{1: 100, 2: 50}), event)
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
			assert.Equal(t, step.want*times, got, "%v: %s", event, step.why)
		}
		assert.NoError(t, s.Close())
	}
}

// While no thread ends, the count is the growth of the sum. It never decreases.
func TestSchedDebugIsMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.MapOfN(rapid.IntRange(1, 6), rapid.Uint64Max(1000), 1, 6)
		now := counts.Draw(t, "at first")
		s, err := openSchedDebug(threads(now), Migrations)
		require.NoError(t, err)
		var want uint64
		for range rapid.IntRange(1, 5).Draw(t, "reads") {
			for tid, n := range counts.Draw(t, "more") {
				now[tid] += n
				want += n
			}
			s.fsys = threads(now)
			got, err := s.Read()
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		s.fsys = threads(counts.Draw(t, "other threads"))
		got, err := s.Read()
		require.NoError(t, err)
		require.GreaterOrEqual(t, got, want)
	})
}

func TestSchedDebugOfAKernelWithoutIt(t *testing.T) {
	for _, fsys := range []fs.FS{
		fstest.MapFS{},
		fstest.MapFS{"proc/self/task/1/status": {Data: []byte("Name:\tx\n")}},
		ended{threads(map[int]uint64{1: 1})},
	} {
		_, err := openSchedDebug(fsys, Migrations)
		assert.ErrorIs(t, err, errors.ErrUnsupported)
		assert.True(t, hinted(err))
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

func TestSchedDebugMalformed(t *testing.T) {
	for _, text := range []string{
		"", "se.nr_migrations : many\n", "se.nr_migrations : -1\n", "nr_migrations : 1\n",
		"other.se.nr_migrations : 1\n",
	} {
		fsys := fstest.MapFS{"proc/self/task/7/sched": {Data: []byte(text)}}
		_, err := openSchedDebug(fsys, Migrations)
		require.ErrorIs(t, err, sysfs.ErrMalformed)
		assert.ErrorContains(t, err, "proc/self/task/7/sched")
	}
}

func FuzzParseSched(f *testing.F) {
	f.Add(schedText(3, 30), "se.nr_migrations")
	f.Add(schedText(3, 30), "nr_switches")
	f.Add("a:b:c\n:\n", "a")
	f.Fuzz(func(t *testing.T, text, field string) {
		n, err := parseSched(text, field)
		if err != nil {
			require.Zero(t, n)
			return
		}
		again, err := parseSched(fmt.Sprintf("%s : %d\n", field, n), field)
		require.NoError(t, err)
		require.Equal(t, n, again)
	})
}
