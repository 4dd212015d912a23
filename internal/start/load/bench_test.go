package load

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// BenchmarkDuty reports the difference in percentage points between the load of each second and the requested one: the
// mean and the maximum. If stress-ng is on the PATH, it is measured too. The last allowed CPU must be otherwise idle.
// An iteration takes a second: use -benchtime 10x.
func BenchmarkDuty(b *testing.B) {
	allowed, err := linux.GetAffinity(0)
	if err != nil {
		b.Skip(err)
	}
	cpu := allowed.Last()
	for _, percent := range []float64{10, 30, 60, 90} {
		b.Run(fmt.Sprintf("gorun/%v%%", percent), func(b *testing.B) {
			f, err := Start(b.Context(), self(), burners(cpuset.Of(cpu), percent))
			require.NoError(b, err)
			seconds(b, f.group.PIDs[0], percent)
			require.NoError(b, f.Stop())
		})
		b.Run(fmt.Sprintf("stress-ng/%v%%", percent), func(b *testing.B) {
			runtime.LockOSThread() // stress-ng dies with this thread
			defer runtime.UnlockOSThread()
			seconds(b, stressNG(b, cpu, percent), percent)
		})
	}
}

// seconds measures a process for b.N seconds.
func seconds(b *testing.B, pid int, percent float64) {
	used := func(at time.Duration) time.Duration {
		require.NoError(b, linux.SleepUntil(at))
		used, err := linux.ProcessCPUTime(pid)
		require.NoError(b, err)
		return used
	}
	var sum, worst float64
	at := linux.Monotonic() + time.Second // let it settle
	before := used(at)
	for b.Loop() {
		at += time.Second
		now := used(at)
		off := math.Abs(100*(now-before).Seconds() - percent)
		sum += off
		worst = max(worst, off)
		before = now
	}
	b.ReportMetric(sum/float64(b.N), "points/mean")
	b.ReportMetric(worst, "points/worst")
}

// stressNG starts stress-ng with one worker and returns the worker's PID.
func stressNG(b *testing.B, cpu int, percent float64) int {
	path, err := exec.LookPath("stress-ng")
	if err != nil {
		b.Skip("stress-ng is not on the PATH")
	}
	stress := exec.Command(path, "--cpu", "1", "--cpu-load", strconv.FormatFloat(percent, 'f', -1, 64),
		"--taskset", strconv.Itoa(cpu), "--quiet")
	stress.SysProcAttr = linux.ChildAttr()
	require.NoError(b, stress.Start())
	b.Cleanup(func() {
		_ = syscall.Kill(-stress.Process.Pid, syscall.SIGKILL) // its worker is in its process group
		_ = stress.Wait()
	})
	for {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", stress.Process.Pid))
		require.NoError(b, err)
		if first := strings.Fields(string(children)); len(first) > 0 {
			pid, err := strconv.Atoi(first[0])
			require.NoError(b, err)
			return pid
		}
	}
}
