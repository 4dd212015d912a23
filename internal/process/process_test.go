package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/topology"
)

// The names under which the test binary is a process of these tests.
const (
	asSide   = "side"
	asBound  = "bound"
	asParent = "parent" // of a pair and of a trial, until it is killed
	asMute   = "mute"   // a process that is ready, and dies when it may go
	asDeaf   = "deaf"   // a process that is ready, and does not end
)

func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	run := map[string]func() error{
		asSide:   func() error { return RunPairSide(ctx, os.Stdin, os.Stdout) },
		asBound:  func() error { return RunBind(ctx, os.Stdin, os.Stdout) },
		asParent: parent,
		asMute: func() error {
			fmt.Println("{}")
			fmt.Fprintln(os.Stderr, "gone")
			return errors.New("mute")
		},
		asDeaf: func() error {
			fmt.Println("{}")
			select {}
		},
	}[os.Args[0]]
	if run == nil {
		os.Exit(m.Run())
	}
	err := run()
	stop() // as in gorun: the end of one process does not end the others
	if err != nil {
		os.Exit(1)
	}
}

// self is the test binary under one of its names.
func self(name string) child.Self {
	return child.Self{Path: "/proc/self/exe", Argv: []string{name}, Env: os.Environ()}
}

// ours are the CPUs of this process.
func ours(t *testing.T) cpuset.Set {
	t.Helper()
	kernels(t)
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	return cpus
}

// kernels skips where there are none.
func kernels(t *testing.T) {
	t.Helper()
	_, err := csrc.Checks(csrc.ChecksArgs{CPU: -1})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
}

// endless are members that would work for weeks.
func endless(cpu int, n int) []child.Member {
	members := make([]child.Member, n)
	for i := range members {
		members[i] = child.Member{
			Name: fmt.Sprintf("member %d", i), Request: side{CPU: cpu, Work: "syscall", Loops: 1 << 50},
		}
	}
	return members
}

// parent starts processes, tells who they are when they work, and waits to be killed.
func parent() error {
	cpus, err := linux.GetAffinity(0)
	if err != nil {
		return err
	}
	_, _, err = workers(context.Background(), self(asSide), endless(cpus.First(), 3), func(pids []int) error {
		for _, pid := range pids {
			fmt.Println(pid)
		}
		fmt.Println("all")
		return nil
	})
	return err
}

// The processes do not outlive their parent, even where that is killed.
func TestGroupDiesWithParent(t *testing.T) {
	ours(t)
	process := exec.Command("/proc/self/exe")
	process.Args = []string{asParent}
	out, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	var pids []int
	for {
		var word string
		_, err := fmt.Fscanln(out, &word)
		require.NoError(t, err)
		if word == "all" {
			break
		}
		var pid int
		_, err = fmt.Sscan(word, &pid)
		require.NoError(t, err)
		require.True(t, alive(pid))
		pids = append(pids, pid)
	}
	require.NoError(t, process.Process.Kill())
	require.Error(t, process.Wait())
	require.Len(t, pids, 3)
	for _, pid := range pids {
		if !assert.Eventually(t, func() bool { return !alive(pid) }, time.Minute, time.Millisecond) {
			assert.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
}

// alive tells whether a process runs: one that nobody has waited for yet does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return state[0] != 'Z' && state[0] != 'X'
}

// A process that dies ends the others, which would wait for it or work on; its own words are the error.
func TestGroupMemberDies(t *testing.T) {
	cpu := ours(t).First()
	var started []int
	refused := errors.New("not now")
	for want, ready := range map[string]func() error{
		"member 1 ended before its time: EOF": func() error { return syscall.Kill(started[1], syscall.SIGKILL) },
		"not now":                             func() error { return refused },
	} {
		_, _, err := workers(t.Context(), self(asSide), endless(cpu, 3), func(pids []int) error {
			started = pids
			return ready()
		})
		require.EqualError(t, err, want)
		for _, pid := range started {
			assert.False(t, alive(pid))
		}
	}
	_, _, err := workers(t.Context(), self(asMute), endless(cpu, 1), func([]int) error { return nil })
	require.EqualError(t, err, "member 0 ended before its time: gone")

	_, _, err = workers(t.Context(), child.Self{Path: "/none"}, endless(cpu, 2), func([]int) error { return nil })
	require.ErrorContains(t, err, "start member 0: ")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// workers are processes of a pair's sides.
func workers(ctx context.Context, c child.Self, members []child.Member, ready func([]int) error,
) ([]sideAnswer, time.Duration, error) {
	return together[sideAnswer](ctx, c, PairCommand, members, ready)
}

// One that does not end when it is told to is killed.
func TestGroupKills(t *testing.T) {
	cpu := ours(t).First()
	refused := errors.New("not now")
	for name, end := range map[string]func(context.CancelCauseFunc) error{
		"one fails": func(context.CancelCauseFunc) error { return refused },
		"ctx ends": func(cancel context.CancelCauseFunc) error {
			cancel(refused)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			var started []int
			_, _, err := workers(ctx, self(asDeaf), endless(cpu, 1), func(pids []int) error {
				started = pids
				return end(cancel)
			})
			require.ErrorIs(t, err, refused)
			require.Len(t, started, 1)
			assert.False(t, alive(started[0]))
		})
	}
}

// requireAffinity looks at every thread of a process.
func requireAffinity(t *testing.T, pid int, want cpuset.Set) {
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

// A process that cannot be where it is to be says so.
func TestGroupElsewhere(t *testing.T) {
	ours(t)
	_, err := MeasurePair(t.Context(), self(asSide), PairRequest{
		Pair: topology.Pair{A: cpuset.Max, B: cpuset.Max}, Work: "syscall", Loops: 1,
	})
	require.ErrorContains(t, err, fmt.Sprintf("the process on CPU %d: ", cpuset.Max))
	assert.NotEmpty(t, hint.Of(err))
}

// When ctx ends before the processes are there, that is the error.
func TestGroupCancelled(t *testing.T) {
	cpu := ours(t).First()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	_, _, err := workers(ctx, self(asSide), endless(cpu, 1), func([]int) error { return nil })
	require.ErrorIs(t, err, reason)
}

// No file stays open in this process.
func TestGroupClosesFiles(t *testing.T) {
	cpu := ours(t).First()
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(files)
	}
	request := PairRequest{Pair: topology.Pair{A: cpu, B: cpu}, Work: "pingpong-pipe", Loops: 3}
	_, err := MeasurePair(t.Context(), self(asSide), request) // opens what Go keeps
	require.NoError(t, err)
	before := open()
	for _, name := range []string{asSide, asMute} {
		_, err = MeasurePair(t.Context(), self(name), request)
		assert.Equal(t, name != asSide, err != nil, name)
	}
	assert.Equal(t, before, open())
}
