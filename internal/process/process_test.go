package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/placement"
	"gorun/internal/process/processtest"
	"gorun/internal/tests"
)

// Names by which the test binary runs as a helper process of these tests.
const (
	asWorker = "worker" // makes system calls on its CPU
	asParent = "parent" // starts a group and waits to be killed
	asMute   = "mute"   // reports ready, and dies when released
	asDeaf   = "deaf"   // reports ready, and never ends
)

func TestMain(m *testing.M) {
	processtest.Main(m, map[string]func(context.Context) error{
		asWorker: work,
		asParent: parent,
		asMute: func(context.Context) error {
			fmt.Println("{}")
			fmt.Fprintln(os.Stderr, "gone")
			return errors.New("mute")
		},
		asDeaf: func(context.Context) error {
			fmt.Println("{}")
			select {}
		},
	})
}

// task is a worker's request, and report its answer.
type (
	task struct {
		CPU   int
		Loops uint64
	}
	report struct{ Loops uint64 }
)

// work is the main function of a worker.
func work(ctx context.Context) error {
	return Serve(ctx, os.Stdin, os.Stdout, func(t task) cpuset.Set { return cpuset.Of(t.CPU) }, func(task) error { return nil },
		func(t task, shared *csrc.Shared) (report, error) {
			r, err := csrc.Work(csrc.WorkArgs{Work: "syscall", Loops: t.Loops, Shared: shared})
			return report{r.Loops}, err
		})
}

// endless returns members whose work would take weeks.
func endless(cpu int, n int) []Member {
	members := make([]Member, n)
	for i := range members {
		members[i] = Member{
			Member: child.Member{Name: fmt.Sprintf("member %d", i), Request: task{CPU: cpu, Loops: 1 << 50}},
			CPUs:   cpuset.Of(cpu),
		}
	}
	return members
}

// parent starts processes, prints their PIDs, and waits to be killed.
func parent(ctx context.Context) error {
	cpus, err := linux.GetAffinity(0)
	if err != nil {
		return err
	}
	_, err = workers(ctx, processtest.Self(asWorker), endless(cpus.First(), 3), func(pids []int) error {
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
		_, err := workers(t.Context(), processtest.Self(asWorker), endless(cpu, 3), func(pids []int) error {
			started = pids
			return ready()
		})
		require.EqualError(t, err, want)
		for _, pid := range started {
			assert.False(t, tests.Alive(pid))
		}
	}
	_, err := workers(t.Context(), processtest.Self(asMute), endless(cpu, 1), func([]int) error { return nil })
	require.EqualError(t, err, "member 0 ended before its time: gone")

	_, err = workers(t.Context(), child.Self{Path: "/none"}, endless(cpu, 2), func([]int) error { return nil })
	require.ErrorContains(t, err, "start member 0: ")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// workers start a group.
func workers(ctx context.Context, c child.Self, members []Member, ready func([]int) error) (Done[report], error) {
	return RunGroup[report](ctx, c, "work", members, ready)
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
			_, err := workers(ctx, self, endless(cpu, 1), func(pids []int) error {
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
		done, err := workers(ctx, processtest.Self(asWorker), endless(cpus.First(), 2), func(pids []int) error {
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
	_, err := workers(t.Context(), processtest.Self(asWorker), endless(cpuset.Max, 1), func([]int) error { return nil })
	require.ErrorContains(t, err, "member 0: ")
	assert.NotEmpty(t, hint.Of(err))
}

// If ctx ends before the processes are ready, its error is returned.
func TestGroupCancelled(t *testing.T) {
	cpu := processtest.CPUs(t).First()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	_, err := workers(ctx, processtest.Self(asWorker), endless(cpu, 1), func([]int) error { return nil })
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
	// start starts processes that each inherit a separate file.
	start := func(name string) error {
		members := endless(cpu, 2)
		for i := range members {
			file, err := os.Open(os.DevNull)
			require.NoError(t, err)
			members[i].Request, members[i].Files = task{cpu, 3}, []*os.File{file}
		}
		_, err := workers(t.Context(), processtest.Self(name), members, func([]int) error { return nil })
		return err
	}
	require.NoError(t, start(asWorker)) // opens the files that Go keeps open
	before := open()
	for _, name := range []string{asWorker, asMute} {
		assert.Equal(t, name != asWorker, start(name) != nil, name)
	}
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
