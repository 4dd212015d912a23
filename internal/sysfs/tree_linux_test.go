package sysfs

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Reading a recorded directory opens each file once, and each directory once as long as the files of it are read one
// after another: a machine of thousands of CPUs has a hundred thousand.
func TestTreeOpensEachFileOnce(t *testing.T) {
	const cpus, files = 8, 5
	dir := t.TempDir()
	names := []string{}
	for cpu := range cpus {
		for file := range files {
			names = append(names, fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/file%d", cpu, file))
			put(t, dir, names[len(names)-1], "1")
		}
	}
	fsys, err := OpenRoot(dir)
	require.NoError(t, err)
	opened := watchOpens(t, dir)
	for _, name := range names {
		_, err := ReadInt(fsys, name)
		require.NoError(t, err)
	}
	const common = 4 // sys/devices/system/cpu
	require.Equal(t, common+2*cpus+cpus*files, opened())
}

// watchOpens returns how many files and directories below one are opened from now on (inotify(7)).
func watchOpens(t *testing.T, top string) (opened func() int) {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Close(fd)) })
	var dirs []string // first, for the walk opens them
	require.NoError(t, filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	}))
	for _, path := range dirs {
		_, err := syscall.InotifyAddWatch(fd, path, syscall.IN_OPEN|syscall.IN_DONT_FOLLOW)
		require.NoError(t, err)
	}
	return func() (n int) {
		buf := make([]byte, 1<<16)
		for {
			size, err := syscall.Read(fd, buf)
			if err == syscall.EAGAIN {
				return n
			}
			require.NoError(t, err)
			for at := 0; at < size; {
				event := (*syscall.InotifyEvent)(unsafe.Pointer(&buf[at]))
				at += syscall.SizeofInotifyEvent + int(event.Len)
				require.Zero(t, event.Mask&syscall.IN_Q_OVERFLOW)
				name := strings.TrimRight(string(buf[at-int(event.Len):at]), "\x00")
				if name != "" { // of a directory that is opened itself there is a second event
					n++
				}
			}
		}
	}
}
