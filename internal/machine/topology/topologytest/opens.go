package topologytest

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// WatchOpens counts how often each file and directory below top is opened from now on (inotify(7)). opened returns the
// counts so far, by path. The kernel merges several opens of one file in a row into one event, so they count once.
func WatchOpens(t *testing.T, top string) (opened func() map[string]int) {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Close(fd)) })
	var dirs []string // listed before the first watch is set, since listing opens them
	require.NoError(t, filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	}))
	watched := map[int32]string{}
	for _, path := range dirs {
		watch, err := syscall.InotifyAddWatch(fd, path, syscall.IN_OPEN|syscall.IN_DONT_FOLLOW)
		require.NoError(t, err)
		watched[int32(watch)] = path
	}
	return func() map[string]int {
		opened, buf := map[string]int{}, make([]byte, 1<<16)
		for {
			size, err := syscall.Read(fd, buf)
			if err == syscall.EAGAIN {
				return opened
			}
			require.NoError(t, err)
			for at := 0; at < size; {
				event := (*syscall.InotifyEvent)(unsafe.Pointer(&buf[at]))
				at += syscall.SizeofInotifyEvent + int(event.Len)
				require.Zero(t, event.Mask&syscall.IN_Q_OVERFLOW)
				name := strings.TrimRight(string(buf[at-int(event.Len):at]), "\x00")
				if name != "" { // an opened directory has two events: its parent's, which has a name, and its own
					opened[filepath.Join(watched[event.Wd], name)]++
				}
			}
		}
	}
}
