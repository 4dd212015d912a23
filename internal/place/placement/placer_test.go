package placement

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// kernelView is a thread's state in /proc, read independently of the code under test.
type kernelView struct{ mask, nice, policy string }

func view(t *testing.T, tid string) (v kernelView, alive bool) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/task/" + tid + "/status")
	if err != nil {
		return v, false
	}
	stat, err := os.ReadFile("/proc/self/task/" + tid + "/stat")
	if err != nil {
		return v, false
	}
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			v.mask = online(t, list)
		}
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // proc_pid_stat(5): the name may hold spaces
	fields := strings.Fields(rest)                // field 3 of the man page is fields[0]
	v.nice, v.policy = fields[19-3], fields[41-3]
	return v, true
}

// online leaves those of a list's CPUs that are online. A thread's first mask may hold others (Linux gives every process
// all possible CPUs), and kernels before 6.2 keep of a mask that is set only what is online.
func online(t *testing.T, list string) string {
	t.Helper()
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	require.NoError(t, err)
	cpus, err := cpuset.Parse(string(text))
	require.NoError(t, err)
	mask, err := cpuset.Parse(list)
	require.NoError(t, err)
	return mask.Intersect(cpus).String()
}

func views(t *testing.T) map[string]kernelView {
	t.Helper()
	paths, err := filepath.Glob("/proc/self/task/*")
	require.NoError(t, err)
	all := map[string]kernelView{}
	for _, path := range paths {
		if v, alive := view(t, filepath.Base(path)); alive {
			all[filepath.Base(path)] = v
		}
	}
	return all
}

func own(t *testing.T) kernelView {
	t.Helper()
	status, err := os.Readlink("/proc/thread-self")
	require.NoError(t, err)
	v, alive := view(t, filepath.Base(status))
	require.True(t, alive)
	return v
}

// allowedCPUs returns the CPUs that the test may use.
func allowedCPUs(t *testing.T) cpuset.Set {
	t.Helper()
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	return allowed
}

// policies are the modes of placement and their mixtures, on the CPUs that this test may use.
func policies(t *testing.T) map[string]Policy {
	t.Helper()
	allowed := allowedCPUs(t)
	cpus := allowed.List()
	nice, batch := 7, linux.Sched{Policy: linux.SchedBatch}
	return map[string]Policy{
		"none":                 {},
		"lock":                 {Lock: true},
		"pin-cpus":             {Lock: true, PinCPUs: cpus},
		"pin-cpus one":         {Lock: true, PinCPUs: cpus[len(cpus)-1:]},
		"pin-cpus unlocked":    {PinCPUs: cpus},
		"pin-thread":           {PinThread: true},
		"pin-thread locked":    {PinThread: true, Lock: true},
		"nice":                 {Nice: &nice},
		"nice locked":          {Nice: &nice, Lock: true},
		"batch":                {Sched: &batch},
		"batch locked":         {Sched: &batch, Lock: true},
		"pin-thread nice":      {PinThread: true, Nice: &nice},
		"pin-thread nice lock": {PinThread: true, Nice: &nice, Lock: true},
		"all":                  {Lock: true, PinCPUs: cpus, PinThread: true, Nice: &nice, Sched: &batch},
	}
}

// The kernel confirms the requested settings of a seated worker. After Restore every thread of the process is as before
// or has ended, also if the kernel does not allow a thread to be restored, as with nice for an ordinary user.
func TestPlacerAppliesAndUndoes(t *testing.T) {
	allowed := allowedCPUs(t)
	for name, policy := range policies(t) {
		t.Run(name, func(t *testing.T) {
			before := views(t)
			first := before[filepath.Base(mainThread())]
			const workers = 40
			plan := Assign(policy, allowed, workers, false)
			placer, err := plan.Open()
			require.NoError(t, err)

			var wg sync.WaitGroup
			for i := range workers {
				wg.Go(func() {
					seat := placer.Enter(i)
					defer placer.Leave(seat)
					if !policy.Lock {
						return // its present CPU is not determined
					}
					is := own(t)
					switch {
					case len(policy.PinCPUs) > 0:
						assert.Equal(t, cpuset.Of(policy.PinCPUs[i%len(policy.PinCPUs)]).String(), is.mask)
						assert.True(t, seat.Verified)
					case policy.PinThread:
						assert.Equal(t, cpuset.Of(seat.CPU).String(), is.mask)
					}
					if policy.Nice != nil {
						assert.Equal(t, "7", is.nice)
					}
					if policy.Sched != nil {
						assert.Equal(t, "3", is.policy, "SCHED_BATCH, sched(7)")
					}
				})
			}
			wg.Wait()
			_, missed, words := placer.Report()
			assert.Zero(t, missed, words)
			require.NoError(t, placer.Restore())

			for tid, after := range views(t) {
				want, old := before[tid]
				if !old {
					want = first
				}
				assert.Equal(t, want, after, "thread %s", tid)
			}
		})
	}
}

