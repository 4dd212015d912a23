package csrc_test

import (
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/csrc"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/linux"
)

// shared returns a new Shared.
func shared(t *testing.T) *csrc.Shared {
	t.Helper()
	memory := anonymous(t)
	require.LessOrEqual(t, csrc.SharedBytes, len(memory))
	return csrc.SharedAt(unsafe.Pointer(&memory[0]))
}

// pipes connects two sides; each function closes the descriptors of one side.
func pipes(t *testing.T, a, b *csrc.WorkArgs) (closeA, closeB func()) {
	t.Helper()
	var to, from [2]int
	require.NoError(t, syscall.Pipe(to[:]))
	require.NoError(t, syscall.Pipe(from[:]))
	a.In, a.Out, b.In, b.Out = from[0], to[1], to[0], from[1]
	closer := func(fds ...int) func() {
		return func() {
			for _, fd := range fds {
				assert.NoError(t, syscall.Close(fd))
			}
		}
	}
	return closer(a.In, a.Out), closer(b.In, b.Out)
}

// Work that does not talk makes the requested number of loops, and its sums are right.
func TestWorkAlone(t *testing.T) {
	memory := anonymous(t)
	most := uint64(len(memory) / 8)
	rapid.Check(t, func(t *rapid.T) {
		loops := rapid.Uint64Range(0, 10_000).Draw(t, "loops")
		words := rapid.Uint64Range(1, most).Draw(t, "words")
		for _, name := range []string{"syscall", "spin", "sum"} {
			r, err := csrc.Work(csrc.WorkArgs{Work: name, Loops: loops, Array: unsafe.Pointer(&memory[0]), Words: words})
			require.NoError(t, err)
			assert.Equal(t, loops, r.Loops)
			assert.False(t, r.Stopped)
			assert.GreaterOrEqual(t, r.EndNS, r.StartNS)
			assert.GreaterOrEqual(t, r.CPU, 0)
			assert.Empty(t, r.Trips)
			want := map[string]uint64{}
			for i := range loops {
				want["spin"] = want["spin"]*6364136223846793005 + 1442695040888963407
				want["sum"] += i % words
			}
			assert.Equal(t, want[name], r.Sum, name)
		}
	})
}

// No side begins before Open.
func TestWorkWaits(t *testing.T) {
	s := shared(t)
	result := started(csrc.Work, csrc.WorkArgs{Work: "spin", Loops: 1, Shared: s})
	tests.Pause(5 * time.Millisecond) // it may begin meanwhile
	s.Open()
	r, err := result()
	require.NoError(t, err)
	assert.EqualValues(t, 1, r.Loops)
	assert.GreaterOrEqual(t, r.StartNS, s.StartNS())
	assert.Positive(t, s.StartNS())
}

// Each side makes the requested number of round trips, and the first counts each of its own once.
func TestWorkTalks(t *testing.T) {
	for _, w := range csrc.Works {
		if !w.Talks {
			continue
		}
		for _, loops := range []uint64{0, 1, 2, 100} {
			s := shared(t)
			a := csrc.WorkArgs{Work: w.Name, Loops: loops, First: true, Shared: s}
			b := csrc.WorkArgs{Work: w.Name, Loops: loops, Shared: s}
			closeA, closeB := pipes(t, &a, &b)
			resultB, resultA := started(csrc.Work, b), started(csrc.Work, a)
			s.Open()
			first, err := resultA()
			require.NoError(t, err)
			second, err := resultB()
			require.NoError(t, err)
			closeA()
			closeB()
			count, before, took := uint64(0), -1.0, 0.0
			for _, trip := range first.Trips {
				assert.Greater(t, trip.NS, before)
				before = trip.NS
				count += trip.Count
				took += trip.NS * float64(trip.Count)
			}
			assert.LessOrEqual(t, took, float64(first.EndNS-first.StartNS)*(1+1.0/512), "they follow each other")
			assert.Equal(t, []uint64{loops, loops, loops}, []uint64{first.Loops, second.Loops, count}, w.Name)
			assert.Empty(t, second.Trips)
			assert.False(t, first.Stopped || second.Stopped)
			assert.LessOrEqual(t, s.StartNS(), min(first.StartNS, second.StartNS))
		}
	}
}

