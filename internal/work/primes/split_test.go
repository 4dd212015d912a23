package primes

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every split deals each number from 1 to the limit exactly once, in pieces of at most one grain, for any order in
// which the workers take them.
func TestSplitsDealEveryNumberOnce(t *testing.T) {
	for _, split := range Splits {
		if split.Faulty {
			continue
		}
		t.Run(split.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				limit := rapid.Uint64Range(0, 3000).Draw(t, "limit")
				workers := rapid.IntRange(1, 4000).Draw(t, "workers")
				grain := rapid.Uint64Range(1, 50).Draw(t, "grain")
				d := split.deal(limit, workers, func(uint64) uint64 { return grain })
				seen := make([]int, limit+1)
				positions := make([]position, workers)
				for left := workers; left > 0; {
					i := rapid.IntRange(0, workers-1).Draw(t, "worker")
					for rounds := range workers { // the drawn worker takes one piece, the others follow in turn
						at := (i + rounds) % workers
						piece, ok := d.next(at, &positions[at])
						if !ok {
							left--
							continue
						}
						left = workers
						require.LessOrEqual(t, piece.Count, grain)
						for k := range piece.Count {
							seen[piece.First+k*piece.Step]++
						}
					}
				}
				for n := uint64(1); n <= limit; n++ {
					require.Equal(t, 1, seen[n], "number %d", n)
				}
				require.Zero(t, seen[0], "0 is not a number to test")
			})
		})
	}
}

// No piece exceeds its last number's grain, for any method: otherwise one worker would take all small numbers in one
// piece.
func TestPiecesAreSmall(t *testing.T) {
	const limit = 300_000
	for _, method := range Methods {
		counter := method.available()[0].New(limit)
		for _, split := range Splits {
			d := split.deal(limit, 2, counter.Grain)
			var at position
			for piece, ok := d.next(0, &at); ok; piece, ok = d.next(0, &at) {
				last := piece.First + (piece.Count-1)*piece.Step
				if grain := counter.Grain(last); piece.Count > grain { // an assertion for each piece would take seconds
					require.LessOrEqual(t, piece.Count, grain, "%s, %s: %v", method.Name, split.Name, piece)
				}
			}
		}
	}
}

// Shares differ by one number at most, and their ends do not overflow at the largest limit.
func TestContiguousSharesAreEven(t *testing.T) {
	whole := func(limit uint64) func(uint64) uint64 { return func(uint64) uint64 { return limit } }
	for _, tc := range []struct {
		limit   uint64
		workers int
	}{{200_000, 50_000}, {10, 3}, {MaxLimit, 7}, {3, 5}, {0, 2}} {
		d := newContiguous(tc.limit, tc.workers, whole(tc.limit))
		next, total := uint64(1), uint64(0)
		for i := range tc.workers {
			piece, ok := d.next(i, &position{})
			if !ok {
				continue
			}
			require.Equal(t, next, piece.First)
			require.InDelta(t, float64(tc.limit)/float64(tc.workers), float64(piece.Count), 1)
			next, total = next+piece.Count, total+piece.Count
		}
		require.Equal(t, tc.limit, total)
	}
}

// The original's fault: the last number of each worker's run is skipped, and so is the remainder. It is not the
// default.
func TestOriginalLeavesNumbersOut(t *testing.T) {
	require.False(t, Splits[0].Faulty)
	split, err := LookupSplit("original")
	require.NoError(t, err)
	require.True(t, split.Faulty)
	require.Contains(t, split.Usage, "FAULTY")
	for _, tc := range []struct {
		limit   uint64
		workers int
		want    []uint64
	}{
		{10, 2, []uint64{1, 2, 3, 4, 6, 7, 8, 9}},
		{11, 3, []uint64{1, 2, 4, 5, 7, 8}},
		{3, 3, nil},
		{2, 5, nil},
		{0, 1, nil},
	} {
		d := split.deal(tc.limit, tc.workers, func(uint64) uint64 { return 1 })
		var dealt []uint64
		for i := range tc.workers {
			var at position
			for piece, ok := d.next(i, &at); ok; piece, ok = d.next(i, &at) {
				dealt = append(dealt, piece.First)
			}
		}
		require.Equal(t, tc.want, dealt, "%d numbers, %d workers", tc.limit, tc.workers)
		require.Equal(t, uint64(len(tc.want)), split.numbers(tc.limit, tc.workers))
	}
}
