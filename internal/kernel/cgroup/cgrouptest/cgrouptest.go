// Package cgrouptest makes control groups for tests of limits.
package cgrouptest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gorun/internal/dev/tests"
)

// files hold the limit of a controller, in both versions of control groups.
var files = map[string][]string{
	"pids":    {"pids.max"},
	"memory":  {"memory.max", "memory.limit_in_bytes"},
	"cpu":     {"cpu.max", "cpu.cfs_quota_us"}, // in microseconds of each 100 ms
	"cpuset":  {"cpuset.cpus"},
	"cpuacct": {"cpuacct.usage", "cpu.stat"},
}

// Counted makes a group whose CPU time is counted, as Limited does.
func Counted(t testing.TB) (dir string) {
	t.Helper()
	return Limited(t, "cpuacct", -1)
}

// Cpuset makes a group with these CPUs and nodes, as Limited does.
func Cpuset(t testing.TB, cpus, mems string) (dir string) {
	t.Helper()
	dir = Limited(t, "cpuset", -1)
	for file, text := range map[string]string{"cpuset.cpus": cpus, "cpuset.mems": mems} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0); err != nil {
			t.Skipf("needs a control group with a cpuset: %v", err)
		}
	}
	return dir
}

// Limited makes a group below this process's own, limited by a controller ("pids", "memory", "cpu"; -1: not yet), and removes it when the
// test is over. A process joins it by writing its PID to cgroup.procs in it. Where no group can be made, the test is
// skipped.
func Limited(t testing.TB, controller string, limit int) (dir string) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip("needs control groups")
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 || fields[1] != controller && fields[1] != "" {
			continue
		}
		dir := filepath.Join("/sys/fs/cgroup", fields[1], fields[2], fmt.Sprintf("gorun-test-%d-%s", os.Getpid(), controller))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { tests.Await(t, "end of its processes", func() bool { return os.Remove(dir) == nil }) })
		for _, file := range files[controller] {
			if limit < 0 && exists(filepath.Join(dir, file)) {
				return dir
			}
			if limit >= 0 && os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(limit)), 0) == nil {
				return dir
			}
		}
	}
	t.Skipf("needs a control group limited by %s", controller)
	return ""
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
