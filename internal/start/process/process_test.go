package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/start/launch"
	"gorun/internal/start/process/processtest"
)

// Names by which the test binary runs as a helper process of these tests.
const (
	asParent = "parent" // starts copies and waits to be killed
	asMute   = "mute"   // gets ready, and fails when released
	asDeaf   = "deaf"   // gets ready, and never ends
)

func TestMain(m *testing.M) {
	processtest.Main(m, map[string]func(context.Context) error{
		Command:  func(ctx context.Context) error { return Work(ctx, os.Stdin, os.Stdout) },
		asParent: parent,
		asMute: func(context.Context) error {
			_, err := csrc.Work(csrc.WorkArgs{Work: "syscall", Shared: waitHere()})
			return cmp.Or(err, errors.New("gone"))
		},
		asDeaf: func(context.Context) error {
			signal.Ignore(syscall.SIGTERM)
			_, _ = csrc.Work(csrc.WorkArgs{Work: "syscall", Shared: waitHere()})
			select {}
		},
	})
}

// waitHere returns the memory of a member.
func waitHere() *csrc.Shared {
	shared, err := launch.Join(os.Stdin, new(Task))
	if err != nil {
		panic(err)
	}
	return shared
}

// endless returns tasks that would take weeks.
func endless(cpu int, n int) []Task {
	tasks := make([]Task, n)
	for i := range tasks {
		tasks[i] = Task{Name: fmt.Sprintf("member %d", i), CPUs: cpuset.Of(cpu), Work: "syscall", Loops: 1 << 50}
	}
	return tasks
}

// parent starts processes, prints their PIDs, and waits to be killed.
func parent(ctx context.Context) error {
	cpus, err := linux.GetAffinity(0)
	if err != nil {
		return err
	}
	_, err = Run(ctx, processtest.Self(), endless(cpus.First(), 3), func(pids []int) error {
		for _, pid := range pids {
			fmt.Println(pid)
		}
		fmt.Println("all")
		return nil
	})
	return err
}

// The processes do not outlive their parent, even if it is killed.
func TestGroupDiesWithParent(t *testing.T) {
	processtest.CPUs(t)
	process := exec.Command("/proc/self/exe")
	process.Args = []string{"gorun", asParent}
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
		require.True(t, tests.Alive(pid))
		pids = append(pids, pid)
	}
	require.NoError(t, process.Process.Kill())
	require.Error(t, process.Wait())
	require.Len(t, pids, 3)
	for _, pid := range pids {
		tests.Await(t, "end of a member", func() bool { return !tests.Alive(pid) })
	}
}

// When a process dies the others are ended too, and the error is that of the first.
func TestGroupMemberDies(t *testing.T) {
	cpu := processtest.CPUs(t).First()
	var started []int
	refused := errors.New("not now")
	for want, ready := range map[string]func() error{
		"member 1 ended before its time: killed by SIGKILL": func() error { return syscall.Kill(started[1], syscall.SIGKILL) },
		"not now": func() error { return refused },
	} {
		_, err := Run(t.Context(), processtest.Self(), endless(cpu, 3), func(pids []int) error {
			started = pids
			return ready()
		})
		require.EqualError(t, err, want)
		for _, pid := range started {
			assert.False(t, tests.Alive(pid))
		}
	}
	_, err := Run(t.Context(), processtest.Self(asMute), endless(cpu, 1), func([]int) error { return nil })
	require.EqualError(t, err, "member 0: gone")

	_, err = Run(t.Context(), launch.Self{Path: "/none"}, endless(cpu, 2), func([]int) error { return nil })
	require.ErrorContains(t, err, "start /none: ")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// A process that ignores the end is killed.
func TestGroupKills(t *testing.T) {
	cpu := processtest.CPUs(t).First()
	refused := errors.New("not now")
	self := processtest.Self(asDeaf)
	self.Patience = time.Millisecond
	for name, end := range map[string]func(context.CancelCauseFunc) error{
		"one fails": func(context.CancelCauseFunc) error { return refused },
		"ctx ends": func(cancel context.CancelCauseFunc) error {
			cancel(refused)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			var started []int
			_, err := Run(ctx, self, endless(cpu, 1), func(pids []int) error {
				started = pids
				return end(cancel)
			})
			require.ErrorIs(t, err, refused)
			require.Len(t, started, 1)
			assert.False(t, tests.Alive(started[0]))
		})
	}
}

