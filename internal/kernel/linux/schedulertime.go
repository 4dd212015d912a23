package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"

	"gorun/internal/kernel/sysfs"
)

// SchedulerTime is a time among the scheduler's parameters. It is a file in debugfs, which only root can read, or a sysctl
// before Linux 5.13 (kernel/sched/debug.c).
type SchedulerTime struct {
	files [2]string
	unit  float64 // of the number in the file, in seconds
}

// The parameters of NUMA balancing's scans, and the time after a thread's last run from which its cache contents are
// assumed cold, so that the load balancer may move it (sysctl_sched_migration_cost, kernel/sched/fair.c).
var (
	// NUMAScanDelay is the CPU time that a thread uses before its process is scanned for the first time.
	NUMAScanDelay = SchedulerTime{numaScanFiles("scan_delay_ms"), 1e-3}
	// NUMAScanPeriod is the shortest time between two scans.
	NUMAScanPeriod = SchedulerTime{numaScanFiles("scan_period_min_ms"), 1e-3}
	MigrationCost  = SchedulerTime{
		[2]string{"/sys/kernel/debug/sched/migration_cost_ns", "/proc/sys/kernel/sched_migration_cost_ns"}, 1e-9,
	}
)

// SettableFiles returns the paths of the kernel's files that gorun writes numbers to: NUMABalancingSysctl, and the files of each SchedulerTime.
func SettableFiles() []string {
	all := []string{NUMABalancingSysctl}
	for _, s := range []SchedulerTime{NUMAScanDelay, NUMAScanPeriod, MigrationCost} {
		all = append(all, s.files[:]...)
	}
	return all
}

func numaScanFiles(name string) [2]string {
	return [2]string{"/sys/kernel/debug/sched/numa_balancing/" + name, "/proc/sys/kernel/numa_balancing_" + name}
}

// mostUnits is the largest number that all kernels accept: their sysctls are signed.
const mostUnits = math.MaxInt32

// String returns the parameter's name in debugfs.
func (s SchedulerTime) String() string { return path.Base(s.files[0]) }

// Number returns the number in the file for a time in seconds. It returns an error unless that is a positive whole
// number of the file's unit.
func (s SchedulerTime) Number(seconds float64) (int, error) {
	n := math.Round(seconds / s.unit)
	if n < 1 || n > mostUnits || math.Abs(n*s.unit-seconds) > s.unit/1000 {
		return 0, fmt.Errorf("the kernel takes whole numbers of %g s, from 1 to %d of them", s.unit, mostUnits)
	}
	return int(n), nil
}

// Read returns the time in seconds. root is rooted at /. The error is fs.ErrNotExist if the file does not exist.
func (s SchedulerTime) Read(root fs.FS) (seconds float64, err error) {
	for _, file := range s.files {
		n, readErr := sysfs.ReadInt(root, strings.TrimPrefix(file, "/"))
		if readErr == nil {
			return float64(n) * s.unit, nil
		}
		if err == nil || !errors.Is(readErr, fs.ErrNotExist) {
			err = readErr
		}
	}
	return 0, err
}

// File returns the path of the file on this machine. The error has the remedy: only root can read debugfs, which may
// not be mounted.
func (s SchedulerTime) File() (string, error) {
	return s.fileIn(func(file string) error {
		_, err := os.Stat(file)
		return err
	})
}

// fileIn returns the first file for which stat returns no error.
func (s SchedulerTime) fileIn(stat func(file string) error) (string, error) {
	op := "find the scheduler's " + s.String()
	for _, file := range s.files {
		err := stat(file)
		switch {
		case err == nil:
			return file, nil
		case errors.Is(err, fs.ErrPermission):
			return "", &Error{Op: op, Err: fs.ErrPermission, Remedy: "that needs root on the machine itself"}
		}
	}
	return "", &Error{
		Op: op, Err: fmt.Errorf("neither %s nor %s exists: %w", s.files[0], s.files[1], errors.ErrUnsupported),
		Remedy: "as root: mount -t debugfs debugfs /sys/kernel/debug; it needs a kernel with CONFIG_SCHED_DEBUG",
	}
}
