package take

import (
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
)

// A refusal counts all threads, including those of the Go runtime: without them, the limit would seem high enough.
func TestRefusedThreadsAreCountedWithTheRuntimes(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	root := fstest.MapFS{
		"proc/self/cgroup":           file("0::/\n"),
		"proc/self/mountinfo":        file("1 2 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"),
		"sys/fs/cgroup/pids.max":     file("20\n"),
		"sys/fs/cgroup/pids.current": file("15\n"),
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	warnings, err := Enough(root, experiment.Resources{Threads: 2, Less: "give fewer"})
	require.Empty(t, warnings)
	require.EqualError(t, err, "/sys/fs/cgroup/pids.max leaves room for 5 of the 12 threads that are needed")
	assert.Regexp(t, "echo 27 > /sys/fs/cgroup/pids.max .*; or give fewer$", hint.Of(err))

	_, err = Enough(root, experiment.Resources{Copies: 3}) // their supervisor has threads too
	require.EqualError(t, err, "/sys/fs/cgroup/pids.max leaves room for 5 of the 26 threads that are needed")
}