// A member whose affinity another program changes for a while is detected. The other has no mismatch.
func TestGroupIsWatched(t *testing.T) {
	cpus := processtest.CPUs(t)
	tests.CPUs(t, 2) // on one there is no other mask
	want := "member 1: " + placement.Mismatch{What: "CPUs", Asked: fmt.Sprint(cpus.First()), Got: cpus.String()}.Error()
	pause := placement.Period
	tests.Await(t, "mismatch", func() bool { // again, for longer, if no look fell into the time of the change
		pause += placement.Period
		ctx, cancel := context.WithCancel(t.Context())
		done, err := Run(ctx, processtest.Self(), endless(cpus.First(), 2), func(pids []int) error {
			go func() {
				defer cancel()
				assert.NoError(t, linux.SetAffinity(pids[1], cpus))
				tests.Pause(pause)
				assert.NoError(t, linux.SetAffinity(pids[1], cpuset.Of(cpus.First())))
			}()
			return nil
		})
		require.NoError(t, err)
		for _, words := range done.Mismatches { // it may also have migrated
			assert.Regexp(t, "^member 1: ", words)
		}
		return slices.Contains(done.Mismatches, want)
	})
}

// A process that cannot run on its CPUs reports an error.
func TestGroupElsewhere(t *testing.T) {
	processtest.CPUs(t)
	_, err := Run(t.Context(), processtest.Self(), endless(cpuset.Max, 1), func([]int) error { return nil })
	require.ErrorContains(t, err, "member 0: ")
	assert.NotEmpty(t, hint.Of(err))
}

// If ctx ends before the processes are ready, its error is returned.
func TestGroupCancelled(t *testing.T) {
	cpu := processtest.CPUs(t).First()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	_, err := Run(ctx, processtest.Self(), endless(cpu, 1), func([]int) error { return nil })
	require.ErrorIs(t, err, reason)
}

// No file stays open in this process.
func TestGroupClosesFiles(t *testing.T) {
	cpu := processtest.CPUs(t).First()
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(files)
	}
	start := func(name ...string) error {
		tasks := endless(cpu, 2)
		for i := range tasks {
			tasks[i].Loops = 3
		}
		_, err := Run(t.Context(), processtest.Self(name...), tasks, nil)
		return err
	}
	require.NoError(t, start()) // opens the files that Go keeps open
	before := open()
	require.NoError(t, start())
	require.Error(t, start(asMute))
	assert.Equal(t, before, open())
}

// The size of the L2, unless there is none or another is asked for.
func TestArrayBytes(t *testing.T) {
	const dir = "sys/devices/system/cpu/cpu3/cache/index2/"
	fsys := fstest.MapFS{dir + "level": {Data: []byte("2")}, dir + "type": {Data: []byte("Unified")}, dir + "size": {Data: []byte("2048K")}}
	for _, c := range []struct {
		asked uint64
		cpu   int
		want  uint64
	}{{0, 3, 2 << 20}, {0, 4, UnknownL2}, {64 << 10, 3, 64 << 10}} {
		bytes, odd := ArrayBytes(c.asked, fsys, c.cpu)
		assert.Equal(t, c.want, bytes)
		assert.Empty(t, odd)
	}
	fsys[dir+"size"].Data = []byte("much")
	bytes, odd := ArrayBytes(0, fsys, 3)
	assert.EqualValues(t, UnknownL2, bytes)
	assert.Len(t, odd, 1)
}
