package placement

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/perf"
)

// sleeper starts a sleeping process, and returns its PID.
func sleeper(t *testing.T) (pid int) {
	t.Helper()
	child := exec.Command("sleep", "1000")
	require.NoError(t, child.Start())
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	return child.Process.Pid
}

// while gives a Monitor time for several read-backs, which a build with cgo makes.
func while() { time.Sleep(10 * Period) }

// An unchanged thread is read back repeatedly without a mismatch, even if other threads are changed.
func TestMonitorReadsBack(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	least, err := linux.GetNice(0)
	require.NoError(t, err)
	s := Setting{CPUs: allowed, Nice: &least, Sched: &linux.Sched{}}
	m := Watch(Thread{Name: "a", TID: sleeper(t), Setting: s}, Thread{Name: "b", TID: sleeper(t)})
	while()
	checked, mismatches := m.End()
	assert.Empty(t, mismatches)
	if linux.Cgo {
		assert.Greater(t, checked, 3)
	}
	checked, mismatches = Watch(Thread{Name: "nothing asked", TID: 1 << 30}).End()
	assert.Zero(t, checked)
	assert.Empty(t, mismatches)
}

// A change by another program is reported once, during it and after it.
func TestMonitorNoticesChanges(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	nice, batch := linux.MaxNice, linux.Sched{Policy: linux.SchedBatch}
	other := Setting{CPUs: cpuset.Of(allowed.First()), Sched: &batch}
	for _, c := range []struct {
		asked, given Setting
		back         bool // before the end
		want         string
	}{
		{Setting{CPUs: allowed}, other, false, fmt.Sprintf("asked for CPUs %s, the kernel answers CPUs %s", allowed, other.CPUs)},
		{Setting{CPUs: allowed}, other, true, fmt.Sprintf("asked for CPUs %s, the kernel answers CPUs %s", allowed, other.CPUs)},
		{Setting{Sched: &linux.Sched{}}, other, true, "asked for policy other, the kernel answers policy batch"},
		{Setting{Nice: new(int)}, Setting{Nice: &nice}, false, "asked for nice 0, the kernel answers nice 19"},
	} {
		t.Run(fmt.Sprint(c.asked, " ", c.given, " ", c.back), func(t *testing.T) {
			t.Parallel()
			switch {
			case c.back && !linux.Cgo:
				t.Skip("a build without cgo looks only at the start and at the end")
			case !c.asked.CPUs.Empty() && allowed.Len() == 1:
				t.Skip("with one CPU there is no other mask")
			}
			pid := sleeper(t)
			if c.asked.Nice != nil {
				if is, err := linux.GetNice(pid); err != nil || is != 0 {
					t.Skip("this test has a raised nice value")
				}
			}
			undisturbed := Watch(Thread{Name: "another", TID: sleeper(t), Setting: Setting{CPUs: allowed}})
			m := Watch(Thread{Name: "it", TID: pid, Setting: c.asked})
			undo, err := c.given.Apply(pid)
			require.NoError(t, err)
			while()
			if c.back {
				_, err := undo.Apply(pid)
				require.NoError(t, err)
			}
			_, mismatches := m.End()
			assert.Equal(t, []string{"it: " + c.want}, mismatches)
			_, mismatches = undisturbed.End()
			assert.Empty(t, mismatches)
		})
	}
}

// A mismatch from the start is reported too, and an ended thread is not.
func TestMonitorBeginsAndEnds(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	pid := sleeper(t)
	m := Watch(Thread{Name: "it", TID: pid, Setting: Setting{CPUs: cpuset.Of(cpuset.Max)}})
	_, mismatches := m.End()
	require.Len(t, mismatches, 1)
	assert.Contains(t, mismatches[0], "it: asked for CPUs 65535, the kernel answers CPUs "+allowed.String())

	ends := exec.Command("sleep", "0.1")
	require.NoError(t, ends.Start())
	m = Watch(Thread{Name: "it", TID: ends.Process.Pid, Setting: Setting{CPUs: allowed}})
	require.NoError(t, ends.Wait())
	while()
	checked, mismatches := m.End()
	assert.Positive(t, checked)
	assert.Empty(t, mismatches)
}

// A thread may have either of two sets of CPUs.
func TestMonitorOfEither(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	pid := sleeper(t)
	near := cpuset.Of(allowed.First())
	m := Watch(Thread{Name: "it", TID: pid, Setting: Setting{CPUs: near}, Or: allowed})
	for _, cpus := range []cpuset.Set{near, allowed, near} {
		require.NoError(t, linux.SetAffinity(pid, cpus))
		while()
	}
	_, mismatches := m.End()
	assert.Empty(t, mismatches)

	// It may change from one to the other at any time.
	var stop atomic.Bool
	ended := make(chan error)
	go func() {
		var err error
		for i := 0; err == nil && !stop.Load(); i++ {
			err = linux.SetAffinity(pid, []cpuset.Set{near, allowed}[i%2])
		}
		ended <- err
	}()
	for range 500 {
		_, mismatches := Watch(Thread{Name: "it", TID: pid, Setting: Setting{CPUs: near}, Or: allowed}).End()
		require.Empty(t, mismatches)
	}
	stop.Store(true)
	require.NoError(t, <-ended)
}

