package linux

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
)

func TestSchedulerTimeNumber(t *testing.T) {
	for _, c := range []struct {
		of      SchedulerTime
		seconds float64
		want    int // 0: refused
	}{
		{NUMAScanDelay, 0.05, 50},
		{NUMAScanPeriod, 1, 1000},
		{NUMAScanDelay, 0.0005, 0},
		{NUMAScanDelay, 0.0015, 0},
		{NUMAScanDelay, 0, 0},
		{NUMAScanDelay, -1, 0},
		{MigrationCost, 500e-6, 500000},
		{MigrationCost, 1e-9, 1},
		{MigrationCost, 3, 0},
	} {
		n, err := c.of.Number(c.seconds)
		assert.Equal(t, c.want, n, "%v", c)
		assert.Equal(t, c.want == 0, err != nil, "%v", c)
	}
}

func TestSchedulerTimeRead(t *testing.T) {
	seconds, err := MigrationCost.Read(fstest.MapFS{"proc/sys/kernel/sched_migration_cost_ns": {Data: []byte("400000\n")}})
	require.NoError(t, err)
	assert.InDelta(t, 400e-6, seconds, 1e-12)
	_, err = MigrationCost.Read(fstest.MapFS{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = MigrationCost.Read(fstest.MapFS{"sys/kernel/debug/sched/migration_cost_ns": {Data: []byte("much\n")}})
	require.NotErrorIs(t, err, fs.ErrNotExist)
}

func TestSchedulerTimeFile(t *testing.T) {
	in := func(debugfs, sysctl error) (string, error) {
		return MigrationCost.fileIn(func(file string) error {
			if strings.HasPrefix(file, "/proc/sys/") {
				return sysctl
			}
			return debugfs
		})
	}
	file, err := in(nil, fs.ErrNotExist)
	require.NoError(t, err)
	assert.Equal(t, "/sys/kernel/debug/sched/migration_cost_ns", file)
	file, err = in(fs.ErrNotExist, nil)
	require.NoError(t, err)
	assert.Equal(t, "/proc/sys/kernel/sched_migration_cost_ns", file)
	_, err = in(fs.ErrPermission, fs.ErrNotExist)
	require.EqualError(t, err, "find the scheduler's migration_cost_ns: permission denied")
	assert.Contains(t, hint.Of(err), "that needs root")
	_, err = in(fs.ErrNotExist, fs.ErrNotExist)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	assert.Contains(t, hint.Of(err), "mount -t debugfs")
}
