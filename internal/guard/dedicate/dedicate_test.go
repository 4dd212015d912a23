package dedicate

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/guard/guardian"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/subject"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

func TestWhatIsLeft(t *testing.T) {
	const cpu = 1
	user, root := caller{pid: 50, euid: 1000}, caller{pid: 50, euid: 0, mayAll: true}
	all := func(c caller) caller {
		c.all = true
		return c
	}
	both, only := cpuset.Of(0, 1), cpuset.Of(1)
	for name, c := range map[string]struct {
		caller caller
		task   linux.Task
		why    string // "moved": it is
	}{
		"own":                 {user, linux.Task{UID: 1000, EUID: 1000, CPUs: both}, "moved"},
		"own, set-user-ID":    {user, linux.Task{UID: 1000, EUID: 0, CPUs: both}, "moved"},
		"gorun itself":        {user, linux.Task{PID: 50, UID: 1000, CPUs: both}, ""},
		"its child":           {user, linux.Task{PID: 51, Parent: 50, UID: 1000, CPUs: both}, ""},
		"its parent":          {user, linux.Task{PID: 49, UID: 1000, CPUs: both}, "moved"},
		"nowhere to go":       {user, linux.Task{UID: 1000, CPUs: only}, "allowed on CPU 1 only"},
		"others":              {user, linux.Task{UID: 7, EUID: 7, CPUs: both}, "of other users, moved with --all only"},
		"others, all":         {all(user), linux.Task{UID: 7, EUID: 7, CPUs: both}, "moved by root only (CAP_SYS_NICE)"},
		"others, root":        {root, linux.Task{UID: 7, EUID: 7, CPUs: both}, "of other users, moved with --all only"},
		"others, root, all":   {all(root), linux.Task{UID: 7, EUID: 7, CPUs: both}, "moved"},
		"kernel":              {root, linux.Task{Kernel: true, CPUs: both}, "moved with --all only"},
		"kernel, all":         {all(root), linux.Task{Kernel: true, CPUs: both}, "moved"},
		"kernel, user":        {all(user), linux.Task{Kernel: true, CPUs: both}, "moved by root only (CAP_SYS_NICE)"},
		"kernel, of the CPU":  {all(root), linux.Task{Kernel: true, Bound: true, CPUs: only}, "bound to CPU 1"},
		"kernel, worker":      {all(root), linux.Task{Kernel: true, Bound: true, CPUs: both}, "placed by the kernel itself"},
		"kernel, pinned, all": {all(root), linux.Task{Kernel: true, CPUs: only}, "allowed on CPU 1 only"},
		"bound":               {root, linux.Task{Bound: true, CPUs: both}, "placed by the kernel itself"},
	} {
		why, leave := c.caller.leaves(c.task, cpu)
		if !leave {
			why = "moved"
		}
		assert.Equal(t, c.why, why, name)
	}
}

func TestCounts(t *testing.T) {
	s := survey{names: true}
	s.leave("bound to CPU 1", linux.Task{TID: 5, Name: "a", Kernel: true})
	s.leave("bound to CPU 1", linux.Task{TID: 6, Name: "b", Kernel: true})
	s.leave("bound to CPU 1", linux.Task{TID: 7, Name: "c"})
	s.count("interrupt", "moved by root only", "")
	assert.Equal(t, []result.LeftOn{
		{What: "kernel thread", Why: "bound to CPU 1", Count: 2, Names: []string{"a (5)", "b (6)"}},
		{What: "thread", Why: "bound to CPU 1", Count: 1, Names: []string{"c (7)"}},
		{What: "interrupt", Why: "moved by root only", Count: 1},
	}, s.left)
}

// Interrupts that go to the CPU and to others are sent to the others.
func TestInterrupts(t *testing.T) {
	dir := t.TempDir()
	for irq, list := range map[string]string{"1": "0-3", "2": "0,2", "3": "1"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, irq), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, irq, "smp_affinity_list"), []byte(list+"\n"), 0o644))
	}
	s := survey{request: Request{CPU: 1}}
	files, err := s.interrupts(dir)
	require.NoError(t, err)
	assert.Equal(t, []subject.File{{Path: filepath.Join(dir, "1", "smp_affinity_list"), Before: "0-3", Given: []string{"0,2-3"}}}, files)
	assert.Equal(t, []result.LeftOn{{What: "interrupt", Why: "sent to CPU 1 only", Count: 1}}, s.left)
}

// Without a guardian nothing is moved.
func TestTakeWithoutGuardian(t *testing.T) {
	takeFails(t, launch.Self{Path: t.TempDir() + "/none", Argv: []string{"gorun"}}, "no such file")
}

// Where the guardian ends between two passes, what was moved is put back.
func TestLiveTakeWhereTheGuardianEnds(t *testing.T) {
	tests.Live(t)
	takeFails(t, launch.Self{Path: "/bin/sh", Argv: []string{"sh", "-c", "read order; echo done"}}, `the guardian said ""`)
}

// takeFails takes a CPU until that fails with this error, and requires that threads have the CPUs that they had.
func takeFails(t *testing.T, self launch.Self, says string) {
	t.Helper()
	cpu := tests.CPUs(t, 2)[0]
	others := exec.Command("sh", "-c", "cat | cat") // children of a child: threads that are to be moved
	held, err := others.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, others.Start())
	defer func() {
		held.Close()
		assert.NoError(t, others.Wait())
	}()
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan error)
	go func() { // so that a later pass finds threads
		var err error
		for err == nil && ctx.Err() == nil {
			err = exec.Command("sh", "-c", "sleep 0.02 | cat").Run()
		}
		started <- err
	}()
	tests.Await(t, "failure", func() bool {
		h, err := Take(t.Context(), guardian.New(self), Request{CPU: cpu})
		if err == nil {
			_, err = h.Release()
			require.NoError(t, err)
			return false
		}
		assert.Nil(t, h)
		return strings.Contains(err.Error(), says) // otherwise another test takes a CPU
	})
	cancel()
	require.NoError(t, <-started)
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	pids := tests.Children(t, others.Process.Pid)
	assert.NotEmpty(t, pids)
	for _, pid := range pids {
		is, err := linux.GetAffinity(pid)
		require.NoError(t, err)
		assert.Equal(t, allowed, is)
	}
}

func TestCause(t *testing.T) {
	assert.Equal(t, os.ErrInvalid, cause(&linux.Error{Op: "set", Err: os.ErrInvalid}))
	other := errors.New("x")
	assert.Equal(t, other, cause(other))
}
