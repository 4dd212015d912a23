package linux

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/sysfs"
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
		"whether NUMA balancing is on cannot be read: "+name+": file does not exist, as /proc/sys is hidden")
}
