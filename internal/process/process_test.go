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
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
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
	if err := run(); err != nil {
		os.Exit(1)
	}
}

// self is the test binary under one of its names.
func self(name string) Command {
	return Command{Path: "/proc/self/exe", Args: []string{name}, Env: os.Environ()}
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
func endless(cpu int, n int) []*member {
	members := make([]*member, n)
	for i := range members {
		members[i] = &member{name: fmt.Sprintf("member %d", i), request: side{CPU: cpu, Work: "syscall", Loops: 1 << 50}}
	}
	return members
}

// parent starts processes, tells who they are when they work, and waits to be killed.
func parent() error {
	cpus, err := linux.GetAffinity(0)
	if err != nil {
		return err
	}
	members := endless(cpus.First(), 3)
	_, _, err = together[sideAnswer](context.Background(), self(asSide), members, func() error {
		for _, m := range members {
			fmt.Println(m.process.Process.Pid)
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
	members := endless(cpu, 3)
	_, _, err := together[sideAnswer](t.Context(), self(asSide), members, func() error {
		return members[1].process.Process.Kill()
	})
	require.ErrorContains(t, err, "member 1 ended before its time: EOF")
	assert.NotContains(t, err.Error(), "member 0")
	for _, m := range members {
		assert.False(t, alive(m.process.Process.Pid))
	}

	_, _, err = together[sideAnswer](t.Context(), self(asMute), endless(cpu, 1), func() error { return nil })
	require.EqualError(t, err, "member 0 ended before its time: gone")

	_, _, err = together[sideAnswer](t.Context(), Command{Path: "/none"}, endless(cpu, 2), func() error { return nil })
	require.ErrorContains(t, err, "start member 0: ")
	assert.ErrorIs(t, err, os.ErrNotExist)

	refused := errors.New("not now")
	members = endless(cpu, 2)
	_, _, err = together[sideAnswer](t.Context(), self(asSide), members, func() error { return refused })
	require.ErrorIs(t, err, refused)
	for _, m := range members {
		assert.False(t, alive(m.process.Process.Pid))
	}
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
			members := endless(cpu, 1)
			_, _, err := together[sideAnswer](ctx, self(asDeaf), members, func() error { return end(cancel) })
			require.ErrorIs(t, err, refused)
			assert.False(t, alive(members[0].process.Process.Pid))
		})
	}
}

// requireAffinity looks at every thread of a process.
func requireAffinity(t *testing.T, m *member, want cpuset.Set) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", m.process.Process.Pid))
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
	_, _, err := together[sideAnswer](ctx, self(asSide), endless(cpu, 1), func() error { return nil })
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
