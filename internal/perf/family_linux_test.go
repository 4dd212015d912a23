package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/sysfs"
)

// asMover makes the test binary a process that moves itself n times between two CPUs, starting with the first. Before
// that it starts another mover in a new session, to the number of generations in its last argument.
const asMover = "perf-move"

// asPingPong makes it two threads that wake each other n times.
const asPingPong = "perf-ping-pong"

func TestMain(m *testing.M) {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "perf-") {
		os.Exit(m.Run())
	}
	var numbers []int
	for _, arg := range os.Args[2:] {
		n, _ := strconv.Atoi(arg)
		numbers = append(numbers, n)
	}
	var err error
	switch os.Args[1] {
	case asMover:
		err = moveMyself(numbers[:2], numbers[2], numbers[3])
	case asPingPong:
		err = pingPong(numbers[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// moverCommand returns the command of a mover. All its threads start on the CPU of the thread that starts it.
func moverCommand(cpus []int, n, generations int) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", asMover, strconv.Itoa(cpus[0]), strconv.Itoa(cpus[1]), strconv.Itoa(n),
		strconv.Itoa(generations))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func moveMyself(cpus []int, n, generations int) error {
	runtime.LockOSThread()
	if generations > 0 {
		child := moverCommand(cpus, n, generations-1)
		if err := child.Start(); err != nil {
			return err
		}
		defer func() { _ = child.Wait() }()
	}
	for i := range n {
		if err := linux.SetAffinity(0, cpuset.Of(cpus[i%2])); err != nil {
			return err
		}
	}
	return nil
}

// eachFamily runs a test with each method that is available here, and skips the others, whose error must say why. The
// test's thread is on the second CPU.
func eachFamily(t *testing.T, test func(t *testing.T, cpus []int, f *Family)) {
	allowed := twoCPUs(t)
	cpus := []int{allowed.First(), allowed.Last()}
	for i, o := range familyOpeners {
		t.Run(string(o.method), func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			require.NoError(t, linux.SetAffinity(0, cpuset.Of(cpus[1])))
			defer func() { assert.NoError(t, linux.SetAffinity(0, allowed)) }()
			f, err := openFamily(familyOpeners[i:i+1], online(t), os.DirFS("/"))
			if err != nil {
				require.True(t, errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported), err)
				require.True(t, hinted(err), err)
				t.Skipf("needs traces by %s", o.method)
			}
			defer func() { assert.NoError(t, f.Close()) }()
			assert.Equal(t, o.method, f.Method())
			test(t, cpus, f)
		})
	}
}

// Three generations move, each in its own session. The thread that starts them, another thread of this process and its
// child move too, but do not belong to the family.
func TestFamilySeesEachMoveOfEachDescendant(t *testing.T) {
	const moves, generations = 100, 3
	eachFamily(t, func(t *testing.T, cpus []int, f *Family) {
		other := startThread(t, cpus[1])
		require.NoError(t, linux.VisitCPUs(cpus, func(int) error { return nil }))
		for range 2 { // the second time TIDs may be reused
			since := monotonic(t)
			child := moverCommand(cpus, moves, generations-1)
			require.NoError(t, child.Start())
			other.do(t, func() error { return moverCommand(cpus, moves, 1).Run() })
			other.alternate(t, moves, cpus...)
			require.NoError(t, child.Wait())

			got, lost, err := f.Read()
			require.NoError(t, err)
			if lost > 0 {
				t.Skip("needs memory for larger rings")
			}
			timeless(t, got, since)
			want := []MoveCount{
				{cpus[0], cpus[1], generations * moves / 2}, {cpus[1], cpus[0], generations * moves / 2},
			}
			assert.Equal(t, want, CountMoves(nil, got))
		}
		got, _, err := f.Read()
		require.NoError(t, err)
		assert.Empty(t, got)
	})
}

// Its TIDs are those in this process's namespace, not 1, 2 and so on.
func TestFamilyInAnotherPIDNamespace(t *testing.T) {
	const moves = 100
	eachFamily(t, func(t *testing.T, cpus []int, f *Family) {
		child := moverCommand(cpus, moves, 1)
		child.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
		if err := child.Start(); err != nil {
			require.ErrorIs(t, err, fs.ErrPermission)
			t.Skip("needs a PID namespace")
		}
		require.NoError(t, child.Wait())
		got, _, err := f.Read()
		require.NoError(t, err)
		// It ends with its first process, which ends after its child.
		assert.Equal(t, []MoveCount{{cpus[0], cpus[1], moves}, {cpus[1], cpus[0], moves}}, CountMoves(nil, got))
	})
}

