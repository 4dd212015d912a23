package csrc_test

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/csrc"
)

// The effect of an operation on memory depends only on the number of repetitions, and is limited to its own bytes.
func TestOpEffects(t *testing.T) {
	ops := operations(t)
	memory := anonymous(t)
	word := (*uint64)(unsafe.Pointer(&memory[0]))
	untouched := bytes.Repeat([]byte{0xaa}, len(memory))
	set := map[string]int{"memset64": 64, "memset128": 128, "memset256": 256} // bytes
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom(ops).Draw(t, "op")
		count := rapid.Uint64Range(1, 2000).Draw(t, "count")
		value := rapid.OneOf(rapid.SampledFrom([]uint64{0, math.MaxUint64}), rapid.Uint64()).Draw(t, "value")
		if op.Variant == "lse" && !csrc.HasLSE() {
			return
		}
		copy(memory, untouched)
		*word = value
		r, err := csrc.Contend(csrc.ContendArgs{
			Op: op.Name, Variant: op.Variant, Word: unsafe.Pointer(word), Count: count,
		})
		require.NoError(t, err)
		require.Equal(t, count, r.Operations)
		require.False(t, r.Stopped)
		require.GreaterOrEqual(t, r.Start, r.Origin)
		require.GreaterOrEqual(t, r.End, r.Start)
		require.GreaterOrEqual(t, r.CPU, 0)

		left, failures := value, uint64(0)
		switch op.Name {
		case "set_bit":
			left = value | 1
		case "inc", "xadd":
			left = value + count
		case "cas_loop":
			left, failures = value+count, min(value, 1) // its first expected value is 0
		case "cmpxchg":
			failures = min(value, 1)
			left = value + count - failures
		case "cmpxchg_fail":
			failures = count
			if value == math.MaxUint64 { // its first expected value
				failures--
			}
		case "xchg": // its register is 0 at the start
			if count%2 == 1 {
				left = 0
			}
		case "store", "mov_mfence":
			left = 1
		}
		if set[op.Name] > 0 {
			left = 0x0101010101010101
		}
		require.Equal(t, left, *word)
		require.Equal(t, failures, r.Failures)
		own := max(8, set[op.Name])
		require.Equal(t, bytes.Repeat([]byte{1}, own-8), memory[8:own])
		require.Equal(t, untouched[own:], memory[own:])
	})
}

// Concurrent additions are never lost.
func TestContendTogether(t *testing.T) {
	const threads, count = 3, 200_003
	for _, op := range operations(t) {
		if op.Variant == "lse" && !csrc.HasLSE() {
			continue
		}
		switch op.Name {
		case "inc", "xadd", "cas_loop", "cmpxchg":
		default:
			continue
		}
		t.Run(op.Name+op.Variant, func(t *testing.T) {
			word := (*uint64)(unsafe.Pointer(&anonymous(t)[0]))
			results := runThreads(t, threads, csrc.ContendArgs{
				Op: op.Name, Variant: op.Variant, Word: unsafe.Pointer(word), Count: count,
			})
			sum := uint64(0)
			for _, r := range results {
				assert.EqualValues(t, count, r.Operations)
				sum += r.Operations
				if op.Name == "cmpxchg" {
					sum -= r.Failures
				}
			}
			assert.Equal(t, sum, *word)
		})
	}
}

// A gate releases its threads at one instant, and can be used again.
func TestGate(t *testing.T) {
	operations(t)
	word := (*uint64)(unsafe.Pointer(&anonymous(t)[0]))
	gate := csrc.NewGate(1)
	defer gate.Free()
	before := int64(0)
	for threads := 1; threads <= 8; threads++ {
		gate.Reset(threads)
		results := runThreads(t, threads, csrc.ContendArgs{Op: "inc", Word: unsafe.Pointer(word), Count: 1, Gate: gate})
		for _, r := range results {
			assert.Equal(t, results[0].Origin, r.Origin)
			assert.Greater(t, r.Origin, before)
			assert.GreaterOrEqual(t, r.Start, r.Origin)
		}
		before = results[0].End
	}
	assert.EqualValues(t, 1+2+3+4+5+6+7+8, *word)
}

func TestContendInTime(t *testing.T) {
	word := (*uint64)(unsafe.Pointer(&anonymous(t)[0]))
	const whole, window = 20 * time.Millisecond, time.Millisecond
	for _, name := range []string{"idle", "xadd", "cmpxchg", "cmpxchg-fail", "syscall", "syscall-enosys"} {
		t.Run(name, func(t *testing.T) {
			for _, r := range runThreads(t, 2, csrc.ContendArgs{
				Op: operation(t, name), Word: unsafe.Pointer(word), Time: whole, Window: window,
			}) {
				assert.False(t, r.Stopped)
				assert.GreaterOrEqual(t, r.End, r.Origin+int64(whole))
				if r.Start >= r.Origin+int64(whole) { // other programs had the CPU
					assert.Zero(t, r.Operations)
					assert.Empty(t, r.Marks)
					continue
				}
				require.NotEmpty(t, r.Marks)
				last := csrc.Mark{}
				for _, m := range r.Marks {
					assert.Greater(t, (m.NS-r.Origin)/int64(window), (last.NS-r.Origin)/int64(window), "one mark per window")
					assert.GreaterOrEqual(t, m.NS, r.Origin+int64(window))
					assert.Greater(t, m.Operations, last.Operations)
					assert.GreaterOrEqual(t, m.Failures, last.Failures)
					assert.GreaterOrEqual(t, m.CPUNS, last.CPUNS)
					last = m
				}
				assert.Positive(t, last.CPUNS)
				assert.Equal(t, last.NS, r.End, "the time is a multiple of the window")
				assert.Equal(t, last.Operations, r.Operations)
				assert.Equal(t, last.Failures, r.Failures)
			}
		})
	}
}

