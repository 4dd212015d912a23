package perf

import (
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

// kernelEvents are events of the kernel that stand for those of a CPU, which most virtual machines do not have.
func kernelEvents(pmu int) group {
	of := func(name string, config uint64, in func(*result.Counters) **uint64) counted {
		return counted{name, unix.PERF_TYPE_SOFTWARE, config, in}
	}
	return group{pmu, []counted{
		of("cycles", unix.PERF_COUNT_SW_TASK_CLOCK, func(c *result.Counters) **uint64 { return &c.Cycles }),
		of("instructions", unix.PERF_COUNT_SW_PAGE_FAULTS_MIN, func(c *result.Counters) **uint64 { return &c.Instructions }),
		of("cache_misses", unix.PERF_COUNT_SW_CPU_MIGRATIONS, func(c *result.Counters) **uint64 { return &c.CacheMisses }),
	}}
}

// countOf returns the counts of a command that moves n times between two CPUs, of these generations. It is started on the second CPU.
func countOf(t *testing.T, on func(pmu int) int, a, b, n, generations int, groups ...group) (*result.Counters, *exec.Cmd) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	defer func() { assert.NoError(t, linux.SetAffinity(0, allowed)) }()
	c := openCounters(groups, on)
	defer func() { assert.NoError(t, c.Close()) }()
	skipUncounted(t, c)
	require.NoError(t, alternate(100, a, b), "what this thread does is not counted")
	cmd := moverCommand(a, b, n, generations)
	require.NoError(t, cmd.Run())
	return c.Read(), cmd
}

// skipUncounted skips a test where the kernel or a filter of system calls allows no events.
func skipUncounted(t *testing.T, c *Counters) {
	t.Helper()
	if len(c.figures[0].fds) > 0 {
		return
	}
	why := c.Read().Lacks[0].Why
	require.Contains(t, why, "needs sysctl kernel.perf_event_paranoid=2")
	if !strings.Contains(why, "seccomp") {
		require.NotContains(t, why, "(perf_event_paranoid is 2)", "an ordinary user may count in user mode")
	}
	t.Skip("needs perf_event_paranoid of 2 or less")
}

// The events of a group begin with the first one.
func TestCountersAreAGroup(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := openCounters([]group{kernelEvents(0)}, anyCPU)
	defer func() { assert.NoError(t, c.Close()) }()
	skipUncounted(t, c)
	require.NoError(t, unix.IoctlSetInt(c.figures[0].fds[0], unix.PERF_EVENT_IOC_ENABLE, 0))
	tests.Pause(time.Millisecond) // this thread is switched out and in
	for _, f := range c.figures {
		counted, err := readTally(f.fds[0])
		require.NoError(t, err)
		assert.Positive(t, counted.enabled, f.name)
	}
}

// A group counts a program and its descendants from the execve(2) on, each event for the same time.
func TestCountersOfDescendants(t *testing.T) {
	const moves, generations = 100, 3
	a, b := twoCPUs(t)
	got, cmd := countOf(t, anyCPU, a, b, moves, generations-1, kernelEvents(0))
	require.NotNil(t, got.Cycles, "%v", got.Lacks)
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage) // also of the descendants, which it waited for
	assert.Positive(t, *got.Cycles)
	assert.InDelta(t, *got.Cycles, 1e9*got.CountedSeconds, float64(*got.Cycles)/10, "the clock of tasks counts the time in which they ran")
	assert.Positive(t, *got.Instructions)
	assert.LessOrEqual(t, *got.Instructions, uint64(used.Minflt), "those between the fork and the execve do not count")
	if got.UserOnly {
		return // the kernel moves threads
	}
	require.NotNil(t, got.CacheMisses, "%v", got.Lacks)
	assert.GreaterOrEqual(t, *got.CacheMisses, uint64(generations*moves))
	assert.Less(t, *got.CacheMisses, uint64(2*generations*moves), "other threads of the runtime move a few times")
}

