package linux

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/sysfs"
)

func TestReadNUMABalancing(t *testing.T) {
	const name = "proc/sys/kernel/numa_balancing"
	got, err := ReadNUMABalancing(fstest.MapFS{name: {Data: []byte("3\n")}})
	require.NoError(t, err)
	assert.Equal(t, 3, got)
	_, err = ReadNUMABalancing(fstest.MapFS{name: {Data: []byte("on\n")}})
	assert.ErrorIs(t, err, sysfs.ErrMalformed)
	_, err = ReadNUMABalancing(fstest.MapFS{"proc/sys/kernel/osrelease": {Data: []byte("6.1.0\n")}})
	require.ErrorIs(t, err, ErrNoNUMABalancing)
	_, err = ReadNUMABalancing(fstest.MapFS{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotErrorIs(t, err, ErrNoNUMABalancing, "all of /proc/sys is hidden")
	require.EqualError(t, err,
		"whether NUMA balancing is on cannot be read: "+name+": file does not exist: /proc/sys is hidden")
}

func TestReadThreadNUMA(t *testing.T) {
	const name = "proc/thread-self/sched"
	text := "gorun (12, #threads: 5)\n---------\nse.exec_start                                :          1203.5\n" +
		"nr_switches                                  :                   27\n" +
		"mm->numa_scan_seq                            :                    3\n" +
		"numa_pages_migrated                          :                 4243\n" +
		"numa_preferred_nid                           :                   -1\n" +
		"total_numa_faults                            :                  812\n" +
		"current_node=1, numa_group_id=0\nnuma_faults node=0 task_private=0 task_shared=1 group_private=0 group_shared=0\n"
	got, err := ReadThreadNUMA(fstest.MapFS{name: {Data: []byte(text)}})
	require.NoError(t, err)
	n := func(n int) *int { return &n }
	assert.Equal(t, ThreadNUMA{ScanSeq: n(3), PagesMigrated: n(4243), PreferredNode: n(-1)}, got)

	_, err = ReadThreadNUMA(fstest.MapFS{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "CONFIG_SCHED_DEBUG")
	_, err = ReadThreadNUMA(fstest.MapFS{name: {Data: []byte("nr_switches : 27\nnuma_pages_migrated : many\n")}})
	require.ErrorIs(t, err, ErrNoNUMABalancing)
}

func TestReadNUMAScan(t *testing.T) {
	delay, period := ReadNUMAScan(fstest.MapFS{})
	assert.InDelta(t, 1, delay, 1e-9)
	assert.InDelta(t, 1, period, 1e-9)
	delay, period = ReadNUMAScan(fstest.MapFS{
		"sys/kernel/debug/sched/numa_balancing/scan_delay_ms": {Data: []byte("50\n")},
		"proc/sys/kernel/numa_balancing_scan_period_min_ms":   {Data: []byte("250\n")},
	})
	assert.InDelta(t, 0.05, delay, 1e-9)
	assert.InDelta(t, 0.25, period, 1e-9)
}
