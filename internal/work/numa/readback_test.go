package numa

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/perf"
	"gorun/internal/record/result"
)

// If NUMA balancing is on but never scanned the process, the sample is suspect; without the kernel's file that is
// unknown, and a warning says so.
func TestMeasureDoubtsBalancing(t *testing.T) {
	m := thisMachine(t)
	for _, c := range []struct {
		balancing, sched string
		never            bool
	}{
		{"1", "mm->numa_scan_seq : 0\n", true},
		{"1", "mm->numa_scan_seq : 1\n", false},
		{"0", "mm->numa_scan_seq : 0\n", false},
		{"1", "", false},
	} {
		root := &probeThread{FS: this, balancing: []string{c.balancing, c.balancing}, sched: func() string { return c.sched }}
		s, v := takeSampleOf(t, root, m, plain(m))
		never := slices.ContainsFunc(s.Doubts, func(d result.Doubt) bool {
			return d.Grade == result.Suspect && strings.Contains(d.Reason, "NUMA balancing never scanned this process (") &&
				strings.HasSuffix(d.Reason, " of CPU time; the kernel starts at 1 s)")
		})
		assert.Equal(t, c.never, never, "%v: %v", c, s.Doubts)
		if c.sched == "" {
			require.NotNil(t, v.Unread)
			assert.Contains(t, v.Unread.Message, "CONFIG_SCHED_DEBUG")
			assert.Nil(t, v.Settled.ScanSeq)
		} else {
			assert.Nil(t, v.Unread)
		}
	}
}

// Pages that are not in memory are on no node, so that none of them is on another node than the row's.
func TestReadNodesAbsent(t *testing.T) {
	m := thisMachine(t)
	if _, err := fs.Stat(this, "proc/self/numa_maps"); err != nil {
		t.Skip("needs /proc/self/numa_maps")
	}
	page := os.Getpagesize()
	area, err := linux.NewArea(linux.AreaOptions{Bytes: 4 * page, Node: Float})
	require.NoError(t, err)
	defer area.Free()
	area.Bytes()[page] = 1
	p := &probe{m: m, area: area}
	p.Row.Mem = Float
	p.readNodes()
	require.Equal(t, 3, p.v.NodePages[-1], p.v.NodePages)
	require.Len(t, p.sample.Doubts, 1)
	assert.Equal(t, "3 pages of the buffer are not in memory", p.sample.Doubts[0].Reason)
	for node := range p.v.NodePages {
		if node != -1 {
			p.Row.Mem = node
		}
	}
	p.readNodes()
	assert.Empty(t, p.sample.Placement.Mismatches)
	p.Row.Mem++
	p.readNodes()
	assert.Equal(t, []string{fmt.Sprintf("1 pages of the buffer are not on node %d", p.Row.Mem)}, p.sample.Placement.Mismatches)
}

// The trace and the probe's own reads are combined.
func TestFigures(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2") // CPUs 0-3 and 4-7
	made := func() *probe {
		return &probe{
			m: m, Request: Request{On: cpuset.Of(0, 1, 2, 3)}, by: perf.TraceSwitches,
			spans: []span{
				{begun: 100, ended: 200, seconds: 90e-9, seen: []perf.CPURead{{NS: 100, CPU: 0}, {NS: 150, CPU: 1}}},
				{begun: 300, ended: 400, seconds: 70e-9, seen: []perf.CPURead{{NS: 300, CPU: 2}}},
			},
			moves: []perf.Move{{NS: 50, From: 3, To: 0}, {NS: 149, From: 0, To: 1}, {NS: 250, From: 1, To: 2}},
		}
	}
	p := made()
	p.figures()
	assert.Equal(t, 2, p.v.Repetitions)
	assert.Equal(t, 80e-9, p.v.Repeated.Mean)
	assert.Equal(t, result.Migrations{
		By: "switches", Total: 1, SameCore: 1, FromNode: map[string]uint64{}, ToNode: map[string]uint64{},
	}, *p.v.Migrations)
	assert.Empty(t, p.sample.Placement.Mismatches)
	assert.Empty(t, p.sample.Doubts)

	p = made()
	p.moves[1].To = 5 // and back, between two of its own reads
	p.figures()
	assert.Equal(t, []string{"the probe was on CPUs 5 instead of the requested 0-3"},
		p.sample.Placement.Mismatches)
	assert.EqualValues(t, 1, p.v.Migrations.CrossNode)

	p = made()
	p.spans[1].seen[0].CPU = 6 // the trace did not see it
	p.figures()
	assert.Len(t, p.sample.Placement.Mismatches, 1)

	p = made()
	p.lost = 3
	p.figures()
	assert.Equal(t, []result.Doubt{{Grade: result.Suspect, Reason: "3 records of migrations were lost"}},
		p.sample.Doubts)
	assert.EqualValues(t, 3, p.v.Migrations.Lost)

	p = made()
	p.by = ""
	p.figures()
	assert.Equal(t, "reads", p.v.Migrations.By)
	assert.EqualValues(t, 1, p.v.Migrations.Total)

	p = made()
	p.moves = nil // a trace without moves
	p.figures()
	require.Len(t, p.sample.Doubts, 1)
	assert.Equal(t, "the trace shows 0 migrations, but the probe itself saw 1", p.sample.Doubts[0].Reason)
}

