package sysfs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
)

// A file of this machine reads as by os.ReadFile, for any size; an absent one gives the same error.
func TestThisMachineReadsAsByPackageOS(t *testing.T) {
	dir := t.TempDir()
	names := []string{
		"proc/version", "proc/filesystems", "proc/kallsyms", "sys/devices/system/cpu/online", "sys/devices/system/cpu/possible",
		"sys/devices/system/node/node0/cpulist", "absent", "proc", "../proc/version", "/proc/version", "",
	}
	for _, size := range []int{0, 1, page - 1, page, page + 1, 3 * page} {
		file := filepath.Join(dir, "file"+strings.Repeat("x", len(names)))
		require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("0123456789"), size)[:size], 0o600))
		names = append(names, strings.TrimPrefix(file, "/"))
	}
	theirs := os.DirFS("/")
	for _, name := range names {
		want, wantErr := fs.ReadFile(theirs, name)
		got, err := fs.ReadFile(This(), name)
		assert.True(t, bytes.Equal(want, got), name)
		assert.Equal(t, wantErr == nil, err == nil, "%s: %v", name, err)
		if wantErr != nil {
			assert.ErrorIs(t, err, wantErr.(*fs.PathError).Err, name)
			assert.Equal(t, readError(name, wantErr).Error(), readError(name, err).Error())
		}
	}
	entries, err := fs.ReadDir(This(), "sys/devices/system")
	require.NoError(t, err)
	assert.NotEmpty(t, entries)
}

// A file of /sys/devices takes one read, and its descriptor is closed.
func TestFilesOfDevicesAreReadOnce(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	reads := func() int {
		text, err := ReadField(os.DirFS("/"), "proc/thread-self/io", "syscr")
		if err != nil {
			t.Skip("needs /proc/thread-self/io")
		}
		n := 0
		for _, digit := range text {
			n = 10*n + int(digit-'0')
		}
		return n
	}
	reads() // may open files that the runtime keeps open
	own := -reads()
	own += reads()
	const times = 10
	before := reads()
	for range times {
		_, err := fs.ReadFile(This(), "sys/devices/system/cpu/online")
		require.NoError(t, err)
	}
	assert.Equal(t, times, reads()-before-own)
	fds := tests.Glob(t, "/proc/self/fd/*")
	for _, fd := range fds {
		target, _ := os.Readlink(fd) // none for the directory itself, which is closed by now
		assert.NotEqual(t, "/sys/devices/system/cpu/online", target)
	}
}
