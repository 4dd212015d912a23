package guardian

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/tests"
)

// sleeper starts a process that a test may move, and returns its task.
func sleeper(t *testing.T, argv ...string) linux.Task {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return task(t, cmd.Process.Pid)
}

func task(t *testing.T, pid int) linux.Task {
	t.Helper()
	is, err := linux.ReadTask(os.DirFS("/"), pid, pid)
	require.NoError(t, err)
	return is
}

// twoOf returns the first CPU and the first two that this process may use.
func twoOf(t *testing.T) (one, two cpuset.Set) {
	t.Helper()
	cpus := tests.CPUs(t, 2)
	return cpuset.Of(cpus[0]), cpuset.Of(cpus...)
}

func TestMasks(t *testing.T) {
	one, two := twoOf(t)
	g := New(self(asGorun))
	ours, theirs, ended := sleeper(t, "sleep", "600"), sleeper(t, "sleep", "600"), sleeper(t, "sleep", "600")
	reused := sleeper(t, "sleep", "600")
	masks := []Mask{}
	for _, p := range []linux.Task{ours, theirs, ended, reused} {
		masks = append(masks, Mask{p.PID, p.TID, p.Start, two, one})
	}
	masks[3].Start--                                                 // of a thread that had its TID before
	require.NoError(t, g.HoldMasks("test", reused.Start, masks[:1])) // which the next call replaces
	require.NoError(t, g.HoldMasks("test", reused.Start, masks))
	for _, m := range masks {
		require.NoError(t, linux.SetAffinity(m.TID, one))
	}
	other := two.Minus(one)
	require.NoError(t, linux.SetAffinity(theirs.TID, other))
	p, err := os.FindProcess(ended.PID)
	require.NoError(t, err)
	require.NoError(t, p.Kill())
	require.NoError(t, g.UndoMasks("test"))
	assert.True(t, task(t, ours.PID).CPUs.Equal(two), "it is put back")
	assert.True(t, task(t, theirs.PID).CPUs.Equal(other), "somebody else has set it")
	assert.True(t, task(t, reused.PID).CPUs.Equal(one), "it is another thread")
	assert.Nil(t, g.process)
	require.NoError(t, g.UndoMasks("test"), "there is nothing left to undo")
}

func TestInterrupts(t *testing.T) {
	dir := t.TempDir()
	file := func(irq int, list string) string {
		path := filepath.Join(dir, strconv.Itoa(irq), "smp_affinity_list")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(list+"\n"), 0o644))
		return path
	}
	a, b, c := file(1, "0-3"), file(2, "0-3"), file(3, "0-3")
	file(4, "1")
	file(5, "0,2")
	all, only, err := Interrupts(dir, 1)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Len(t, only, 1)
	g := New(self(asGorun))
	require.NoError(t, g.HoldInterrupts("test", all))
	for _, i := range all {
		require.NoError(t, linux.SetCPUList(i.Path, i.Set))
		assert.Equal(t, "0,2-3", content(t, i.Path))
	}
	file(2, "3")
	require.NoError(t, os.Remove(c))
	require.NoError(t, g.UndoInterrupts("test"))
	assert.Equal(t, "0-3", content(t, a))
	assert.Equal(t, "3", content(t, b), "somebody else has set it")
	assert.NoFileExists(t, c)
	assert.Nil(t, g.process)
}
