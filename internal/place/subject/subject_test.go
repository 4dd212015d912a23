package subject

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/place/subject/programtest"
)

// onCPUs is the setting of threads on these CPUs.
func onCPUs(cpus cpuset.Set) Setting { return Setting{Setting: placement.Setting{CPUs: cpus}} }

func TestMain(m *testing.M) { programtest.Main(m) }

// twoOf returns the first CPU and the first two that this process may use.
func twoOf(t *testing.T) (one, two cpuset.Set) {
	t.Helper()
	cpus := tests.CPUs(t, 2)
	return cpuset.Of(cpus[0]), cpuset.Of(cpus...)
}

// had returns the CPUs that this process has, and so those that it starts.
func had(t *testing.T) cpuset.Set {
	t.Helper()
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	return cpus
}

// requireMasks looks at every thread of a process.
func requireMasks(t *testing.T, pid int, want cpuset.Set) {
	t.Helper()
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	require.NoError(t, err)
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		require.NoError(t, err)
		task, err := linux.ReadTask(os.DirFS("/"), pid, tid)
		if !linux.Gone(err) {
			require.NoError(t, err)
			require.Equal(t, want.String(), task.CPUs.Intersect(online(t)).String(), tid)
		}
	}
}

// online returns the CPUs that are online: a mask may have others.
func online(t *testing.T) cpuset.Set {
	t.Helper()
	cpus, err := linux.ReadCPUList("/sys/devices/system/cpu/online")
	require.NoError(t, err)
	return cpus
}

func open(t *testing.T, w Who) *Subject {
	t.Helper()
	p, err := Open(w)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// All threads are switched and put back. A thread that is placed by somebody else meanwhile is found, and left alone at the end.
func TestSwitch(t *testing.T) {
	one, two := twoOf(t)
	all := had(t)
	pid := programtest.Start(t, "threads", "8").Process.Pid
	s, err := NewSwitcher(open(t, Who{PID: pid}), []Setting{onCPUs(one), onCPUs(two), {}})
	require.NoError(t, err)
	requireMasks(t, pid, all) // nothing is switched yet

	threads, took, err := s.Give(onCPUs(one))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, threads, 9)
	assert.Positive(t, took)
	requireMasks(t, pid, one)
	checked, differs, err := s.ReadBack()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, checked, 9)
	assert.Empty(t, differs)

	require.NoError(t, linux.SetAffinity(pid, two))
	_, differs, err = s.ReadBack()
	require.NoError(t, err)
	assert.Len(t, differs, 1)
	_, differs, err = s.ReadBack()
	require.NoError(t, err)
	assert.Empty(t, differs, "it was given the setting again")

	_, _, err = s.Give(Setting{})
	require.NoError(t, err)
	_, differs, err = s.ReadBack()
	require.NoError(t, err)
	assert.Empty(t, differs)
	requireMasks(t, pid, all)

	_, _, err = s.Give(onCPUs(one))
	require.NoError(t, err)
	other := two.Minus(one)
	require.NoError(t, linux.SetAffinity(pid, other))
	notes, err := s.State().PutBack()
	require.NoError(t, err)
	assert.Equal(t, []string{"1 threads were left as they are: the program or somebody else has placed them meanwhile"}, notes)
	require.NoError(t, linux.SetAffinity(pid, all))
	requireMasks(t, pid, all) // the others
}

// Threads that are started all the time do not escape a switch for long, and each has what its creator had when everything is put back.
func TestPutBackWhileThreadsStart(t *testing.T) {
	one, two := twoOf(t)
	pid := programtest.Start(t, "churn", "20").Process.Pid
	s, err := NewSwitcher(open(t, Who{PID: pid}), []Setting{onCPUs(one), onCPUs(two)})
	require.NoError(t, err)
	for range 20 {
		for _, cpus := range []cpuset.Set{one, two, one} {
			_, _, err := s.Give(onCPUs(cpus))
			require.NoError(t, err)
		}
		tests.Await(t, "pass without an escaped thread", func() bool {
			_, differs, err := s.ReadBack()
			require.NoError(t, err)
			return len(differs) == 0
		})
		notes, err := s.State().PutBack()
		require.NoError(t, err)
		assert.Empty(t, notes)
		requireMasks(t, pid, had(t))
	}
}

