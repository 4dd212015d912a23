package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"gorun/internal/sysfs"
)

// NUMABalancingSysctl is the switch of automatic NUMA balancing (Documentation/admin-guide/sysctl/kernel.rst,
// numa_balancing): 0 is off, 1 on, 2 the promotion between tiers of memory, 3 both. It is one for the whole machine,
// containers included.
const NUMABalancingSysctl = "/proc/sys/kernel/numa_balancing"

// ErrNoNUMABalancing is the error of a kernel that has no such switch.
var ErrNoNUMABalancing = errors.New("this kernel was built without NUMA balancing")

// ReadNUMABalancing returns the switch in root, which is rooted at /. A kernel that has none gives ErrNoNUMABalancing,
// which can be said only where other files of /proc/sys can be seen: a container may hide all of them.
func ReadNUMABalancing(root fs.FS) (int, error) {
	value, err := sysfs.ReadInt(root, strings.TrimPrefix(NUMABalancingSysctl, "/"))
	if err == nil {
		return value, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		const present = "proc/sys/kernel/osrelease" // on every Linux
		if _, hidden := sysfs.ReadString(root, present); hidden == nil {
			return 0, ErrNoNUMABalancing
		}
		err = fmt.Errorf("%w, as /proc/sys is hidden", err)
	}
	return 0, fmt.Errorf("whether NUMA balancing is on cannot be read: %w", err)
}
