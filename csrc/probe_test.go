package csrc_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/csrc"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

const lineWords = csrc.ProbeLine / 8

// probe accesses a prepared buffer.
func probe(t require.TestingT, buffer []uint64, args csrc.ProbeArgs) csrc.ProbeResult {
	args.Buffer, args.Words = unsafe.Pointer(unsafe.SliceData(buffer)), uint64(len(buffer))
	require.NoError(t, csrc.ProbePrepare(args))
	result, err := csrc.Probe(args)
	require.NoError(t, err)
	return result
}

// indices is the generator in Go, one step at a time.
func indices(seed, words uint64, n int) []uint64 {
	list := make([]uint64, n)
	for i := range list {
		seed = seed*6364136223846793005 + 1442695040888963407
		list[i], _ = bits.Mul64(seed, words)
	}
	return list
}

func sum(list []uint64) (sum uint64) {
	for _, x := range list {
		sum += x
	}
	return sum
}

// filled returns a buffer that is not prepared.
func filled(words int) []uint64 { return slices.Repeat([]uint64{0xdeadbeef}, words) }

// Each access of random adds one to the word of its index.
func TestProbeRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		accesses := rapid.IntRange(0, 10_000).Draw(t, "accesses")
		buffer := filled(rapid.IntRange(1, 2000).Draw(t, "words"))
		result := probe(t, buffer, csrc.ProbeArgs{Access: "random", Accesses: uint64(accesses), Seed: seed})

		want := make([]uint64, len(buffer))
		list := indices(seed, uint64(len(buffer)), accesses)
		for _, i := range list {
			want[i]++
		}
		require.Equal(t, uint64(accesses), result.Accesses)
		require.Equal(t, want, buffer)
		index := probe(t, buffer, csrc.ProbeArgs{Access: "index", Accesses: uint64(accesses), Seed: seed})
		require.Equal(t, sum(list), index.Sum, "it makes the same indices")
		require.Equal(t, want, buffer, "and does not change the buffer")
	})
}

// The indices reach each sixteenth of more words than this machine has memory for, and nothing beyond them.
func TestProbeIndexOfManyWords(t *testing.T) {
	const words, accesses = 1 << 60, 1000
	seen := map[uint64]bool{}
	for seed := range uint64(accesses) {
		result, err := csrc.Probe(csrc.ProbeArgs{Access: "index", Words: words, Accesses: 1, Seed: seed << 54})
		require.NoError(t, err)
		require.Less(t, result.Sum, uint64(words))
		seen[result.Sum>>56] = true
	}
	assert.Len(t, seen, 16)
}

// Sequential accesses ascend from the first word and start again after the last.
func TestProbeSequential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		accesses := rapid.IntRange(0, 10_000).Draw(t, "accesses")
		buffer := filled(rapid.IntRange(1, 9000).Draw(t, "words"))
		result := probe(t, buffer, csrc.ProbeArgs{Access: "sequential", Accesses: uint64(accesses)})

		rounds, rest := accesses/len(buffer), accesses%len(buffer)
		for i, got := range buffer {
			want := rounds
			if i < rest {
				want++
			}
			require.Equal(t, uint64(want), got, "word %d", i)
		}
		require.Equal(t, uint64(accesses), result.Accesses)
	})
}

// A chase is one cycle through every line. Preparing it writes only the links, and following it writes nothing.
func TestProbeChase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.IntRange(lineWords, 3000*lineWords).Draw(t, "words")
		seed := rapid.Uint64().Draw(t, "seed")
		accesses := rapid.IntRange(0, 7000).Draw(t, "accesses")
		buffer := filled(words)
		result := probe(t, buffer, csrc.ProbeArgs{Access: "chase", Accesses: uint64(accesses), Seed: seed})

		base, lines := uint64(uintptr(unsafe.Pointer(&buffer[0]))), words/lineWords
		var cycle []uint64 // of line numbers
		visits := make([]int, lines)
		for line := uint64(0); visits[line] == 0; {
			visits[line]++
			cycle = append(cycle, line)
			offset := buffer[line*lineWords] - base
			buffer[line*lineWords] = 0
			require.Zero(t, offset%csrc.ProbeLine)
			line = offset / csrc.ProbeLine
			require.Less(t, line, uint64(lines))
		}
		require.Len(t, cycle, lines, "one cycle through all lines")
		require.Equal(t, cycle[accesses%lines], result.Sum, "the line where it ended")
		require.Equal(t, uint64(accesses), result.Accesses)
		require.Equal(t, -1, slices.IndexFunc(buffer, func(word uint64) bool { return word != 0 }))
	})
}

