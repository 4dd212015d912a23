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

// ReadNUMABalancing returns the switch in root, which is rooted at /. A kernel that has none gives
// errors.ErrUnsupported.
func ReadNUMABalancing(root fs.FS) (int, error) {
	value, err := sysfs.ReadInt(root, strings.TrimPrefix(NUMABalancingSysctl, "/"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("this kernel was built without NUMA balancing: %w", errors.ErrUnsupported)
	}
	return value, err
}