// Wait returns when there is much to read, and Stop always ends it.
func TestFamilyWait(t *testing.T) {
	const moves = 3000 // of 4 × 32 or 64 bytes, on one of two CPUs: more than an eighth of 512 KiB
	eachFamily(t, func(t *testing.T, cpus []int, f *Family) {
		require.NoError(t, moverCommand(cpus, moves, 0).Run())
		assert.True(t, f.Wait())
		f.Stop()
		assert.False(t, f.Wait(), "even if there is something to read")
		assert.False(t, f.Wait())
		got, lost, err := f.Read()
		require.NoError(t, err)
		assert.NotEmpty(t, got)
		if lost == 0 { // the rings of a machine of many CPUs are smaller
			assert.Len(t, got, moves)
		}
	})
}

func TestFamilyClosed(t *testing.T) {
	eachFamily(t, func(t *testing.T, _ []int, f *Family) {
		require.NoError(t, f.Close())
		_, _, err := f.Read()
		assert.ErrorIs(t, err, os.ErrClosed, "a closed trace differs from one without moves")
	})
}

func TestOpenFamilyOnNoCPU(t *testing.T) {
	_, err := OpenFamily(nil, os.DirFS("/"))
	assert.ErrorContains(t, err, "no CPU")
}

func TestOpenFamilyWithoutPrivilege(t *testing.T) {
	dropCapabilities(t)
	f, err := OpenFamily(online(t), os.DirFS("/"))
	if err != nil { // perf_event_paranoid above 2 refuses everything
		require.ErrorIs(t, err, fs.ErrPermission)
		assert.True(t, hinted(err))
		return
	}
	defer func() { assert.NoError(t, f.Close()) }()
	assert.Equal(t, TraceSwitches, f.Method())
	assert.ErrorContains(t, f.Degraded(), "sched_migrate_task")
	assert.True(t, hinted(f.Degraded()))
}

// life returns a record's body: PID, parent's PID, TID, parent's TID, time, and the fields added by sample_id_all.
func life(pid, tid, parent uint64, ns uint64) []byte {
	return words(pid|9<<32, tid|parent<<32, ns, 0, ns, 0)
}

func TestParseSightings(t *testing.T) {
	if words(1)[0] == 0 {
		t.Skip("needs a little-endian machine")
	}
	s, ok, err := parseLife(record{unix.PERF_RECORD_FORK, 0, life(7, 8, 6, 123456789012)})
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, sighting{kind: begins, pid: 7, tid: 8, parent: 6, Move: Move{NS: 123456789012}}, s)
	s, ok, err = parseLife(record{unix.PERF_RECORD_EXIT, 0, life(7, 8, 6, 5)})
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, ends, s.kind)
	assert.Equal(t, 8, s.tid)
	_, ok, err = parseLife(record{unix.PERF_RECORD_THROTTLE, 0, nil})
	require.NoError(t, err)
	assert.False(t, ok)
	_, _, err = parseLife(record{unix.PERF_RECORD_EXIT, 0, life(7, 8, 6, 5)[:23]})
	require.ErrorIs(t, err, errRing)

	body := words(7|8<<32, 123456789012, 411)
	s, err = parseSwitch(body)
	require.NoError(t, err)
	assert.Equal(t, sighting{kind: runs, tid: 8, Move: Move{NS: 123456789012, To: 411}}, s)
	_, err = parseSwitch(body[:23])
	assert.ErrorIs(t, err, errRing)
}

// A TID that is used again, even if its end was lost, stands for another thread.
func TestGenealogyOfAReusedTID(t *testing.T) {
	const pid, root, tid = 2, 3, 7
	g := newGenealogy(pid, root)
	at := func(cpu int) bool {
		_, moved := g.see(sighting{kind: runs, tid: tid, Move: Move{To: cpu}})
		return moved
	}
	ours, others := sighting{tid: tid, pid: tid, parent: root}, sighting{tid: tid, pid: tid, parent: 1}
	g.see(ours)
	assert.False(t, at(0), "the first CPU is not a move")
	assert.True(t, at(1))
	g.see(ours)
	assert.False(t, at(0))
	g.see(others)
	assert.False(t, at(1))
	g.see(ours)
	g.see(sighting{kind: ends, tid: tid})
	assert.Empty(t, g.at, "ended threads are removed")
}

