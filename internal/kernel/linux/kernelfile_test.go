package linux

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/base/hint"
)

func TestLock(t *testing.T) {
	_, err := Lock(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, fs.ErrNotExist)

	path := filepath.Join(t.TempDir(), "number")
	require.NoError(t, os.WriteFile(path, []byte("1\n"), 0o600))
	lock, err := Lock(path)
	require.NoError(t, err)
	_, err = Lock(path)
	var locked Locked
	require.ErrorAs(t, err, &locked, "in the same process")
	if locks, readErr := os.ReadFile("/proc/locks"); readErr == nil && strings.Contains(string(locks), "FLOCK") {
		assert.Equal(t, os.Getpid(), locked.By)
		assert.EqualError(t, err, fmt.Sprintf("process %d holds the lock of %s", os.Getpid(), path))
	}
	require.NoError(t, lock.Close())
	lock, err = Lock(path)
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}

func TestKernelFileRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "number")
	require.NoError(t, os.WriteFile(path, []byte("1\n"), 0o400))
	if os.Geteuid() != 0 {
		for _, err := range []error{SetKernelFile(path, 0), MaySetKernelFile(path, 0)} {
			require.ErrorIs(t, err, fs.ErrPermission)
			assert.EqualError(t, err, "set "+path+" to 0: permission denied")
			assert.Contains(t, hint.Of(err), "needs root")
		}
		require.NoError(t, SetKernelFile(path, 1), "it is there already")
	}
	for errno, says := range map[error]string{
		unix.EROFS: "a container may not", unix.EINVAL: "no such value", unix.EPERM: "needs root", unix.EIO: "",
	} {
		err := kernelFileError("f", 7, &fs.PathError{Op: "write", Path: "f", Err: errno})
		assert.EqualError(t, err, "set f to 7: "+errno.Error())
		assert.ErrorIs(t, err, errno)
		assert.True(t, strings.Contains(hint.Of(err), says) && (says == "") == (hint.Of(err) == ""), hint.Of(err))
	}
	assert.ErrorContains(t, SetKernelFile("/dev/null", 7), "malformed")
}

// A kernel file that accepts 0 and then reads as another number, its default (proc_pid_timerslack_ns(5)).
func TestSetKernelFileReadsBack(t *testing.T) {
	runtime.LockOSThread()
	err := SetKernelFile(fmt.Sprintf("/proc/%d/timerslack_ns", Gettid()), 0)
	skipIfRefusedOrMissing(t, err)
	assert.ErrorContains(t, err, "to 0: it is 50000 afterwards")
}

func TestParseFlock(t *testing.T) {
	const locks = `1: POSIX  ADVISORY  WRITE 1111 00:15:91499 0 EOF
2: FLOCK  ADVISORY  WRITE 8314 00:15:91499 0 EOF
2: -> FLOCK  ADVISORY  WRITE 9999 00:15:7 0 EOF
3: FLOCK  ADVISORY  WRITE 0 fe:00:8 0 EOF
4: FLOCK  ADVISORY  WRITE x fe:00:9 0 EOF
5: FLOCK
`
	pid, ok := parseFlock(locks, "00:15:91499")
	assert.True(t, ok)
	assert.Equal(t, 8314, pid)
	for _, inode := range []string{"00:15:9149", "00:15:7", "fe:00:8", "fe:00:9", ""} {
		_, ok = parseFlock(locks, inode)
		assert.False(t, ok, inode)
	}
}