// What gorun must not touch is refused.
func TestRefused(t *testing.T) {
	for who, why := range map[Who]string{
		{PID: os.Getpid()}:    "is gorun itself",
		{PID: 1 << 22}:        "there is no process 4194304",
		{Group: "/nowhere/x"}: "it has ended",
	} {
		_, err := Open(who)
		assert.ErrorContains(t, err, why)
	}
	if linux.Inode("/proc/self/ns/pid") == initialPIDNamespace {
		_, err := Open(Who{PID: 1})
		assert.ErrorContains(t, err, "is the machine's first, on which all others depend")
		if os.Geteuid() == 0 {
			_, err = Open(Who{PID: 2})
			assert.ErrorContains(t, err, "is a thread of the kernel")
		}
	}
	if os.Geteuid() != 0 {
		_, err := Open(Who{PID: 1})
		assert.Error(t, err)
	}
}

// A process with the PID of another one counts as a whole, as does a new one; one that has ended is lost. A process with another start is
// not the program.
func TestUsed(t *testing.T) {
	before := Used{{1, 10}: 5, {2, 20}: 1}
	assert.InDelta(t, 2.5+0.25, Used{{1, 10}: 7.5, {3, 30}: 0.25}.Since(before), 1e-9)
	assert.InDelta(t, 2, Used{{1, 11}: 2}.Since(before), 1e-9)
	_, err := Find(Who{PID: os.Getpid(), Start: 1})
	require.ErrorIs(t, err, ErrEnded)
}

// A process lives as long as one of its threads does, although its first one has ended.
func TestFirstThreadEnded(t *testing.T) {
	one, _ := twoOf(t)
	pid := programtest.Start(t, "headless", "2").Process.Pid
	tests.Await(t, "end of the first thread", func() bool { return tests.State(pid) == 'Z' })
	s, err := NewSwitcher(open(t, Who{PID: pid}), []Setting{onCPUs(one)})
	require.NoError(t, err)
	threads, _, err := s.Give(onCPUs(one))
	require.NoError(t, err)
	assert.Greater(t, threads, 2)
	notes, err := s.State().PutBack()
	require.NoError(t, err)
	assert.Empty(t, notes)
	for _, thread := range s.State().Threads {
		is, err := readThread(thread.PID, thread.TID)
		require.NoError(t, err)
		assert.True(t, is.CPUs.Equal(thread.CPUs))
	}
}

// A program with descendants is all of them, also those that start later.
func TestChildren(t *testing.T) {
	one, _ := twoOf(t)
	cmd := programtest.Start(t, "threads", "1")
	s, err := NewSwitcher(open(t, Who{PID: cmd.Process.Pid, Children: true}), []Setting{onCPUs(one)})
	require.NoError(t, err)
	threads, _, err := s.Give(onCPUs(one))
	require.NoError(t, err)
	assert.Greater(t, threads, 1)
	_, err = s.State().PutBack()
	require.NoError(t, err)
}

// A nice value that could not be put back is refused without the privilege.
func TestRestorable(t *testing.T) {
	nice := 19
	s := State{Nices: true, Given: []Setting{{Setting: placement.Setting{Nice: &nice}}}, Threads: []Thread{{PID: os.Getpid(), TID: os.Getpid()}}}
	autogrouped := s.autogrouped() != nil
	err := s.restorable()
	switch {
	case autogrouped:
		assert.ErrorContains(t, err, "autogroup is on")
	case linux.MayPlaceOthers(os.DirFS("/")) || linux.LowestNice(os.DirFS("/"), os.Getpid()) <= 0:
		assert.NoError(t, err)
	default:
		assert.ErrorContains(t, err, "the nice of the program could not be put back from 19 to 0")
	}
}

// A control group is switched by its cpuset, with one write, which new threads follow too.
func TestGroup(t *testing.T) {
	tests.Root(t)
	one, two := twoOf(t)
	dir := programtest.Group(t)
	pid := programtest.Start(t, "churn", "4").Process.Pid
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
	file := filepath.Join(dir, "cpuset.cpus")
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	s, err := NewSwitcher(open(t, Who{Group: dir}), []Setting{onCPUs(one), onCPUs(two)})
	require.NoError(t, err)
	assert.Equal(t, byGroup, How(Who{Group: dir}))
	_, _, err = s.Give(onCPUs(one))
	require.NoError(t, err)
	checked, differs, err := s.ReadBack()
	require.NoError(t, err)
	assert.Positive(t, checked)
	assert.Empty(t, differs)
	requireMasks(t, pid, one)
	notes, err := s.State().PutBack()
	require.NoError(t, err)
	assert.Empty(t, notes)
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
	requireMasks(t, pid, had(t))
}
