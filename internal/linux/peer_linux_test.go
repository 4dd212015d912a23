package linux

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPeerPID(t *testing.T) {
	name := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", name)
	require.NoError(t, err)
	defer listener.Close()
	conn, err := net.Dial("unix", name)
	require.NoError(t, err)
	defer conn.Close()
	pid, err := PeerPID(conn.(syscall.Conn))
	require.NoError(t, err)
	assert.Equal(t, os.Getpid(), pid)
	require.NoError(t, conn.Close())
	_, err = PeerPID(conn.(syscall.Conn))
	assert.ErrorIs(t, err, net.ErrClosed)
}

func TestAncestors(t *testing.T) {
	above := Ancestors()
	assert.True(t, above[os.Getppid()] || os.Getppid() == 0, "a parent in another PID namespace has the number 0")
	assert.False(t, above[os.Getpid()])
	assert.False(t, above[0])
}
