package perf

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
)

// asMover makes the test binary a process that moves itself n times between two CPUs, starting with the first. Before
// that it starts another mover in a new session, to the number of generations in its last argument.
const asMover = "perf-move"

func TestMain(m *testing.M) {
	if len(os.Args) != 6 || os.Args[1] != asMover {
		os.Exit(m.Run())
	}
	var numbers []int
	for _, arg := range os.Args[2:] {
		n, _ := strconv.Atoi(arg)
		numbers = append(numbers, n)
	}
	if err := moveMyself(numbers[0], numbers[1], numbers[2], numbers[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// moverCommand returns the command of a mover. All its threads start on the CPU of the thread that starts it.
func moverCommand(a, b, n, generations int) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", asMover, strconv.Itoa(a), strconv.Itoa(b), strconv.Itoa(n), strconv.Itoa(generations))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func moveMyself(a, b, n, generations int) error {
	runtime.LockOSThread()
	if generations > 0 {
		child := moverCommand(a, b, n, generations-1)
		if err := child.Start(); err != nil {
			return err
		}
		defer func() { _ = child.Wait() }()
	}
	return alternate(n, a, b)
}

// openFamily traces the processes that the test starts from now on, from a thread on the second CPU.
func openFamily(t *testing.T) (f *Family, a, b int) {
	t.Helper()
	a, b = twoCPUs(t)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	require.NoError(t, linux.SetAffinity(0, cpuset.Of(b)))
	t.Cleanup(func() { assert.NoError(t, linux.SetAffinity(0, allowed)) })
	cpus, err := sysfs.ReadSet(os.DirFS("/"), "sys/devices/system/cpu/online")
	require.NoError(t, err)
	f, err = OpenFamily(cpus.List())
	refused(t, "traces of switches", err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f, a, b
}

// Three generations move, each in its own session. The thread that starts them, another thread of this process and its
// child move too, but do not belong to the family.
func TestFamilySeesEachMoveOfEachDescendant(t *testing.T) {
	const moves, generations = 100, 3
	f, a, b := openFamily(t)
	other := startThread(t, b)
	require.NoError(t, alternate(2, a, b))
	for range 2 { // the second time TIDs may be reused
		since := int64(linux.Monotonic())
		child := moverCommand(a, b, moves, generations-1)
		require.NoError(t, child.Start())
		other.do(t, func() error { return moverCommand(a, b, moves, 1).Run() })
		other.alternate(t, moves, a, b)
		require.NoError(t, child.Wait())

		got, lost, err := f.Read()
		require.NoError(t, err)
		if lost > 0 {
			t.Skip("needs memory for larger rings")
		}
		timeless(t, got, since)
		assert.Equal(t, []MoveCount{{a, b, generations * moves / 2}, {b, a, generations * moves / 2}}, CountMoves(nil, got))
	}
	got, _, err := f.Read()
	require.NoError(t, err)
	assert.Empty(t, got)

	require.NoError(t, f.Close())
	_, _, err = f.Read()
	assert.ErrorIs(t, err, os.ErrClosed, "a closed trace differs from one without moves")
}

// Its TIDs are those in this process's namespace, not 1, 2 and so on.
func TestFamilyInAnotherPIDNamespace(t *testing.T) {
	const moves = 100
	f, a, b := openFamily(t)
	child := moverCommand(a, b, moves, 1)
	child.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
	if err := child.Start(); err != nil {
		require.ErrorIs(t, err, fs.ErrPermission)
		t.Skip("needs a PID namespace")
	}
	require.NoError(t, child.Wait())
	got, _, err := f.Read()
	require.NoError(t, err)
	// It ends with its first process, which ends after its child.
	assert.Equal(t, []MoveCount{{a, b, moves}, {b, a, moves}}, CountMoves(nil, got))
}

// Wait returns when there is much to read, and Stop always ends it.
func TestFamilyWait(t *testing.T) {
	const moves = 3000 // of 2 × 32 bytes, on one of two CPUs: more than an eighth of 512 KiB
	f, a, b := openFamily(t)
	require.NoError(t, moverCommand(a, b, moves, 0).Run())
	assert.True(t, f.Wait())
	f.Stop()
	require.NoError(t, moverCommand(a, b, moves, 0).Run())
	assert.False(t, f.Wait(), "even if there is something to read")
	assert.False(t, f.Wait())
	got, lost, err := f.Read()
	require.NoError(t, err)
	assert.NotEmpty(t, got)
	if lost == 0 { // the rings of a machine of many CPUs are smaller
		assert.Len(t, got, 2*moves)
	}
}

// The kernel lets ordinary users record switches.
func TestFamilyWithoutPrivilege(t *testing.T) {
	const moves = 100
	dropCapabilities(t)
	f, a, b := openFamily(t)
	require.NoError(t, moverCommand(a, b, moves, 0).Run())
	got, _, err := f.Read()
	require.NoError(t, err)
	assert.Len(t, got, moves)
}

func TestParseSighting(t *testing.T) {
	const ns = 123456789012
	if words(1)[0] == 0 {
		t.Skip("needs a little-endian machine")
	}
	life := words(7|9<<32, 8|6<<32, ns, 0, ns, 0)
	for _, c := range []struct {
		r    record
		want sighting
	}{
		{record{unix.PERF_RECORD_FORK, 0, life}, sighting{kind: unix.PERF_RECORD_FORK, ns: ns, tid: 8, pid: 7, parent: 6}},
		{record{unix.PERF_RECORD_EXIT, 0, life}, sighting{kind: unix.PERF_RECORD_EXIT, ns: ns, tid: 8, pid: 7, parent: 6}},
		{record{unix.PERF_RECORD_SWITCH, 0, words(7|8<<32, ns, 411)}, sighting{kind: unix.PERF_RECORD_SWITCH, ns: ns, tid: 8, cpu: 411}},
		{record{unix.PERF_RECORD_SWITCH, unix.PERF_RECORD_MISC_SWITCH_OUT, nil}, sighting{}},
		{record{unix.PERF_RECORD_THROTTLE, 0, nil}, sighting{}},
	} {
		got, ok, err := parseSighting(c.r)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
		assert.Equal(t, c.want != sighting{}, ok)
		if ok {
			c.r.body = c.r.body[:23]
			_, _, err = parseSighting(c.r)
			assert.ErrorIs(t, err, errRing)
		}
	}
}

// A TID that is used again, even if its end was lost, stands for another thread.
func TestGenealogy(t *testing.T) {
	const pid, root, tid, child = 2, 3, 7, 8
	g := newGenealogy(pid, root)
	start := func(of, process, parent int) {
		g.see(sighting{kind: unix.PERF_RECORD_FORK, tid: of, pid: process, parent: parent})
	}
	at := func(of, cpu int) bool {
		m, moved := g.see(sighting{kind: unix.PERF_RECORD_SWITCH, ns: 5, tid: of, cpu: cpu})
		if moved {
			assert.Equal(t, Move{5, 1 - cpu, cpu}, m)
		}
		return moved
	}
	start(tid, tid, root)
	assert.False(t, at(tid, 0), "the first CPU is not a move")
	assert.True(t, at(tid, 1))
	assert.False(t, at(tid, 1), "it stayed")
	start(child, tid, tid)
	assert.False(t, at(child, 0))
	assert.True(t, at(child, 1), "a thread of the command")
	start(tid, tid, root)
	assert.False(t, at(tid, 0), "it is used again")
	start(tid, tid, 1)
	assert.False(t, at(tid, 0) || at(tid, 1), "another program's thread")
	start(tid, pid, root)
	assert.False(t, at(tid, 0) || at(tid, 1), "a thread of the tracing process")
	g.see(sighting{kind: unix.PERF_RECORD_EXIT, tid: child})
	assert.Empty(t, g.at, "ended threads are removed")
}

// Sightings before and during a Read are each complete once, in order, and at the latest with the next Read that starts
// after them.
func TestFamilyCollectsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &Family{}
		rings := make([][]sighting, rapid.IntRange(1, 4).Draw(t, "rings"))
		var now int64
		write := func(most int) {
			for range rapid.IntRange(0, most).Draw(t, "records") {
				now++
				i := rapid.IntRange(0, len(rings)-1).Draw(t, "ring")
				rings[i] = append(rings[i], sighting{ns: now})
			}
		}
		var seen int64
		for range rapid.IntRange(1, 5).Draw(t, "reads") {
			write(10)
			before := now
			complete, err := f.collect(func() error {
				for i := range rings {
					f.found, rings[i] = append(f.found, rings[i]...), nil
					write(2)
				}
				return nil
			})
			require.NoError(t, err)
			for _, s := range f.found[:complete] {
				require.Equal(t, seen+1, s.ns)
				seen++
			}
			require.GreaterOrEqual(t, seen, before)
			f.found = f.found[complete:]
		}
	})
}
