package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cgroup/cgrouptest"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

// busy starts a process that uses a CPU until the test ends, by a child of its.
func busy(t *testing.T) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "(while :; do :; done) & wait")
	require.NoError(t, cmd.Start())
	pid = cmd.Process.Pid
	var below []int
	tests.Await(t, "child of the process", func() bool {
		var err error
		below, err = linux.DescendantsOf(pid, 0)
		require.NoError(t, err)
		return len(below) == 1
	})
	end = func() {
		for _, pid := range append(below, pid) {
			if process, err := os.FindProcess(pid); err == nil {
				_ = process.Kill() // it may have ended
			}
		}
		_ = cmd.Wait() // it was killed
	}
	t.Cleanup(end)
	return pid, end
}

// on is this machine with these CPUs.
func on(cpus cpuset.Set) experiment.Machine { return experiment.Machine{Live: true, CPUs: cpus} }

// The CPU time of a server and its descendants during a sample belongs to the sample. One that has ended is a doubt.
func TestWatch(t *testing.T) {
	pid, end := busy(t)
	flags := Flags{pid: &pid}
	server, err := flags.Find(on(cpuset.Of(0)))
	require.NoError(t, err)
	usedBy := func(pid int) float64 {
		used, err := linux.ProcessCPUTime(pid)
		require.NoError(t, err)
		return used.Seconds()
	}
	childUsed := func() float64 {
		pids, err := linux.DescendantsOf(pid, 0)
		require.NoError(t, err)
		return usedBy(pids[0])
	}
	for _, apart := range []bool{false, true} {
		var inside float64
		outside := usedBy(pid) + childUsed()
		sample, seconds, err := server.Watch(apart, func() (result.Sample, error) {
			begun := childUsed()
			tests.Await(t, "CPU time of the server's child", func() bool {
				inside = childUsed() - begun
				return inside > 0.01
			})
			return result.Sample{Seconds: 1}, nil
		})
		require.NoError(t, err)
		require.NotNil(t, seconds)
		assert.GreaterOrEqual(t, *seconds, inside)
		assert.LessOrEqual(t, *seconds, usedBy(pid)+childUsed()-outside+1e-9)
		assert.Empty(t, sample.Doubts)
		belongs := *seconds
		if apart {
			belongs = 0
		}
		assert.InDelta(t, belongs, sample.Unwaited, 1e-9)
		assert.InDelta(t, -belongs, sample.QueuedShare, 1e-9)
	}

	sample, seconds, err := server.Watch(false, func() (result.Sample, error) {
		end()
		return result.Sample{}, nil
	})
	require.NoError(t, err)
	assert.Nil(t, seconds)
	require.Len(t, sample.Doubts, 1)
	assert.Equal(t, result.Suspect, sample.Doubts[0].Grade)
	assert.Contains(t, sample.Doubts[0].Reason, "(--with-pid): it has ended")
	_, err = flags.Find(on(cpuset.Of(0)))
	require.ErrorContains(t, err, "there is no such process")
	assert.Contains(t, hint.Of(err), "pgrep")
}

// A control group is a server before it has a process, but not if gorun is in it.
func TestGroup(t *testing.T) {
	_, err := (&Flags{cgroup: "gorun/nowhere"}).Find(on(cpuset.Of(0)))
	require.ErrorContains(t, err, "--with-cgroup gorun/nowhere: ")
	assert.Contains(t, hint.Of(err), "give the directory of a control group")
	dir := cgrouptest.Counted(t)
	relative, err := filepath.Rel(cgroups, dir)
	require.NoError(t, err)
	for _, name := range []string{dir, relative} {
		server, err := (&Flags{cgroup: name}).Find(on(cpuset.Of(0)))
		require.NoError(t, err)
		assert.Equal(t, "the control group "+dir+" (--with-cgroup)", server.String())
	}
	join := func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
	}
	t.Cleanup(func() { require.NoError(t, join(filepath.Dir(dir))) }) // where it was before
	require.NoError(t, join(dir))
	_, err = (&Flags{cgroup: dir}).Find(on(cpuset.Of(0)))
	require.ErrorContains(t, err, "gorun is in this control group itself")
}

// /proc/stat counts the CPUs of the run only: a server that may use others cannot be told from other programs there.
func TestPlace(t *testing.T) {
	two := tests.CPUs(t, 2)
	for name, c := range map[string]struct {
		server, run []int
		apart       bool
		warnings    int
	}{
		"on the same CPU": {two[:1], two[:1], false, 0},
		"on another CPU":  {two[:1], two[1:], true, 0},
		"on more CPUs":    {two, two[:1], false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			pid, _ := busy(t)
			pids, err := linux.DescendantsOf(pid, 0)
			require.NoError(t, err)
			for _, pid := range append(pids, pid) {
				require.NoError(t, linux.SetAffinity(pid, cpuset.Of(c.server...)))
			}
			server, err := (&Flags{pid: &pid}).Find(on(cpuset.Of(two...)))
			require.NoError(t, err)
			apart, warnings := server.Place(cpuset.Of(c.run...))
			assert.Len(t, warnings, c.warnings)
			assert.Equal(t, c.apart, apart)
		})
	}
}
