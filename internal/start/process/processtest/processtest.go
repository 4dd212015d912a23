// Package processtest has test binaries start themselves as the processes of a group.
package processtest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/start/launch"
)

// Main runs the tests; or, where the binary was started as gorun or under one of the names, what that stands for.
func Main(m *testing.M, processes map[string]func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	var err error
	name, command := "", ""
	if len(os.Args) > 1 {
		name, command = os.Args[1], os.Args[len(os.Args)-1]
	}
	run := processes[name]
	if run == nil {
		run = processes[command]
	}
	switch {
	case len(os.Args) > 2 && os.Args[len(os.Args)-2] == launch.SupervisorCommand:
		err = launch.Supervise(os.Args[len(os.Args)-1:])
	case run != nil:
		err = run(ctx)
	default:
		stop()
		os.Exit(m.Run())
	}
	stop() // as in gorun: the end of one process does not end the others
	if err != nil {
		launch.Report(os.Stderr, err)
		os.Exit(1)
	}
}

// self is the path of the test binary.
const self = "/proc/self/exe"

// Self is the test binary as gorun or, with a name, as what that stands for. It is not killed for being slow to end.
func Self(name ...string) launch.Self {
	return launch.Self{Path: self, Argv: append([]string{"gorun"}, name...), Env: os.Environ(), Patience: tests.Hang}
}

// CPUs returns the CPUs of this process.
func CPUs(t *testing.T) cpuset.Set {
	t.Helper()
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	return cpus
}

// RequireAffinity looks at every thread of a process.
func RequireAffinity(t *testing.T, pid int, want cpuset.Set) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	require.NoError(t, err)
	require.NotEmpty(t, tasks)
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		require.NoError(t, err)
		cpus, err := linux.GetAffinity(tid)
		require.NoError(t, err)
		require.Equal(t, want.String(), cpus.String())
	}
}