// The order of a chase depends on the seed and is irregular: two adjacent lines are rarely consecutive.
func TestProbeChaseIsRandom(t *testing.T) {
	const lines = 4096
	order := func(seed uint64) []uint64 {
		buffer := make([]uint64, lines*lineWords)
		probe(t, buffer, csrc.ProbeArgs{Access: "chase", Seed: seed})
		var next []uint64
		for line := range lines {
			next = append(next, buffer[line*lineWords]-uint64(uintptr(unsafe.Pointer(&buffer[0]))))
		}
		return next
	}
	a, b := order(1), order(2)
	assert.Equal(t, a, order(1))
	assert.NotEqual(t, a, b)
	neighbours := 0
	for line, next := range a {
		if distance := int64(next)/csrc.ProbeLine - int64(line); -2 <= distance && distance <= 2 {
			neighbours++
		}
	}
	assert.Less(t, neighbours, 40, "about 4 of 4096 are expected, with a standard deviation of 2")
}

// Calls that continue where the previous one ended make the same accesses as a single call.
func TestProbeGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.Uint64Range(0, 3000), 1, 5).Draw(t, "parts")
		words, seed := rapid.IntRange(8, 9000).Draw(t, "words"), rapid.Uint64().Draw(t, "seed")
		for _, access := range csrc.ProbeAccesses {
			whole, pieces := filled(words), filled(words)
			once := probe(t, whole, csrc.ProbeArgs{Access: access.Name, Seed: seed, Accesses: sum(parts)})

			args := csrc.ProbeArgs{
				Access: access.Name, Seed: seed, Buffer: unsafe.Pointer(unsafe.SliceData(pieces)), Words: uint64(words),
			}
			require.NoError(t, csrc.ProbePrepare(args))
			var last csrc.ProbeResult
			sums := uint64(0)
			for _, n := range parts {
				args.Accesses = n
				var err error
				last, err = csrc.Probe(args)
				require.NoError(t, err)
				args.From = last.Next
				sums += last.Sum
			}
			require.Equal(t, once.Next, last.Next, access.Name)
			switch access.Name {
			case "random", "sequential":
				require.Equal(t, whole, pieces, access.Name)
			case "index":
				require.Equal(t, once.Sum, sums)
			}
		}
	})
}

func TestProbeStop(t *testing.T) {
	stop := csrc.NewStop()
	defer stop.Free()
	for _, access := range csrc.ProbeAccesses {
		t.Run(access.Name, func(t *testing.T) {
			stop.Clear()
			buffer := make([]uint64, 1<<16)
			args := csrc.ProbeArgs{Access: access.Name, Accesses: 1 << 62, Stop: stop} // 150 years
			args.Buffer, args.Words = unsafe.Pointer(&buffer[0]), uint64(len(buffer))
			require.NoError(t, csrc.ProbePrepare(args))
			ended := started(csrc.Probe, args)
			stop.Set()
			result, err := ended()
			require.NoError(t, err)
			assert.Less(t, result.Accesses, args.Accesses)
			assert.Zero(t, result.Accesses%4096)

			result, err = csrc.Probe(args)
			require.NoError(t, err)
			assert.Zero(t, result.Accesses)
			if access.Name == "index" {
				return
			}
			assert.ErrorIs(t, csrc.ProbePrepare(args), syscall.EINTR)
		})
	}
}

// A probe that reads its CPU reports the first one.
func TestProbeMoves(t *testing.T) {
	buffer := make([]uint64, 1<<12)
	for _, access := range csrc.ProbeAccesses {
		args := csrc.ProbeArgs{Access: access.Name, Accesses: 1 << 16}
		result := probe(t, buffer, args)
		assert.Empty(t, result.Moves)
		assert.Zero(t, result.Lost)
		args.Moves = 1000
		result = probe(t, buffer, args)
		require.NotEmpty(t, result.Moves)
		assert.Zero(t, result.Moves[0].NS)
		last := csrc.Move{NS: -1, CPU: -1}
		for _, m := range result.Moves {
			assert.NotEqual(t, last.CPU, m.CPU)
			assert.Greater(t, m.NS, last.NS)
			assert.LessOrEqual(t, m.NS, result.NS)
			last = m
		}
	}
}