// A window longer than the time has no mark, and the run still ends on time.
func TestContendWithoutWindow(t *testing.T) {
	word := (*uint64)(unsafe.Pointer(&anonymous(t)[0]))
	args := csrc.ContendArgs{
		Op: operation(t, "xadd"), Word: unsafe.Pointer(word), Time: time.Millisecond, Window: time.Hour,
	}
	r, err := csrc.Contend(args)
	require.NoError(t, err)
	assert.Empty(t, r.Marks)
	assert.GreaterOrEqual(t, r.End, r.Origin+int64(args.Time))
	assert.Equal(t, r.Operations, *word)

	// The operations between two readings of the clock take longer than the window.
	args.Op, args.Time, args.Window = "syscall", 5*time.Microsecond, 6*time.Microsecond
	r, err = csrc.Contend(args)
	require.NoError(t, err)
	assert.Empty(t, r.Marks)
}

func TestContendStopped(t *testing.T) {
	word := (*uint64)(unsafe.Pointer(&anonymous(t)[0]))
	stop := csrc.NewStop()
	defer stop.Free()
	for name, args := range map[string]csrc.ContendArgs{
		"count": {Count: 1 << 62},
		"time":  {Time: 1000 * time.Hour, Window: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			args.Op, args.Word, args.Stop = operation(t, "xadd"), unsafe.Pointer(word), stop
			*word = 0
			stop.Clear()
			result := started(csrc.Contend, args)
			for atomic.LoadUint64(word) == 0 {
				runtime.Gosched()
			}
			stop.Set()
			r, err := result()
			require.NoError(t, err)
			assert.True(t, r.Stopped)
			assert.Equal(t, *word, r.Operations)

			*word = 0
			gate := csrc.NewGate(2) // the second thread never arrives
			defer gate.Free()
			args.Gate = gate
			r, err = csrc.Contend(args)
			require.NoError(t, err)
			assert.True(t, r.Stopped)
			assert.Zero(t, r.Operations)
			assert.Zero(t, r.Origin)
			assert.Zero(t, *word)
		})
	}
}

func TestContendErrors(t *testing.T) {
	memory := anonymous(t)
	good := csrc.ContendArgs{Op: operation(t, "xadd"), Word: unsafe.Pointer(&memory[0]), Count: 1}
	for _, wrong := range []struct {
		message string
		change  func(*csrc.ContendArgs)
	}{
		{`no operation "add"`, func(a *csrc.ContendArgs) { a.Op = "add" }},
		{"variant mips: not on this architecture", func(a *csrc.ContendArgs) { a.Variant = "mips" }},
		{"operation xadd in C: invalid argument", func(a *csrc.ContendArgs) { a.Count = 0 }},
		{"invalid argument", func(a *csrc.ContendArgs) { a.Count, a.Time = 0, time.Second }},
		{"invalid argument", func(a *csrc.ContendArgs) { a.Count, a.Time, a.Window = 0, math.MaxInt64, math.MaxInt64 }},
		{"invalid argument", func(a *csrc.ContendArgs) { a.Word = unsafe.Pointer(&memory[4]) }},
		{"invalid argument", func(a *csrc.ContendArgs) { a.Word = nil }},
		{"more than 16777216 windows", func(a *csrc.ContendArgs) {
			a.Count, a.Time, a.Window = 0, time.Hour, time.Microsecond
		}},
	} {
		args := good
		wrong.change(&args)
		_, err := csrc.Contend(args)
		assert.ErrorContains(t, err, wrong.message)
	}
	_, err := csrc.Contend(good)
	assert.NoError(t, err)
}

func TestLSE(t *testing.T) {
	args := csrc.ContendArgs{
		Op: operation(t, "xadd"), Variant: "lse", Word: unsafe.Pointer(&anonymous(t)[0]), Count: 1,
	}
	if _, err := csrc.Contend(args); csrc.HasLSE() {
		assert.NoError(t, err)
	} else {
		assert.ErrorIs(t, err, errors.ErrUnsupported)
	}
}

// operations skips the test where the C code has none.
func operations(t *testing.T) []csrc.Op {
	t.Helper()
	_, err := csrc.Contend(csrc.ContendArgs{Op: "idle"})
	if errors.Is(err, errors.ErrUnsupported) {
		assert.Empty(t, csrc.Ops())
		t.Skip("needs the C kernels")
	}
	return csrc.Ops()
}

// started calls a kernel in a goroutine.
func started[A, R any](kernel func(A) (R, error), args A) (result func() (R, error)) {
	var r R
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = kernel(args)
	}()
	return func() (R, error) {
		<-done
		return r, err
	}
}

// operation returns name, and skips the test where the C code has no operations.
func operation(t *testing.T, name string) string {
	t.Helper()
	operations(t)
	return name
}

// runThreads runs args on several threads at the same time, through args.Gate or a new gate.
func runThreads(t *testing.T, threads int, args csrc.ContendArgs) []csrc.ContendResult {
	t.Helper()
	if args.Gate == nil {
		args.Gate = csrc.NewGate(threads)
		defer args.Gate.Free()
	}
	results, errs := make([]csrc.ContendResult, threads), make([]error, threads)
	var wait sync.WaitGroup
	for i := range threads {
		wait.Go(func() { results[i], errs[i] = csrc.Contend(args) })
	}
	wait.Wait()
	require.NoError(t, errors.Join(errs...))
	return results
}

// anonymous returns a page of zeros that is not Go's memory.
func anonymous(t *testing.T) []byte {
	t.Helper()
	memory, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, syscall.Munmap(memory)) })
	return memory
}
