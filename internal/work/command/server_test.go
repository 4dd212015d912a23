package command

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
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

// live is this machine.
func live(t *testing.T, cpus cpuset.Set) experiment.Machine {
	t.Helper()
	return experiment.Machine{Root: os.DirFS("/"), Live: true, CPUs: cpus}
}

// The CPU time of a server and its descendants during a sample is a figure of it, and belongs to the sample.
func TestServer(t *testing.T) {
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	pid, end := busy(t)
	server, err := (&Serving{pid: &pid}).Find(live(t, cpus))
	require.NoError(t, err)
	path, err := os.Executable()
	require.NoError(t, err)
	cell := Cell{Argv: []string{"sleep", "0.05"}, Settings: make([]placement.Setting, 1), Server: server}
	s := &sampler{
		Environment: experiment.Environment{Self: launch.Self{Path: path, Argv: []string{path}}, Environ: os.Environ()}, cells: []Cell{cell},
	}
	defer func() { require.NoError(t, s.Close()) }()
	warnings, err := s.Prepare(t.Context())
	require.NoError(t, err)
	assert.Empty(t, warnings)

	var sample result.Sample
	tests.Await(t, "CPU time of the server's child", func() bool {
		before, err := server.used(os.DirFS("/"))
		require.NoError(t, err)
		require.Len(t, before, 2)
		sample, err = s.Sample(t.Context(), cell)
		require.NoError(t, err)
		after, err := server.used(os.DirFS("/"))
		require.NoError(t, err)
		v, _ := result.Typed[Figures](&sample)
		require.NotNil(t, v.ServerSeconds)
		require.LessOrEqual(t, *v.ServerSeconds, after.since(before))
		require.GreaterOrEqual(t, sample.Unwaited, *v.ServerSeconds)
		return *v.ServerSeconds > 0.001
	})
	assert.Empty(t, sample.Doubts)

	end()
	sample, err = s.Sample(t.Context(), cell)
	require.NoError(t, err)
	require.Len(t, sample.Doubts, 1)
	assert.Equal(t, result.Suspect, sample.Doubts[0].Grade)
	assert.Contains(t, sample.Doubts[0].Reason, "(--with-pid): it has ended")
	_, err = (&Serving{pid: &pid}).Find(live(t, cpus))
	require.ErrorContains(t, err, "there is no such process")
	assert.Contains(t, hint.Of(err), "pgrep")
}

// A process with the PID of the server that has another start is not the server; one that is new counts as a whole.
func TestUsedBetween(t *testing.T) {
	before := used{{1, 10}: 5, {2, 20}: 1}
	assert.InDelta(t, 2.5+0.25, used{{1, 10}: 7.5, {3, 30}: 0.25}.since(before), 1e-9)
	_, err := (&Server{PID: os.Getpid(), Start: 1}).used(os.DirFS("/"))
	assert.True(t, linux.Gone(err), err)
}

// /proc/stat counts the CPUs of the run only: a server that may use others cannot be told from other programs there.
func TestServerElsewhere(t *testing.T) {
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
			server, err := (&Serving{pid: &pid}).Find(live(t, cpuset.Of(two...)))
			require.NoError(t, err)
			s := &sampler{cells: []Cell{{
				Server: server, Settings: []placement.Setting{{CPUs: cpuset.Of(c.run...)}},
			}}}
			assert.Len(t, s.place(), c.warnings)
			assert.Equal(t, c.apart, s.apart)
		})
	}
}