// A pinned thread that was elsewhere for less than a period is found by its migrations.
func TestMonitorCountsMigrations(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	if _, err := perf.ThreadMigrations(os.Getpid()); err != nil || allowed.Len() == 1 {
		t.Skip("migrations cannot be counted, or cannot happen: ", err)
	}
	onThread(func() {
		home, away := cpuset.Of(allowed.First()), cpuset.Of(allowed.Last())
		require.NoError(t, linux.SetAffinity(0, home))
		for {
			m := Watch(Thread{Name: "it", TID: linux.Gettid(), Setting: Setting{CPUs: home}})
			require.NoError(t, linux.SetAffinity(0, away))
			require.NoError(t, linux.SetAffinity(0, home))
			_, mismatches := m.End()
			require.NotEmpty(t, mismatches)
			last := mismatches[len(mismatches)-1]
			if strings.Contains(last, "the kernel answers") {
				continue // a look fell between the two
			}
			assert.Equal(t, fmt.Sprintf("it: it may use only CPU %s, but migrated 2 times", home), last)
			return
		}
	})
}

// A narrowed cpuset, and a change of this process's own mask, are reported.
func TestMonitorOfTheMachine(t *testing.T) {
	allowed, err := linux.GetAffinity(os.Getpid())
	require.NoError(t, err)
	m := WatchMachine(nil)
	while()
	_, changes := m.End()
	require.Empty(t, changes)
	if allowed.Len() == 1 {
		t.Skip("with one CPU there is no other mask")
	}
	noticed := 0
	m = WatchMachine(func() { noticed++ })
	require.NoError(t, linux.SetAffinity(os.Getpid(), cpuset.Of(allowed.First())))
	while()
	require.NoError(t, linux.SetAffinity(os.Getpid(), allowed))
	_, changes = m.End()
	if linux.Cgo {
		assert.Equal(t, []string{fmt.Sprintf("the CPUs that gorun may use were %s and are %d", allowed, allowed.First())}, changes)
		assert.Equal(t, 1, noticed)
	}
}

func TestMonitorNoticesACpuset(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	group := cpusetGroup(t, allowed)
	pid := sleeper(t)
	require.NoError(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Appendln(nil, pid), 0o644))
	m := Watch(Thread{Name: "it", TID: pid, Setting: Setting{CPUs: allowed}})
	require.NoError(t, os.WriteFile(filepath.Join(group, "cpuset.cpus"), fmt.Appendln(nil, allowed.First()), 0o644))
	while()
	_, mismatches := m.End()
	want := Mismatch{"CPUs", allowed.String(), fmt.Sprint(allowed.First())}
	assert.Equal(t, []string{"it: " + want.Error()}, mismatches)
}

// cpusetGroup makes a control group with all allowed CPUs, in the version that has the cpuset controller here. It is
// removed when the test's processes have ended.
func cpusetGroup(t *testing.T, allowed cpuset.Set) string {
	t.Helper()
	if allowed.Len() < 2 {
		t.Skip("with one CPU no cpuset can be narrowed")
	}
	var errs []string
	for _, parent := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/cpuset"} {
		group, err := os.MkdirTemp(parent, "gorun-test-")
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		t.Cleanup(func() {
			assert.Eventually(t, func() bool { return os.Remove(group) == nil }, time.Minute, time.Millisecond)
		})
		if _, err = os.Stat(filepath.Join(group, "cgroup.procs")); err != nil {
			errs = append(errs, err.Error()) // without version 1 this is not a control group
			continue
		}
		err = os.WriteFile(filepath.Join(group, "cpuset.cpus"), []byte(allowed.String()), 0o644)
		mems, memsErr := os.ReadFile(filepath.Join(parent, "cpuset.mems"))
		if memsErr == nil { // version 1, where a new group has none
			_ = os.WriteFile(filepath.Join(group, "cpuset.mems"), mems, 0o644)
		}
		if err == nil {
			return group
		}
		errs = append(errs, err.Error())
	}
	t.Skip("no cgroup with a cpuset can be made: ", strings.Join(errs, "; "))
	return ""
}

// Monitors that start and end concurrently, each for another thread, do not disturb each other.
func TestMonitorsTogether(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for range 50 {
				checked, mismatches := Watch(Thread{TID: linux.Gettid(), Setting: Setting{CPUs: allowed}}).End()
				require.Empty(t, mismatches)
				require.GreaterOrEqual(t, checked, 2) // more if it took longer than a Period
			}
		})
	}
	assert.Empty(t, poller.monitors)
}
