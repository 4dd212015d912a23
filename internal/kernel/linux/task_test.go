package linux

import (
	"io/fs"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/cpuset"
)

// What Linux 6.18 shows of a shell with an odd name, and of a kernel thread of CPU 1.
const (
	shellStat    = "77 (a) (b) S 76 77 70 34816 70 4194560 100 0 0 0 1 2 0 0 20 0 1 0 4711 2580480 900 18446744073709551615 1 1 0 0 0 0\n"
	shellStatus  = "Name:\ta) (b\nState:\tS (sleeping)\nUid:\t1000\t1001\t1000\t1000\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"
	kernelStat   = "22 (ksoftirqd/1) S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 18446744073709551615 0 0 0 0 0 0\n"
	kernelStatus = "Name:\tksoftirqd/1\nUid:\t0\t0\t0\t0\nCpus_allowed_list:\t1\n"
)

func TestReadTask(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	root := fstest.MapFS{
		"proc/22/task/22/stat": file(kernelStat), "proc/22/task/22/status": file(kernelStatus),
		"proc/77/task/77/stat": file(shellStat), "proc/77/task/77/status": file(shellStatus),
		"proc/77/task/78/stat":   file("78 (x) Z 76 77 70 34816 70 4194560 100 0 0 0 1 2 0 0 20 0 1 0 4712 0\n"),
		"proc/77/task/78/status": file(shellStatus),
		"proc/99/task/notes":     file("not a thread"),
		"proc/self/task/77/stat": file("not a process"),
	}
	shell := Task{PID: 77, TID: 77, Parent: 76, Name: "a) (b", Start: 4711, UID: 1000, EUID: 1001, CPUs: cpuset.Of(0, 1)}
	kernel := Task{PID: 22, TID: 22, Parent: 2, Name: "ksoftirqd/1", Start: 5, Kernel: true, Bound: true, CPUs: cpuset.Of(1)}
	var all []Task
	require.NoError(t, ProcessTasks(root, func(t Task) { all = append(all, t) }))
	assert.Equal(t, []Task{kernel, shell}, all, "one that has ended is not among them")

	_, err := ReadTask(root, 77, 79)
	assert.True(t, Gone(err), "%v", err)
	assert.True(t, Gone(&fs.PathError{Op: "read", Path: "stat", Err: syscall.ESRCH}))
	assert.False(t, Gone(nil))
	for name, text := range map[string][2]string{
		"no name":    {"77 S 76", shellStatus},
		"too short":  {"77 (x) S 76 77", shellStatus},
		"no parent":  {"77 (x) S x" + shellStat[14:], shellStatus},
		"no user":    {shellStat, "Cpus_allowed_list:\t0-1\n"},
		"no CPU set": {shellStat, "Uid:\t1000\t1001\t1000\t1000\nCpus_allowed_list:\tx\n"},
	} {
		_, err := parseTask(text[0], text[1])
		assert.Error(t, err, name)
	}
}

func TestMayPlaceOthers(t *testing.T) {
	for capabilities, may := range map[string]bool{"0000000000000000": false, "0000000000800000": true, "00000000ff7fffff": false} {
		root := fstest.MapFS{"proc/self/status": {Data: []byte("Uid:\t0\t0\t0\t0\nThreads:\t1\nCapEff:\t" + capabilities + "\n")}}
		assert.Equal(t, may, MayPlaceOthers(root), capabilities)
	}
	assert.False(t, MayPlaceOthers(fstest.MapFS{}))
}
