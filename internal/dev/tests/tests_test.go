package tests

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDescendant(t *testing.T) {
	cmd := exec.Command("sh", "-c", "cat; true")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	cat := 0
	Await(t, "cat", func() bool {
		cat = Descendant(t, os.Getpid(), "cat")
		return cat != 0
	})
	assert.True(t, Alive(cat))
	assert.Contains(t, Children(t, cmd.Process.Pid), cat)
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	assert.False(t, Alive(cat))
	assert.Zero(t, Descendant(t, os.Getpid(), "cat"))
}