// A thread that cannot be restored ends with its worker, and is forgotten: its TID may be reused.
func TestThreadsThatCannotBePutBackEnd(t *testing.T) {
	allowed := allowedCPUs(t)
	nice := 7
	plan := Assign(Policy{Lock: true, PinThread: true, Nice: &nice}, allowed, 1, false)
	placer, err := plan.Open()
	require.NoError(t, err)
	placer.restorable = false // as for an ordinary user
	tid := make(chan int)
	go func() {
		seat := placer.Enter(0)
		tid <- seat.TID
		placer.Leave(seat)
	}()
	ended := fmt.Sprintf("/proc/self/task/%d", <-tid)
	tests.Await(t, "end of the thread", func() bool {
		_, err := os.Stat(ended)
		return errors.Is(err, os.ErrNotExist)
	})
	placer.seen.Range(func(tid, _ any) bool {
		t.Errorf("thread %v is still known", tid)
		return true
	})
	require.NoError(t, placer.Restore())
}

func mainThread() string { return "/proc/self/task/" + pid() }

func pid() string {
	link, _ := os.Readlink("/proc/self")
	return link
}

// Executors run on their CPUs, and are restored afterwards.
func TestExecutorsAreSeated(t *testing.T) {
	allowed := allowedCPUs(t)
	before := views(t)
	plan := Assign(Policy{}, allowed, 10, true)
	placer, err := plan.Open()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for e, cpu := range plan.Executors {
		wg.Go(func() {
			seat := placer.EnterExecutor(e)
			defer placer.Leave(seat)
			assert.Equal(t, cpuset.Of(cpu).String(), own(t).mask)
			assert.Equal(t, cpu, linux.Getcpu())
		})
	}
	wg.Wait()
	require.NoError(t, placer.Restore())
	for tid, after := range views(t) {
		if want, old := before[tid]; old {
			assert.Equal(t, want, after)
		}
	}
}

// A refusal by the kernel is an error before any worker starts.
func TestOpenTriesThePlan(t *testing.T) {
	allowed := allowedCPUs(t)
	absent := cpuset.Max
	plan := Assign(Policy{Lock: true, PinCPUs: []int{absent}}, allowed.With(absent), 1, false)
	_, err := plan.Open()
	require.ErrorContains(t, err, "set the affinity to CPUs 65535")
}

func TestUsable(t *testing.T) {
	allowed := allowedCPUs(t)
	assert.True(t, Usable(allowed))
	assert.False(t, Usable(allowed.With(cpuset.Max)), "the kernel leaves a CPU out that does not exist")
	assert.False(t, Usable(cpuset.Of(cpuset.Max)), "the kernel refuses")
	for _, v := range views(t) {
		assert.Equal(t, allowed.String(), v.mask, "its thread has ended, or is about to")
	}
}

// Confine moves every thread of the process, and its undo restores every one.
func TestConfine(t *testing.T) {
	allowed := allowedCPUs(t)
	one := cpuset.Of(allowed.Last())
	before := views(t)
	restore, err := Confine(one)
	require.NoError(t, err)
	for tid, v := range views(t) {
		assert.Equal(t, one.String(), v.mask, "thread %s", tid)
	}
	require.NoError(t, restore())
	for tid, v := range views(t) {
		if want, old := before[tid]; old {
			assert.Equal(t, want, v)
		}
	}
}
