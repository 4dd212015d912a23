package linux

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/dev/tests"
)

func TestParseStat(t *testing.T) {
	for stat, want := range map[string]int{
		"12 (sh) S 7 12 12 0 -1":         7,
		"12 (a) b (c) R 1 2) S 8 12 12 ": 8, // a name may hold anything
		"12 (sh) S":                      -1,
		"12 (sh) S x 1":                  -1,
		"":                               -1,
	} {
		state, parent, ok := parseStat([]byte(stat))
		assert.Equal(t, want >= 0, ok, stat)
		if ok {
			assert.Equal(t, want, parent, stat)
			assert.Contains(t, "SR", string(state), stat)
		}
	}
}

func TestDescendants(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "cat & cat; wait")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	found, err := Descendants()
	require.NoError(t, err)
	assert.Contains(t, found, cmd.Process.Pid)
	assert.NotContains(t, found, os.Getpid())
	assert.NotContains(t, found, os.Getppid())
	stdin.Close()
	require.NoError(t, cmd.Wait())
	found, err = Descendants()
	require.NoError(t, err)
	assert.NotContains(t, found, cmd.Process.Pid)
}

// The descendants of another process, without a part of them.
func TestDescendantsOf(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", `sh -c 'cat <&3 & cat <&3; wait' & cat <&3; wait`)
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	cmd.ExtraFiles = []*os.File{reader}
	require.NoError(t, cmd.Start())
	require.NoError(t, reader.Close())
	pid := cmd.Process.Pid
	var all []int
	tests.Await(t, "a shell and three of cat", func() bool {
		all, err = scanned(pid)
		require.NoError(t, err)
		return len(all) == 4
	})
	got, err := DescendantsOf(pid, 0)
	require.NoError(t, err)
	assert.ElementsMatch(t, all, got)
	shell := slices.IndexFunc(all, func(pid int) bool {
		below, err := scanned(pid)
		require.NoError(t, err)
		return len(below) == 2
	})
	require.GreaterOrEqual(t, shell, 0)
	got, err = DescendantsOf(pid, all[shell])
	require.NoError(t, err)
	assert.Len(t, got, 1)
	require.NoError(t, writer.Close())
	require.NoError(t, cmd.Wait())
	got, err = DescendantsOf(pid, 0)
	require.NoError(t, err)
	assert.Empty(t, got, "it has ended")
}

func TestInheritedFiles(t *testing.T) {
	before, err := InheritedFiles()
	require.NoError(t, err)
	file, err := os.Open(os.DevNull) // has close-on-exec
	require.NoError(t, err)
	defer file.Close()
	kept, err := unix.Dup(int(file.Fd())) // has no close-on-exec
	require.NoError(t, err)
	after, err := InheritedFiles()
	require.NoError(t, err)
	slices.Sort(before)
	slices.Sort(after)
	want := append(before, kept)
	slices.Sort(want)
	assert.Equal(t, want, after)
	require.NoError(t, unix.Close(kept))
}

func TestChildEnded(t *testing.T) {
	child := exec.Command("cat")
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	assert.False(t, ChildEnded(child.Process.Pid))
	require.NoError(t, stdin.Close())
	tests.Await(t, "end of the child", func() bool { return ChildEnded(child.Process.Pid) })
	require.NoError(t, child.Wait(), "it can still be waited for")
	assert.False(t, ChildEnded(child.Process.Pid))
}
