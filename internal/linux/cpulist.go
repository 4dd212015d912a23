package linux

import (
	"fmt"
	"os"
	"path/filepath"

	"gorun/internal/cpuset"
	"gorun/internal/sysfs"
)

// ReadCPUList returns the CPUs of a file of the kernel that lists them, such as an interrupt's smp_affinity_list.
func ReadCPUList(path string) (cpuset.Set, error) {
	return sysfs.ReadSet(os.DirFS(filepath.Dir(path)), filepath.Base(path))
}

// SetCPUList writes the list and reads it back. The kernel refuses what the hardware cannot do (EIO, EINVAL).
func SetCPUList(path string, cpus cpuset.Set) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, cpus)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if is, err := ReadCPUList(path); err != nil || !is.Equal(cpus) {
		return fmt.Errorf("%s is %v afterwards, and not %v (%v)", path, is, cpus, err)
	}
	return nil
}
