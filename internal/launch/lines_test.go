package launch

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/placement"
	"gorun/internal/result"
)

func TestLines(t *testing.T) {
	nice, node, sched := 5, 1, linux.Sched{Policy: linux.SchedBatch}
	realTime := linux.Sched{Policy: linux.SchedFIFO, Priority: 10}
	for _, test := range []struct {
		setting Setting
		want    result.Lines
	}{
		{Setting{}, result.Lines{}},
		{Setting{Setting: placement.Setting{CPUs: cpuset.Of(0, 32)}}, result.Lines{
			Taskset: "taskset -c 0,32", Numactl: "numactl --physcpubind=0,32", Systemd: []string{"CPUAffinity=0,32"},
		}},
		{Setting{Setting: placement.Setting{Mempolicy: linux.MempolicyInterleave, Nodes: cpuset.Of(0, 1)}}, result.Lines{
			Numactl: "numactl --interleave=0-1", Systemd: []string{"NUMAPolicy=interleave", "NUMAMask=0-1"},
		}},
		{Setting{Setting: placement.Setting{
			CPUs: cpuset.Of(0), Mempolicy: linux.MempolicyBind, Nodes: cpuset.Of(7),
		}}, result.Lines{
			Numactl: "numactl --physcpubind=0 --membind=7",
			Systemd: []string{"CPUAffinity=0", "NUMAPolicy=bind", "NUMAMask=7"},
		}},
		{Setting{Setting: placement.Setting{Mempolicy: linux.MempolicyPreferredMany, Nodes: cpuset.Of(0, 1)}}, result.Lines{
			Numactl: "numactl --preferred-many=0-1",
		}},
		{Setting{Setting: placement.Setting{CPUs: cpuset.Of(0), PreferredNode: &node}}, result.Lines{}}, // only gorun sets it
		{Setting{Setting: placement.Setting{Mempolicy: linux.MempolicyLocal}}, result.Lines{
			Numactl: "numactl --localalloc", Systemd: []string{"NUMAPolicy=local"},
		}},
		{Setting{Setting: placement.Setting{Nice: &nice, Sched: &sched}, GOMAXPROCS: 2}, result.Lines{
			Taskset: "env GOMAXPROCS=2 nice -n 5 chrt --batch 0",
			Systemd: []string{"Environment=GOMAXPROCS=2", "Nice=5", "CPUSchedulingPolicy=batch"},
		}},
		{Setting{Setting: placement.Setting{CPUs: cpuset.Of(1), Sched: &realTime}}, result.Lines{
			Taskset: "chrt --fifo 10 taskset -c 1", Numactl: "chrt --fifo 10 numactl --physcpubind=1",
			Systemd: []string{"CPUSchedulingPolicy=fifo", "CPUSchedulingPriority=10", "CPUAffinity=1"},
		}},
	} {
		assert.Equal(t, test.want, test.setting.Lines())
	}
}