// Threads with a small range of TIDs start and end, inside and outside the family. The moves of each are known
// independently of its TID.
func TestGenealogy(t *testing.T) {
	const pid, root = 2, 3
	type thread struct {
		ours bool
		cpu  int
	}
	rapid.Check(t, func(t *rapid.T) {
		g := newGenealogy(pid, root)
		alive := map[int]*thread{root: {cpu: -1}, 4: {cpu: -1}} // 4 is outside the family
		tid := rapid.IntRange(3, 9)
		for ns := range int64(rapid.IntRange(0, 60).Draw(t, "sightings")) {
			of := tid.Draw(t, "tid")
			th := alive[of]
			s := sighting{tid: of, Move: Move{NS: ns, To: rapid.IntRange(0, 2).Draw(t, "cpu")}}
			var want Move
			what := rapid.SampledFrom([]kind{begins, ends, runs, migrates}).Draw(t, "kind")
			switch {
			case what == begins && th == nil:
				s.parent = tid.Filter(func(p int) bool { return alive[p] != nil }).Draw(t, "parent")
				s.pid = rapid.IntRange(pid, pid+1).Draw(t, "pid") // a thread of the tracer itself, or another process
				alive[of] = &thread{ours: s.pid != pid && (s.parent == root || alive[s.parent].ours), cpu: -1}
			case what == ends && th != nil && of > 4:
				delete(alive, of)
				if rapid.Bool().Draw(t, "lost") {
					continue // the next start implies the end
				}
			case what == runs && th != nil:
				if th.ours && th.cpu >= 0 && th.cpu != s.To {
					want = Move{ns, th.cpu, s.To}
				}
				th.cpu = s.To
			case what == migrates && th != nil && th.cpu >= 0:
				s.From = (s.To + 1) % 3
				if th.ours {
					want = s.Move
				}
			default:
				s.tid, what = rapid.SampledFrom([]int{0, -1}).Draw(t, "no tid"), runs
			}
			s.kind = what
			got, moved := g.see(s)
			require.Equal(t, want != Move{}, moved)
			if moved {
				require.Equal(t, want, got)
			}
		}
	})
}

// pingPong sends a byte there and back again, n times.
func pingPong(n int) error {
	var there, back [2]int
	if err := errors.Join(unix.Pipe(there[:]), unix.Pipe(back[:])); err != nil {
		return err
	}
	pass := func(from, to int) error {
		b := make([]byte, 1)
		for range n {
			if _, err := unix.Read(from, b); err != nil {
				return err
			}
			if _, err := unix.Write(to, b); err != nil {
				return err
			}
		}
		return nil
	}
	passed := make(chan error)
	go func() { passed <- pass(there[0], back[1]) }()
	if _, err := unix.Write(there[1], []byte{1}); err != nil {
		return err
	}
	return errors.Join(pass(back[0], there[1]), <-passed)
}

// BenchmarkFamily measures the cost of a trace for a command that only switches, on one CPU and on all, and for one
// that only starts processes.
func BenchmarkFamily(b *testing.B) {
	const trips = 200_000
	allowed, err := linux.GetAffinity(0)
	require.NoError(b, err)
	cpus, err := sysfs.ReadSet(os.DirFS("/"), "sys/devices/system/cpu/online")
	require.NoError(b, err)
	commands := []struct {
		name string
		on   cpuset.Set
		argv []string
		work int // operations in a run
	}{
		{"a-trip-on-one-CPU", cpuset.Of(allowed.First()), []string{os.Args[0], asPingPong, strconv.Itoa(trips)}, trips},
		{"a-trip", allowed, []string{os.Args[0], asPingPong, strconv.Itoa(trips)}, trips},
		{"a-start", allowed, []string{"/bin/sh", "-c", `i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done`}, 1000},
	}
	usage := func(who int) time.Duration {
		var used unix.Rusage
		require.NoError(b, unix.Getrusage(who, &used))
		return time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	run := func(b *testing.B, openers []opener[sighting], on cpuset.Set, argv []string) (lost uint64) {
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // the goroutine ends with the thread
			done <- linux.SetAffinity(0, on)
			f, err := openFamily(openers, cpus.List(), os.DirFS("/"))
			if err != nil && openers != nil {
				done <- err
				return
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			if f == nil {
				done <- cmd.Run()
				return
			}
			read := make(chan error)
			go func() {
				for f.Wait() {
					_, n, err := f.Read()
					lost += n
					if err != nil {
						read <- err
						return
					}
				}
				read <- nil
			}()
			err = cmd.Run()
			f.Stop()
			done <- errors.Join(err, <-read, f.Close())
		}()
		require.NoError(b, <-done)
		if err := <-done; err != nil {
			b.Skip(err)
		}
		return lost
	}
	for _, c := range commands {
		for i := range len(familyOpeners) + 1 {
			name, openers := "untraced", []opener[sighting](nil)
			if i > 0 {
				openers = familyOpeners[i-1 : i]
				name = string(openers[0].method)
			}
			b.Run(c.name+"/"+name, func(b *testing.B) {
				var lost uint64
				theirs, ours := usage(unix.RUSAGE_CHILDREN), usage(unix.RUSAGE_SELF)
				for b.Loop() {
					lost += run(b, openers, c.on, c.argv)
				}
				theirs, ours = usage(unix.RUSAGE_CHILDREN)-theirs, usage(unix.RUSAGE_SELF)-ours
				b.ReportMetric(float64(theirs.Nanoseconds())/float64(b.N*c.work), "CPU-ns/unit")
				b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N*c.work), "tracer-CPU-ns/unit")
				b.ReportMetric(float64(lost)/float64(b.N), "lost/run")
			})
		}
	}
}
