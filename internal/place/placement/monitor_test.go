package placement

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/perf"
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

// watchNoticed is Watch with a channel that is closed when the Monitor finds the first mismatch.
func watchNoticed(threads ...Thread) (m *Monitor, noticed chan struct{}) {
	noticed = make(chan struct{})
	return watch(&Monitor{shared: true, changed: func() { close(noticed) }}, threads), noticed
}

// awaitLooks waits until a Monitor has looked at its first thread n more times.
func awaitLooks(t *testing.T, m *Monitor, n int) {
	t.Helper()
	state := m.threads[0].state
	n += state.Looks()
	tests.Await(t, "look at a thread", func() bool { return state.Looks() >= n })
}

// An unchanged thread is read back repeatedly without a mismatch. A thread of which nothing is asked is not.
func TestMonitorReadsBack(t *testing.T) {
	allowed := allowedCPUs(t)
	least, err := linux.GetNice(0)
	require.NoError(t, err)
	s := Setting{CPUs: allowed, Nice: &least, Sched: &linux.Sched{}}
	m := Watch(Thread{Name: "a", TID: sleeper(t), Setting: s}, Thread{Name: "b", TID: 1 << 30})
	awaitLooks(t, m, 2)
	checked, mismatches := m.End()
	assert.Empty(t, mismatches)
	assert.GreaterOrEqual(t, checked, 4, "also at the start and at the end")
}

// A change by another program is reported once, though it lasts until the end or is undone before.
func TestMonitorNoticesChanges(t *testing.T) {
	tests.CPUs(t, 2) // on one there is no other mask
	allowed := allowedCPUs(t)
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
			pid := sleeper(t)
			if c.asked.Nice != nil {
				if is, err := linux.GetNice(pid); err != nil || is != 0 {
					t.Skip("needs a nice value of 0")
				}
			}
			undisturbed := Watch(Thread{Name: "another", TID: sleeper(t), Setting: Setting{CPUs: allowed}})
			m, noticed := watchNoticed(Thread{Name: "it", TID: pid, Setting: c.asked})
			before, err := c.given.current(pid)
			require.NoError(t, err)
			require.NoError(t, c.given.Apply(pid))
			tests.Receive(t, "mismatch", noticed)
			if c.back {
				require.NoError(t, before.Apply(pid))
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
	allowed := allowedCPUs(t)
	m := Watch(Thread{Name: "it", TID: sleeper(t), Setting: Setting{CPUs: cpuset.Of(cpuset.Max)}})
	_, mismatches := m.End()
	require.Len(t, mismatches, 1)
	assert.Contains(t, mismatches[0], "it: asked for CPUs 65535, the kernel answers CPUs "+allowed.String())

	ends := exec.Command("cat")
	in, err := ends.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, ends.Start())
	m = Watch(Thread{Name: "it", TID: ends.Process.Pid, Setting: Setting{CPUs: allowed}})
	require.NoError(t, in.Close())
	require.NoError(t, ends.Wait())
	checked, mismatches := m.End()
	assert.Positive(t, checked)
	assert.Empty(t, mismatches)
}

// A change of a process that may change its own setting is a mismatch only while the process sleeps.
func TestMonitorOfAFreeProcess(t *testing.T) {
	cpus := tests.CPUs(t, 2)
	asked := Setting{CPUs: cpuset.Of(cpus[0])}
	want := Mismatch{"CPUs", fmt.Sprint(cpus[0]), fmt.Sprint(cpus[1])}
	t.Run("by itself", func(t *testing.T) {
		tests.Tools(t, "taskset")
		cmd := exec.Command("sh", "-c", `read x && exec taskset -c "$0" cat`, want.Got)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		pid := cmd.Process.Pid
		require.NoError(t, linux.SetAffinity(pid, asked.CPUs))
		m := Watch(Thread{TID: pid, Setting: asked, Free: true})
		_, err = in.Write([]byte("go\n"))
		require.NoError(t, err)
		tests.Await(t, "change", func() bool {
			is, err := linux.GetAffinity(pid)
			require.NoError(t, err)
			return is.String() == want.Got
		})
		_, mismatches := m.End()
		assert.Empty(t, mismatches)
		assert.Equal(t, []Mismatch{want}, m.Own())
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
	t.Run("by another", func(t *testing.T) {
		pid := sleeper(t)
		tests.Await(t, "sleep", func() bool { return tests.State(pid) == 'S' })
		tests.Await(t, "mismatch", func() bool { // again if the look began before the change
			require.NoError(t, linux.SetAffinity(pid, asked.CPUs))
			m := Watch(Thread{TID: pid, Setting: asked, Free: true})
			require.NoError(t, linux.SetAffinity(pid, cpuset.Of(cpus[1])))
			awaitLooks(t, m, 1)
			_, mismatches := m.End()
			if len(mismatches) > 0 {
				assert.Equal(t, []string{want.Error()}, mismatches)
				assert.Empty(t, m.Own())
			}
			return len(mismatches) > 0
		})
	})
}

// A pinned thread that was elsewhere for less than a period is found by its migrations.
func TestMonitorCountsMigrations(t *testing.T) {
	allowed := allowedCPUs(t)
	tests.CPUs(t, 2)
	if _, err := perf.ThreadMigrations(os.Getpid()); err != nil {
		t.Skip("needs counts of migrations")
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

// A change of this process's own mask is reported, once.
func TestMonitorOfTheMachine(t *testing.T) {
	allowed, err := linux.GetAffinity(os.Getpid())
	require.NoError(t, err)
	m := WatchMachine(nil)
	awaitLooks(t, m, 2)
	_, changes := m.End()
	require.Empty(t, changes)
	tests.CPUs(t, 2) // on one there is no other mask
	noticed := make(chan struct{}, 2)
	m = WatchMachine(func() { noticed <- struct{}{} })
	require.NoError(t, linux.SetAffinity(os.Getpid(), cpuset.Of(allowed.First())))
	tests.Receive(t, "change", noticed)
	require.NoError(t, linux.SetAffinity(os.Getpid(), allowed))
	_, changes = m.End()
	assert.Equal(t, []string{fmt.Sprintf("the CPUs that gorun may use were %s and are %d", allowed, allowed.First())}, changes)
	assert.Empty(t, noticed)
}

// Monitors that start and end concurrently, each for another thread, do not disturb each other.
func TestMonitorsTogether(t *testing.T) {
	allowed := allowedCPUs(t)
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
