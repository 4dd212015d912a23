// Package tests has what tests share: the make target that runs a test, what a test needs of the machine, and waiting. It imports no
// package of gorun, so that tests of each may import it.
//
// The tests have three layers. `make test` runs the first, which needs Go and a C compiler only. `make test-live` runs the tests whose
// names begin with TestLive: real processes, faults, privileges, installation. Each further target runs the tests that
// need its programs or its machines. A test that is not run is skipped with a reason, and the end of `make test` counts the reasons.
package tests

import (
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// As in cmd/gorun, only the main goroutine runs on the main thread, which cannot end: a setting that a goroutine gives to its thread
// and leaves to end with it would stay, and processes would inherit it.
func init() { runtime.LockOSThread() }

const (
	// Targets is the environment variable with the make targets whose tests run, separated by spaces.
	Targets = "GORUN_TEST"
	// pace is the environment variable with a factor for each Pause: a test must pass with any.
	pace = "GORUN_TEST_PACE"
)

// Hang is the time after which a test gives up waiting. Nothing that a test waits for takes even a part of it.
const Hang = 5 * time.Minute

// Runs reports whether a make target runs this test binary.
func Runs(target string) bool { return slices.Contains(strings.Fields(os.Getenv(Targets)), target) }

// Target skips a test unless a make target runs it.
func Target(t testing.TB, target string) {
	t.Helper()
	if !Runs(target) {
		t.Skipf("make %s runs it", target)
	}
}

// Live skips a test unless `make test-live` runs it.
func Live(t testing.TB) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestLive") {
		t.Fatal("make test-live selects tests by their names: begin the name with TestLive")
	}
	Target(t, "test-live")
}

// Laboratory skips a test that harms the machine, unless it runs in a virtual one.
func Laboratory(t testing.TB) {
	t.Helper()
	Target(t, "vm")
}

// CPUs returns the first n online CPUs that this thread may use. It skips the test if there are fewer.
func CPUs(t testing.TB, n int) []int {
	t.Helper()
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	list, _, _ = strings.Cut(list, "\n")
	cpus := numbers(t, list)
	if online, err := os.ReadFile("/sys/devices/system/cpu/online"); err == nil { // a mask may have CPUs that are offline
		there := numbers(t, string(online))
		cpus = slices.DeleteFunc(cpus, func(cpu int) bool { return !slices.Contains(there, cpu) })
	}
	if len(cpus) < n {
		t.Skipf("needs %d CPUs", n)
	}
	return cpus[:n]
}

// numbers returns the numbers of a list of the kernel's, such as "0-3,8".
func numbers(t testing.TB, list string) (all []int) {
	t.Helper()
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, several := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if several && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil {
			t.Fatal(err)
		}
		for number := from; number <= to; number++ {
			all = append(all, number)
		}
	}
	return all
}

// Root skips a test unless it runs as root.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// Tools skips a test if one of these programs is not installed.
func Tools(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs the program %s", name)
		}
	}
}

// Read returns what a file holds.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Glob returns the paths that a pattern matches.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// Await waits until a condition is true. It calls is on the goroutine of the test, so that is may end the test.
func Await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Since(begun) > Hang {
			t.Fatalf("no %s within %v", what, Hang)
		}
	}
}

// Receive waits for a value of a channel, or its end.
func Receive[V any](t testing.TB, what string, from <-chan V) (v V) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(Hang):
		t.Fatalf("no %s within %v", what, Hang)
	}
	return v
}

// Pause lets time pass: about d, as a test asks for it, times the factor in GORUN_TEST_PACE. Nothing may depend on what happens
// meanwhile: a Pause makes something likely, and the test repeats what did not happen.
func Pause(d time.Duration) {
	if factor, err := strconv.ParseFloat(os.Getenv(pace), 64); err == nil {
		d = time.Duration(factor * float64(d))
	}
	time.Sleep(d)
}

// Children returns the PIDs of a process's children, in the order in which it has started them. It skips the test on a kernel
// without CONFIG_PROC_CHILDREN (proc(5)).
func Children(t testing.TB, pid int) (pids []int) {
	t.Helper()
	if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); err != nil {
		t.Skip("needs CONFIG_PROC_CHILDREN")
	}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // it may have ended
	for _, task := range tasks {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, field := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, child)
		}
	}
	return pids
}

// Descendant returns the PID of a descendant of a process that has this word in its command line; 0 if there is none.
func Descendant(t testing.TB, pid int, word string) int {
	t.Helper()
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		for _, child := range Children(t, pids[i]) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
			if slices.Contains(strings.Split(string(line), "\x00"), word) {
				return child
			}
			pids = append(pids, child)
		}
	}
	return 0
}

// State returns the state of a process, such as 'R', 'T' (stopped) or 'Z' (proc_pid_stat(5)); 0 if there is none.
func State(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, state, _ := strings.Cut(string(stat), ") ") // names of gorun's processes have no ")"
	return state[0]
}

// Alive reports whether a process runs; a zombie does not.
func Alive(pid int) bool { return !slices.Contains([]byte{0, 'Z', 'X'}, State(pid)) }

// Values returns the values to which a list of gorun gives pointers, in a slice.
func Values[T any](all iter.Seq2[int, *T]) []T {
	values := []T{}
	for _, v := range all {
		values = append(values, *v)
	}
	return values
}