// A probe that is moved reports each CPU, and counts the CPUs that it has no room for. Its only word counts the accesses:
// after 2 more chunks it has read its CPU.
func TestProbeIsMoved(t *testing.T) {
	cpus := tests.CPUs(t, 2)
	home, away := cpus[0], cpus[1]
	for _, kept := range []int{1, 3, 100} {
		const chunk = 4096 * csrc.ProbeLine / 8 // accesses between two readings of the CPU
		stop := csrc.NewStop()
		word := new(atomic.Uint64)
		threads, results := make(chan int), make(chan csrc.ProbeResult)
		go func() {
			runtime.LockOSThread() // for good: the thread ends with its mask
			assert.NoError(t, linux.SetAffinity(0, cpuset.Of(home)))
			threads <- linux.Gettid()
			result, err := csrc.Probe(csrc.ProbeArgs{
				Access: "sequential", Buffer: unsafe.Pointer(word), Words: 1,
				Accesses: 1 << 62, Stop: stop, Moves: kept,
			})
			assert.NoError(t, err)
			results <- result
		}()
		tid := <-threads
		for _, cpu := range []int{home, away, home, away, home} {
			assert.NoError(t, linux.SetAffinity(tid, cpuset.Of(cpu)))
			for before := word.Load(); word.Load() < before+2*chunk; {
				runtime.Gosched()
			}
		}
		stop.Set()
		result := <-results
		stop.Free()
		var seen []int
		for _, m := range result.Moves {
			seen = append(seen, m.CPU)
		}
		const moves = 5
		assert.Equal(t, []int{home, away, home, away, home}[:min(kept, moves)], seen)
		assert.Equal(t, uint64(moves-len(seen)), result.Lost)
	}
}

func TestProbeOutOfBounds(t *testing.T) {
	buffer := make([]uint64, 64)
	at := unsafe.Pointer(&buffer[0])
	for _, args := range []csrc.ProbeArgs{
		{Access: "random", Buffer: at},
		{Access: "random", Words: 8},
		{Access: "random", Buffer: unsafe.Add(at, 4), Words: 8},
		{Access: "random", Buffer: at, Words: 1<<60 + 1},
		{Access: "sequential", Buffer: at},
		{Access: "sequential", Words: 8},
		{Access: "chase", Buffer: at},
		{Access: "chase", Buffer: at, Words: 7},
		{Access: "chase", Words: 8},
		{Access: "index"},
		{Access: "index", Words: 1<<60 + 1},
	} {
		_, err := csrc.Probe(args)
		assert.ErrorIs(t, err, syscall.EINVAL, "%+v", args)
		if args.Access != "index" {
			assert.ErrorIs(t, csrc.ProbePrepare(args), syscall.EINVAL, "%+v", args)
		}
	}
	for _, access := range []string{"", "Random", "walk"} {
		args := csrc.ProbeArgs{Access: access, Buffer: at, Words: 64}
		assert.ErrorContains(t, csrc.ProbePrepare(args), fmt.Sprintf("no access %q", access))
		_, err := csrc.Probe(args)
		assert.ErrorContains(t, err, fmt.Sprintf("no access %q", access))
	}
}

// A buffer without links is refused, so that no invalid address is read.
func TestProbeChaseOfUnlinkedBuffer(t *testing.T) {
	buffer := make([]uint64, 64)
	base := uint64(uintptr(unsafe.Pointer(&buffer[0])))
	for _, first := range []uint64{0, 1, base + 8, base - 64, base + 512, rand.Uint64() | 1} {
		buffer[0] = first
		args := csrc.ProbeArgs{Access: "chase", Buffer: unsafe.Pointer(&buffer[0]), Words: 64, Accesses: 1}
		_, err := csrc.Probe(args)
		assert.ErrorIs(t, err, syscall.EINVAL, "%#x", first)
	}
}