// An event that counts on one CPU, while the program runs on another one, shows what multiplexing shows: the count is not known. Two of them, which
// count on all CPUs of the program, stand for the two PMUs of a machine with two kinds of cores: their sum is known.
func TestCountersThatCountAPartOfTheTime(t *testing.T) {
	a, b := twoCPUs(t)
	got, _ := countOf(t, func(int) int { return a }, a, b, 100, 0, kernelEvents(0))
	assert.Nil(t, got.Cycles)
	assert.Nil(t, got.Instructions)
	require.NotEmpty(t, got.Lacks)
	assert.Regexp(t, `^counted for \d+% of the time only`, got.Lacks[0].Why)

	got, _ = countOf(t, func(int) int { return a }, b, b, 1, 0, kernelEvents(0))
	assert.Nil(t, got.Cycles)
	assert.Equal(t, []string{"cycles", "instructions", "cache_misses"}, got.Lacks[0].Of)

	got, _ = countOf(t, func(pmu int) int { return []int{a, b}[pmu] }, a, b, 100, 0, kernelEvents(0), kernelEvents(1))
	require.NotNil(t, got.Cycles, "%v", got.Lacks)
	assert.InDelta(t, *got.Cycles, 1e9*got.CountedSeconds, float64(*got.Cycles)/10)
}

// An ordinary user counts in user mode, and the result says so.
func TestCountersWithoutPrivilege(t *testing.T) {
	dropCapabilities(t)
	a, b := twoCPUs(t)
	got, _ := countOf(t, anyCPU, a, b, 10, 0, kernelEvents(0))
	assert.True(t, got.UserOnly)
	assert.Positive(t, *got.Instructions, "page faults in user mode")
	if tests.Runs("pmu") {
		c := OpenCounters()
		require.NoError(t, exec.Command("/bin/true").Run())
		got := c.Read()
		require.NoError(t, c.Close())
		require.NotNil(t, got.Instructions, "%v", got.Lacks)
		assert.True(t, got.UserOnly)
		assert.Nil(t, got.MHz(), "the time in the kernel is not that of these cycles")
	}
}

// Each event of this machine is counted, or has a reason.
func TestCountersOfThisMachine(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := OpenCounters()
	const rounds = 3
	for range rounds {
		require.NoError(t, exec.Command("/bin/sh", "-c", "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done").Run())
	}
	got := c.Read()
	require.NoError(t, c.Close())
	t.Logf("%+v", *got)
	for _, e := range hardware {
		if *e.in(got) == nil {
			lacks := 0
			for _, l := range got.Lacks {
				for _, name := range l.Of {
					if name == e.name {
						lacks++
						assert.NotEmpty(t, l.Why)
					}
				}
			}
			assert.Equal(t, 1, lacks, e.name)
		}
	}
	if got.Instructions != nil {
		assert.Greater(t, *got.Instructions, uint64(rounds*1000*10), "a step of a shell's loop")
	}
	if tests.Runs("pmu") {
		require.NotNil(t, got.Cycles, "QEMU emulates a PMU")
		require.NotNil(t, got.Instructions)
		assert.InDelta(t, 1000, *got.MHz(), 10, "each instruction takes 1 ns")
	}
	if got.Cycles != nil {
		assert.Positive(t, *got.Cycles)
		assert.Positive(t, got.CountedSeconds)
	} else {
		t.Skip("needs a PMU")
	}
}