// A side does not continue before the other one has passed the turn. The test acts as the other side.
func TestWorkAlternates(t *testing.T) {
	for _, first := range []bool{true, false} {
		const loops = 50
		a := csrc.WorkArgs{Work: "pingpong-pipe", Loops: loops, First: first}
		test := csrc.WorkArgs{}
		closeA, closeTest := pipes(t, &a, &test)
		result := started(csrc.Work, a)
		one := make([]byte, 1)
		for range loops {
			if first {
				n, err := syscall.Read(test.In, one)
				require.NoError(t, err)
				require.Equal(t, 1, n)
			}
			require.NoError(t, syscall.SetNonblock(test.In, true))
			_, err := syscall.Read(test.In, one)
			require.ErrorIs(t, err, syscall.EAGAIN, "handed over out of turn")
			require.NoError(t, syscall.SetNonblock(test.In, false))
			_, err = syscall.Write(test.Out, one)
			require.NoError(t, err)
			if !first {
				_, err = syscall.Read(test.In, one)
				require.NoError(t, err)
			}
		}
		r, err := result()
		require.NoError(t, err)
		assert.EqualValues(t, loops, r.Loops)
		closeA()
		closeTest()
	}
}

// Round trips are counted in the bucket of their duration: one that waits for the test takes at least as long as the
// wait.
func TestWorkTrips(t *testing.T) {
	a, test := csrc.WorkArgs{Work: "pingpong-pipe", Loops: 1, First: true}, csrc.WorkArgs{}
	closeA, closeTest := pipes(t, &a, &test)
	defer closeA()
	defer closeTest()
	result := started(csrc.Work, a)
	one := make([]byte, 1)
	_, err := syscall.Read(test.In, one)
	require.NoError(t, err)
	const wait = 3 * time.Millisecond
	time.Sleep(wait) // at least, on any machine
	_, err = syscall.Write(test.Out, one)
	require.NoError(t, err)
	r, err := result()
	require.NoError(t, err)
	require.Len(t, r.Trips, 1)
	assert.EqualValues(t, 1, r.Trips[0].Count)
	assert.GreaterOrEqual(t, r.Trips[0].NS, float64(wait)*(1-1.0/512))
	assert.LessOrEqual(t, r.Trips[0].NS, float64(r.EndNS-r.StartNS)*(1+1.0/512))
}

func TestWorkStops(t *testing.T) {
	memory := anonymous(t)
	for _, w := range csrc.Works {
		for _, when := range []string{"before", "meanwhile"} {
			s := shared(t)
			a := csrc.WorkArgs{Work: w.Name, Loops: 1 << 60, Array: unsafe.Pointer(&memory[0]), Words: 8, First: true, Shared: s}
			b := a
			b.First = false
			closeA, closeB := pipes(t, &a, &b)
			if when == "before" {
				s.Stop()
			} else {
				s.Open()
			}
			resultA, resultB := started(csrc.Work, a), started(csrc.Work, b)
			if when == "meanwhile" {
				s.Stop()
			}
			second := func() csrc.WorkResult {
				// The side that ends first closes its descriptors, as an exiting process does.
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, err := resultA()
					assert.NoError(t, err)
					closeA()
				}()
				r, err := resultB()
				assert.NoError(t, err)
				closeB()
				<-done
				return r
			}()
			first, err := resultA()
			require.NoError(t, err)
			for _, r := range []csrc.WorkResult{first, second} {
				assert.True(t, r.Stopped, w.Name)
				assert.Less(t, r.Loops, uint64(1<<60))
				if when == "before" {
					assert.Zero(t, r.Loops)
					assert.Zero(t, r.EndNS)
				}
			}
		}
	}
}

