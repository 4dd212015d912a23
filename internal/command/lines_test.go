package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/cpuset"
	"gorun/internal/launch"
	"gorun/internal/linux"
	"gorun/internal/placement"
)

// A setting in gorun's words, and as it is applied without gorun.
func TestLines(t *testing.T) {
	nice, node, sched := 5, 1, linux.Sched{Policy: linux.SchedBatch}
	realTime := linux.Sched{Policy: linux.SchedFIFO, Priority: 10}
	memory := func(policy linux.Mempolicy, nodes ...int) placement.Setting {
		return placement.Setting{Mempolicy: policy, Nodes: cpuset.Of(nodes...)}
	}
	bound := memory(linux.MempolicyBind, 7)
	bound.CPUs = cpuset.Of(0)
	for words, c := range map[string]struct {
		setting placement.Setting
		procs   int
		want    string // taskset | numactl | systemd
	}{
		"none":                          {placement.Setting{}, 0, " |  | "},
		"cpus 0,32":                     {placement.Setting{CPUs: cpuset.Of(0, 32)}, 0, "taskset -c 0,32 | numactl --physcpubind=0,32 | CPUAffinity=0,32"},
		"mempolicy interleave:0-1":      {memory(linux.MempolicyInterleave, 0, 1), 0, " | numactl --interleave=0-1 | NUMAPolicy=interleave NUMAMask=0-1"},
		"cpus 0, mempolicy bind:7":      {bound, 0, " | numactl --physcpubind=0 --membind=7 | CPUAffinity=0 NUMAPolicy=bind NUMAMask=7"},
		"mempolicy preferred-many:0-1":  {memory(linux.MempolicyPreferredMany, 0, 1), 0, " | numactl --preferred-many=0-1 | "},
		"cpus 0, preferred-node 1":      {placement.Setting{CPUs: cpuset.Of(0), PreferredNode: &node}, 0, " |  | "}, // only gorun sets it
		"mempolicy local, gomaxprocs 3": {memory(linux.MempolicyLocal), 3, " | env GOMAXPROCS=3 numactl --localalloc | Environment=GOMAXPROCS=3 NUMAPolicy=local"},
		"nice 5, sched batch":           {placement.Setting{Nice: &nice, Sched: &sched}, 0, "nice -n 5 chrt --batch 0 |  | Nice=5 CPUSchedulingPolicy=batch"},
		"cpus 1, sched fifo:10":         {placement.Setting{CPUs: cpuset.Of(1), Sched: &realTime}, 0, "chrt --fifo 10 taskset -c 1 | chrt --fifo 10 numactl --physcpubind=1 | CPUSchedulingPolicy=fifo CPUSchedulingPriority=10 CPUAffinity=1"},
		"gomaxprocs 2":                  {placement.Setting{}, 2, "env GOMAXPROCS=2 |  | Environment=GOMAXPROCS=2"},
	} {
		s := launch.CommandSetting{Setting: c.setting, GOMAXPROCS: c.procs}
		assert.Equal(t, words, s.String())
		lines := linesOf(s)
		assert.Equal(t, c.want, strings.Join([]string{lines.Taskset, lines.Numactl, strings.Join(lines.Systemd, " ")}, " | "), words)
	}
}
