package linux

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestShared(t *testing.T) {
	file, err := Memfd("gorun", 100)
	require.NoError(t, err)
	info, err := file.Stat()
	require.NoError(t, err)
	assert.EqualValues(t, 100, info.Size())
	flags, err := unix.FcntlInt(file.Fd(), unix.F_GETFD, 0)
	require.NoError(t, err)
	assert.Equal(t, unix.FD_CLOEXEC, flags)

	one, err := MapShared(file, 100)
	require.NoError(t, err)
	other, err := MapShared(file, 100)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	assert.Equal(t, make([]byte, 100), one)
	one[99] = 7
	assert.EqualValues(t, 7, other[99], "it is the same memory")
	require.NoError(t, UnmapShared(one))
	assert.EqualValues(t, 7, other[99])
	require.NoError(t, UnmapShared(other))
}

func TestSharedErrors(t *testing.T) {
	_, err := Memfd("gorun", -1)
	require.ErrorContains(t, err, "make a file of -1 bytes in memory: ")

	path := filepath.Join(t.TempDir(), "readonly")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { assert.NoError(t, file.Close()) }()
	_, err = MapShared(file, 1)
	require.ErrorContains(t, err, "map 1 shared bytes: ")
	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.ErrorContains(t, UnmapShared(make([]byte, 1)), "unmap 1 shared bytes: ")
}