// A side whose partner has left its pipes gets an error. In shared memory, the one that leaves stops the other.
func TestWorkLeft(t *testing.T) {
	a := csrc.WorkArgs{Work: "pingpong-pipe", Loops: 5, First: true}
	b := a
	closeA, closeB := pipes(t, &a, &b)
	result := started(csrc.Work, a)
	closeB()
	_, err := result()
	require.ErrorIs(t, err, syscall.EPIPE)
	closeA()
}

func TestWorkErrors(t *testing.T) {
	s := shared(t)
	memory := anonymous(t)
	_, err := csrc.Work(csrc.WorkArgs{Work: "rest"})
	require.EqualError(t, err, `no work "rest"`)
	for _, args := range []csrc.WorkArgs{
		{Work: "sum", Words: 1},
		{Work: "sum", Array: unsafe.Pointer(&memory[0])},
		{Work: "pingpong-futex", First: true},
		{Work: "pingpong-shm"},
	} {
		_, err := csrc.Work(args)
		assert.ErrorIs(t, err, syscall.EINVAL, "%+v", args)
	}
	s.Open()
	_, err = csrc.Work(csrc.WorkArgs{Work: "pingpong-pipe", Loops: 1, First: true, In: -1, Out: -1, Shared: s})
	require.ErrorIs(t, err, syscall.EBADF)
}

// A thread on its CPUs never deviates; a thread elsewhere deviates at every check. A mask that is too short for a CPU's number does
// not contain it. Without a mask, the CPU of the previous check is expected.
func TestChecks(t *testing.T) {
	s := shared(t)
	s.Open()
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	require.NoError(t, linux.VisitCPUs(cpus.List(), func(cpu int) error {
		in, out := make([]uint64, cpu/64+1), make([]uint64, cpu/64+1)
		in[cpu/64], out[cpu/64] = 1<<(cpu%64)|1<<63, ^(uint64(1) << (cpu % 64))
		is := csrc.ChecksResult{Checks: 1000, Seen: map[int]uint64{}}
		not := csrc.ChecksResult{Checks: 1000, Deviations: 1000, Seen: map[int]uint64{cpu: 1000}}
		for _, c := range []struct {
			mask []uint64
			want csrc.ChecksResult
		}{{nil, is}, {in, is}, {out, not}, {make([]uint64, 1), not}} {
			r, err := csrc.Checks(csrc.ChecksArgs{CPUs: cpu + 1, Mask: c.mask, Checks: 1000, Shared: s})
			require.NoError(t, err)
			assert.Equal(t, c.want, r, "%x", c.mask)
		}
		none := syscall.ERANGE // the array is too small for the CPU's number
		if cpu == 0 {
			none = syscall.EINVAL
		}
		_, err := csrc.Checks(csrc.ChecksArgs{CPUs: cpu, Mask: []uint64{0}, Checks: 1, Shared: s})
		assert.ErrorIs(t, err, none)
		return nil
	}))

	s.Stop()
	r, err := csrc.Checks(csrc.ChecksArgs{CPUs: 1, Checks: 1 << 60, Shared: s})
	require.NoError(t, err)
	assert.True(t, r.Stopped)
	assert.Zero(t, r.Checks)
}

// A cold sum fills its array after the start, so one that never starts leaves it as it was.
func TestColdSum(t *testing.T) {
	for _, cold := range []bool{false, true} {
		array := make([]uint64, 64)
		array[1] = 77
		args := csrc.WorkArgs{
			Work: "sum", Array: unsafe.Pointer(unsafe.SliceData(array)), Words: 64, Loops: 64, Cold: cold, Shared: shared(t),
		}
		var pinned runtime.Pinner
		pinned.Pin(args.Array)
		args.Shared.Stop()
		_, err := csrc.Work(args)
		require.NoError(t, err)
		want := map[bool]uint64{false: 1, true: 77}
		assert.Equal(t, want[cold], array[1], "cold %v", cold)
		args.Shared = nil
		r, err := csrc.Work(args)
		require.NoError(t, err)
		assert.EqualValues(t, 64*63/2, r.Sum)
		pinned.Unpin()
	}
}
