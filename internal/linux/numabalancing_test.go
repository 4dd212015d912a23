package linux

import (
	"errors"
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
	_, err = ReadNUMABalancing(fstest.MapFS{})
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}
