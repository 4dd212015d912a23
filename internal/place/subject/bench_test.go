package subject

import (
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/place/subject/programtest"
	"gorun/internal/stats"
)

// A switch of 1,000 sleeping threads, compared with taskset(1) of all of them, in turn.
func BenchmarkSwitch(b *testing.B) {
	tests.Tools(b, "taskset")
	cpus := tests.CPUs(b, 2)
	pid := programtest.Start(b, "threads", "1000").Process.Pid
	p, err := Open(Who{PID: pid})
	require.NoError(b, err)
	defer p.Close()
	settings := []Setting{onCPUs(cpuset.Of(cpus[0])), onCPUs(cpuset.Of(cpus[1]))}
	s, err := NewSwitcher(p, settings)
	require.NoError(b, err)
	var ours, theirs, readBack []float64
	for i := range max(b.N, 10) {
		to := settings[i%2]
		threads, took, err := s.Give(to)
		require.NoError(b, err)
		require.Greater(b, threads, 1000)
		ours = append(ours, took.Seconds())
		begun := time.Now()
		_, differs, err := s.ReadBack()
		require.NoError(b, err)
		require.Empty(b, differs)
		readBack = append(readBack, time.Since(begun).Seconds())
		begun = time.Now()
		require.NoError(b, exec.Command("taskset", "-a", "-c", "-p", to.CPUs.String(), strconv.Itoa(pid)).Run())
		theirs = append(theirs, time.Since(begun).Seconds())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1e3*stats.Median(ours), "ms/switch")
	b.ReportMetric(1e3*stats.Median(readBack), "ms/read-back")
	b.ReportMetric(stats.Median(ours)/stats.Median(theirs), "of-taskset")
}