// If NUMA balancing differs from the row's value the sample is invalid; if it changes, suspect.
func TestMeasureChecksBalancing(t *testing.T) {
	m := thisMachine(t)
	for _, c := range []struct {
		asked      int
		reads      []string
		mismatches int
		doubts     int
	}{
		{1, []string{"1", "1"}, 0, 0},
		{0, []string{"0", "0"}, 0, 0},
		{0, []string{"1", "1"}, 2, 0},
		{0, []string{"0", "2"}, 1, 1},
		{KeepSetting, []string{"1", "1"}, 0, 0},
		{KeepSetting, []string{"1", "0"}, 0, 1},
		{KeepSetting, []string{"on", "on"}, 0, 2},
	} {
		r := plain(m)
		r.Row.NUMABalancing = c.asked
		s, v := takeSampleOf(t, &probeThread{FS: this, balancing: slices.Clone(c.reads)}, m, r)
		assert.Len(t, s.Placement.Mismatches, c.mismatches, "%d %v", c.asked, c.reads)
		assert.Equal(t, c.mismatches == 0, s.Placement.Verified)
		said := 0
		for _, doubt := range s.Doubts {
			if strings.Contains(doubt.Reason, "NUMA balancing") && !strings.Contains(doubt.Reason, "never scanned") {
				said++
			}
		}
		assert.Equal(t, c.doubts, said, "%v: %v", c.reads, s.Doubts)
		if c.reads[1] != "on" {
			require.NotNil(t, v.BalancingRead)
			assert.Equal(t, c.reads[1], strconv.Itoa(*v.BalancingRead))
		} else {
			assert.Nil(t, v.BalancingRead)
		}
	}
}

// The times of the scheduler that a row sets are read back, before the loop and after it.
func TestMeasureChecksKnobs(t *testing.T) {
	m := thisMachine(t)
	for _, c := range []struct {
		asked      float64
		is         string
		mismatches int
		doubts     int
	}{
		{50e-6, "50000\n", 0, 0}, {50e-6, "500000\n", 2, 0}, {50e-6, "much\n", 0, 2}, {0, "500000\n", 0, 0},
	} {
		r := plain(m)
		r.Row.MigrationCost = c.asked
		root := &probeThread{FS: this, files: fstest.MapFS{
			"sys/kernel/debug/sched/migration_cost_ns": {Data: []byte(c.is)}, "proc/sys/kernel/sched_migration_cost_ns": nil,
		}}
		s, _ := takeSampleOf(t, root, m, r)
		assert.Len(t, s.Placement.Mismatches, c.mismatches, "%v: %v", c, s.Placement.Mismatches)
		doubts := slices.DeleteFunc(s.Doubts, func(d result.Doubt) bool {
			return !strings.Contains(d.Reason, "--migration-cost cannot be read back")
		})
		assert.Len(t, doubts, c.doubts, "%v", c)
	}
}
