package launch

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/record/result"
)

// The looks at where a command has its memory: the first one is after firstPages, further ones when it has lived a tenth longer. They take at
// most this share of a CPU: the kernel looks at each page.
const (
	firstPages = 10 * time.Millisecond
	pagesShare = 200 // 1/200
)

// pages is what looks at memory have found.
type pages struct {
	due  time.Time      // when the next look is
	last *result.Memory // nil: no process was found
}

// looked is a process at a look, and its threads.
type looked struct {
	pid  int
	tids []int
}

// look looks at the memory of processes.
func (p *pages) look(processes []looked) {
	all := result.Memory{}
	for _, of := range processes {
		anonymous, huge, err := linux.ProcessHuge(of.pid)
		if err != nil {
			continue // it has ended, or belongs to another user
		}
		all.Anonymous, all.Huge = all.Anonymous+anonymous, all.Huge+huge
		if nodes := nodesOfCPUs(); nodes != nil {
			here, there := of.nodes(nodes)
			all.Resident, all.OtherNodes = all.Resident+here+there, all.OtherNodes+there
		}
	}
	if all.Anonymous > 0 { // otherwise all have ended
		p.last = &all
	}
}

// nodes returns how many bytes of the process are on the nodes of the CPUs on which its threads ran last, and on other ones.
func (l looked) nodes(of []int) (here, there uint64) {
	local := map[int]bool{}
	for _, tid := range l.tids {
		if cpu, err := linux.LastCPU(tid); err == nil && cpu < len(of) {
			local[of[cpu]] = true
		}
	}
	bytes, err := linux.ProcessNodes(l.pid)
	if err != nil || len(local) == 0 {
		return 0, 0
	}
	for node, n := range bytes {
		if local[node] {
			here += n
		} else {
			there += n
		}
	}
	return here, there
}

// nodesOfCPUs returns the node of each CPU of this machine.
var nodesOfCPUs = sync.OnceValue(func() []int { return readNodes(os.DirFS("/")) })

// readNodes returns the node of each CPU (Documentation/ABI/stable/sysfs-devices-node); nil: there is one node, or it is not known. root is
// rooted at /.
func readNodes(root fs.FS) (of []int) {
	online, err := sysfs.ReadSet(root, "sys/devices/system/node/online")
	if err != nil || online.Len() < 2 {
		return nil
	}
	for node := range online.All() {
		cpus, err := sysfs.ReadSet(root, fmt.Sprintf("sys/devices/system/node/node%d/cpulist", node))
		if err != nil {
			return nil
		}
		for cpu := range cpus.All() {
			of = append(of, slices.Repeat([]int{-1}, max(0, cpu+1-len(of)))...)
			of[cpu] = node
		}
	}
	return of
}
