package measure

import (
	"fmt"
	"runtime"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

// Pinned does work on one CPU, and watches meanwhile that the thread stays there. The thread ends with the calling goroutine, and takes
// its mask along.
func Pinned(cpu int, work func() error) (read result.Placement, err error) {
	runtime.LockOSThread() // never unlocked
	setting := placement.Setting{CPUs: cpuset.Of(cpu)}
	if err := setting.Apply(0); err != nil {
		return read, err
	}
	monitor := placement.Watch(placement.Thread{Name: fmt.Sprintf("the thread of CPU %d", cpu), TID: linux.Gettid(), Setting: setting})
	err = work()
	read.Add(monitor.End())
	return read, err
}