func TestTotal(t *testing.T) {
	for name, c := range map[string]struct {
		of      []tally
		count   uint64
		seconds float64
		err     string
	}{
		"all of the time":   {[]tally{{7, 2e9, 2e9}}, 7, 2, ""},
		"in turns":          {[]tally{{7, 2e9, 2e9 - 1}}, 7, 2, "counted for 99% of the time only"},
		"never":             {[]tally{{0, 2e9, 0}}, 0, 0, "counted for 0% of the time only"},
		"not started":       {[]tally{{0, 0, 0}}, 0, 0, "may have gained privileges"},
		"two kinds of core": {[]tally{{7, 2e9, 0.5e9}, {8, 2e9, 1.499e9}}, 15, 1.999, ""},
		"one of them only":  {[]tally{{7, 2e9, 2e9}, {0, 2e9, 0}}, 7, 2, ""},
		"in turns on one":   {[]tally{{7, 2e9, 0.5e9}, {8, 2e9, 1.4e9}}, 15, 1.9, "counted for 95% of the time only"},
	} {
		count, seconds, err := total(c.of)
		if c.err != "" {
			assert.ErrorContains(t, err, c.err, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, c.count, count, name)
		assert.InDelta(t, c.seconds, seconds, 1e-8, name)
	}
}

// Files of PMUs: an Intel server with top-down events, a machine with two kinds of cores of which one has them, arm64, and a virtual machine.
func TestGroups(t *testing.T) {
	machine := func(files map[string]string) fstest.MapFS {
		fsys := fstest.MapFS{}
		for name, text := range files {
			fsys["sys/bus/event_source/devices/"+name] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
		return fsys
	}
	topdownOf := func(pmu string) map[string]string {
		return map[string]string{
			pmu + "/type": "4", pmu + "/cpus": "0-7", pmu + "/events/slots": "event=0x00,umask=0x4",
			pmu + "/events/topdown-retiring": "event=0x00,umask=0x80", pmu + "/events/topdown-bad-spec": "event=0x00,umask=0x81",
			pmu + "/events/topdown-fe-bound": "event=0x00,umask=0x82", pmu + "/events/topdown-be-bound": "event=0x00,umask=0x83",
			"software/type": "1", "uncore_imc_0/cpumask": "0", "uncore_imc_0/type": "12",
		}
	}
	server := groups(machine(topdownOf("cpu")))
	require.Len(t, server, 2)
	assert.Equal(t, uint64(unix.PERF_COUNT_HW_INSTRUCTIONS), server[0].events[1].config)
	assert.Equal(t, uint32(unix.PERF_TYPE_HARDWARE), server[0].events[1].kind)
	assert.Equal(t, uint64(0x10003), server[0].events[4].config, "dTLB, read, miss")
	slots := server[1].events
	require.Len(t, slots, 5)
	assert.Equal(t, "slots", slots[0].name, "it leads the group")
	assert.Equal(t, uint32(4), slots[0].kind)
	assert.Equal(t, uint64(0x400), slots[0].config)
	assert.Equal(t, uint64(0x8300), slots[4].config)

	files := topdownOf("cpu_core")
	files["cpu_atom/type"], files["cpu_atom/cpus"] = "10", "8-15"
	hybrid := groups(machine(files))
	require.Len(t, hybrid, 3)
	assert.Equal(t, []int{0, 1, 1}, []int{hybrid[0].pmu, hybrid[1].pmu, hybrid[2].pmu})
	assert.Equal(t, uint64(10<<32|unix.PERF_COUNT_HW_INSTRUCTIONS), hybrid[0].events[1].config)
	assert.Equal(t, uint64(4<<32|0x10003), hybrid[1].events[4].config)
	assert.Len(t, hybrid[2].events, 5)

	arm := groups(machine(map[string]string{"armv8_pmuv3/type": "8", "armv8_pmuv3/cpus": "0-1", "armv8_pmuv3/events/cpu_cycles": "event=0x0011"}))
	for _, one := range [][]group{arm, groups(machine(map[string]string{"software/type": "1"})), groups(fstest.MapFS{})} {
		require.Len(t, one, 1)
		require.Len(t, one[0].events, len(hardware))
		for i, e := range one[0].events {
			assert.Equal(t, hardware[i].config, e.config, "the kernel chooses the PMU")
		}
	}
	damaged := topdownOf("cpu")
	damaged["cpu/events/slots"] = "event=0x00,umask=0x4,ldlat=3"
	assert.Len(t, groups(machine(damaged)), 1, "a term that is not known")
}

func TestCountError(t *testing.T) {
	for _, c := range []struct {
		err    error
		others bool
		words  string
	}{
		{unix.ENOENT, false, "this machine has no such counter, as is usual in a virtual machine (perf_event_open: no such file or directory)"},
		{unix.EOPNOTSUPP, true, "the CPU cannot count it in this way (perf_event_open: operation not supported)"},
		{unix.EINVAL, true, "the CPU cannot count it together with the others (perf_event_open: invalid argument)"},
		{unix.EINVAL, false, "count events (perf_event_open): invalid argument"},
		{unix.EBUSY, false, "another program has the counters (perf_event_open: device or resource busy)"},
		{unix.EACCES, false, "count events (perf_event_open): permission denied (needs sysctl kernel.perf_event_paranoid=2 or CAP_PERFMON"},
		{unix.EPERM, false, "count events (perf_event_open): operation not permitted (needs sysctl kernel.perf_event_paranoid=2 or CAP_PERFMON"},
	} {
		var got result.Counters
		got.Lacking("cycles", countError(c.err, c.others))
		assert.Contains(t, got.Lacks[0].Why, c.words)
	}
}

// BenchmarkCounters opens, reads and closes the events of this machine, and as many of the kernel.
func BenchmarkCounters(b *testing.B) {
	for name, groups := range map[string][]group{"machine": here(), "kernel": {kernelEvents(0)}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c := openCounters(groups, anyCPU)
				c.Read()
				_ = c.Close()
			}
		})
	}
}
