package linux

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func socketPair(t *testing.T) (ours *Socket, theirs *os.File) {
	t.Helper()
	ours, theirs, err := SocketPair()
	require.NoError(t, err)
	t.Cleanup(func() {
		ours.Close()
		theirs.Close()
	})
	return ours, theirs
}

// What is written comes with the files that were sent before it.
func TestSocketRead(t *testing.T) {
	ours, theirs := socketPair(t)
	there, err := OpenSocket(theirs)
	require.NoError(t, err)
	require.NoError(t, there.Send(os.Stdin, os.Stderr))
	text := strings.Repeat("some text ", 500)
	_, err = io.WriteString(there, text)
	require.NoError(t, err)
	require.NoError(t, there.Close())
	n, err := ours.Read(nil)
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Empty(t, ours.Files)
	require.NoError(t, iotest.TestReader(ours, []byte("\n"+text)))
	require.Len(t, ours.Files, 2)
	for i, sent := range []*os.File{os.Stdin, os.Stderr} {
		is, err := ours.Files[i].Stat()
		require.NoError(t, err)
		was, err := sent.Stat()
		require.NoError(t, err)
		assert.True(t, os.SameFile(was, is))
		require.NoError(t, ours.Files[i].Close())
	}
}

// What comes after files that this process may not have is read.
func TestSocketDropsFiles(t *testing.T) {
	ours, theirs := socketPair(t)
	there, err := OpenSocket(theirs)
	require.NoError(t, err)
	defer there.Close()
	require.NoError(t, there.Send(os.Stdin, os.Stderr))
	free, err := os.Open(os.DevNull) // its descriptor is the first that is not in use
	require.NoError(t, err)
	most := free.Fd() + 1
	require.NoError(t, free.Close())
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(most), Max: limit.Max}))
	text := make([]byte, 10)
	n, err := ours.Read(text)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, err)
	assert.Equal(t, "\n", string(text[:n]))
	assert.True(t, ours.Dropped)
	require.Len(t, ours.Files, 1)
	require.NoError(t, ours.Files[0].Close())
}

// The other side has ended with unread bytes, as a process that is killed.
func TestSocketReadFails(t *testing.T) {
	for name, read := range map[string]func(*Socket) error{
		"bytes": func(s *Socket) error {
			n, err := s.Read(make([]byte, 10))
			assert.Zero(t, n)
			return err
		},
		"JSON": func(s *Socket) error { return json.NewDecoder(s).Decode(new(any)) },
	} {
		ours, theirs := socketPair(t)
		_, err := io.WriteString(ours, "unread")
		require.NoError(t, err)
		require.NoError(t, theirs.Close())
		require.ErrorIs(t, read(ours), syscall.ECONNRESET, name)
	}
}
