package contend

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// thisMachine opens a runner for all CPUs that the tests may use.
func thisMachine(t *testing.T) (*topology.Machine, []NodeCPUs, *Runner) {
	t.Helper()
	m, err := topology.Read(os.DirFS("/"))
	require.NoError(t, err)
	mask, err := linux.GetAffinity(os.Getpid())
	require.NoError(t, err)
	require.True(t, mask.Equal(m.Allowed()), "the test was given CPUs %v and finds %v", mask, m.Allowed())
	nodes, err := nodesOf(m, m.Allowed(), "")
	require.NoError(t, err)
	nodeOf := map[int]int{}
	for _, node := range nodes {
		for _, cpu := range node.CPUs {
			nodeOf[cpu] = node.Node
		}
	}
	r, err := Open(nodeOf, bestVariant())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return m, nodes, r
}

// rowsOf returns the rows of a pattern on this machine, with memory on the default node.
func rowsOf(t *testing.T, m *topology.Machine, nodes []NodeCPUs, ops, load string, dist ...int) []result.ContendRow {
	t.Helper()
	pattern, err := LookupLoad(load)
	require.NoError(t, err)
	list, err := parseOps(ops)
	require.NoError(t, err)
	memNodes, err := parseMemNodes("all", m, nodes)
	require.NoError(t, err)
	if len(dist) == 0 {
		dist = []int{0}
	}
	return Rows(Sweep{Ops: list, Load: pattern, Nodes: nodes, DistBytes: dist, MemNodes: memNodes})
}

// takeSample measures a row.
func takeSample(t *testing.T, r *Runner, row result.ContendRow, timing Timing) (s result.Sample, v Figures) {
	t.Helper()
	s, err := r.Measure(t.Context(), row, timing)
	require.NoError(t, err)
	figures, ok := result.Typed[Figures](&s)
	require.True(t, ok)
	return s, *figures
}

// A row runs on its CPUs, each as often as asked, and its word is on its node.
func TestMeasureByCount(t *testing.T) {
	const count = 5003
	m, nodes, r := thisMachine(t)
	rows := append(rowsOf(t, m, nodes, All, "one-iteration", 0, 8), rowsOf(t, m, nodes, "xadd,faa-go", "cpu-rollover")...)
	for _, row := range rows {
		s, v := takeSample(t, r, row, Timing{Count: count})
		assert.True(t, s.Placement.Verified, "%s: %v", row.Op, s.Placement.Mismatches)
		assert.Equal(t, uint64(count*row.CPUs), v.Operations, row.Op)
		assert.Positive(t, v.NsPerOp)
		assert.LessOrEqual(t, v.Min, v.Max)
		cpus, err := cpuset.Parse(row.CPUList)
		require.NoError(t, err)
		require.Len(t, v.Threads, row.CPUs)
		require.Len(t, s.CPUs, row.CPUs)
		for i, cpu := range cpus.List() {
			assert.Equal(t, cpu, v.Threads[i].CPU)
			assert.Equal(t, cpu, v.Threads[i].CPUSeen)
			assert.Equal(t, uint64(count), v.Threads[i].Operations)
			assert.Equal(t, cpu, s.CPUs[i].CPU)
			assert.Positive(t, s.CPUs[i].BusySeconds)
			assert.LessOrEqual(t, s.CPUs[i].BusySeconds, s.Seconds)
		}
		if len(m.Nodes) > 1 {
			require.NotNil(t, v.MemNodeRead, "a kernel with several nodes reports a page's node")
		}
		if v.MemNodeRead != nil {
			assert.Equal(t, row.MemNode, *v.MemNodeRead)
		}
	}
}

func TestMeasureByTime(t *testing.T) {
	m, nodes, r := thisMachine(t)
	for _, row := range rowsOf(t, m, nodes, "xadd,cas-loop,faa-go", "cpu-increase") {
		s, v := takeSample(t, r, row, Timing{Time: 30 * time.Millisecond, Window: time.Millisecond})
		assert.True(t, s.Placement.Verified)
		assert.Equal(t, 29, v.WindowsOf, "30 windows, the first of them incomplete")
		assert.LessOrEqual(t, v.Windows, v.WindowsOf)
		if v.Windows == 0 { // another program had a CPU all the time
			assert.Equal(t, result.Invalid, s.Doubts[0].Grade)
			continue
		}
		assert.Positive(t, v.NsPerOp)
		assert.Equal(t, row.Op == "cas-loop", v.Failures != nil)
		if row.CPUs == 1 && v.Failures != nil {
			assert.Zero(t, *v.Failures, "no other thread swaps")
		}
	}
}

// A long row ends with its context; without a stop this test would hang.
func TestMeasureStops(t *testing.T) {
	m, nodes, r := thisMachine(t)
	for _, timing := range []Timing{{Time: time.Hour, Window: time.Second}, {Count: 1 << 50}} {
		for _, row := range rowsOf(t, m, nodes, "syscall,cmpxchg,faa-go", "one-iteration") {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond) // at any moment
			s, err := r.Measure(ctx, row, timing)
			cancel()
			require.NoError(t, err)
			assert.True(t, s.Partial)
			takeSample(t, r, row, Timing{Count: 100}) // the next row is not stopped
		}
	}
}

func TestPreheat(t *testing.T) {
	_, _, r := thisMachine(t)
	ended, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond) // at any moment
	defer cancel()
	_, err := r.preheat(ended)
	require.NoError(t, err)
	cancel()
	settled, err := r.preheat(ended)
	require.NoError(t, err)
	assert.False(t, settled)
	warnings, err := r.Prepare(ended)
	require.NoError(t, err)
	assert.Empty(t, warnings, "it was cut short")
}
