package primes

// bruteGo is the brute method in plain Go: per trial an addition, a comparison and a branch that is rarely taken.
var bruteGo = Kernel{
	Name:  "go",
	Usage: "plain Go: 64-bit reciprocals, four numbers at a time",
	New:   newBrute(bruteKernel{last: bruteNarrow - 1, nanoseconds: 0.2, tile: tileGo}),
}

// tileGo is the tile of any CPU. With x = n·c mod 2^64 the test is x ≤ c−1, and so holds for i = 1, where c is 0.
func tileGo(reciprocals []uint64, first, step uint64, hits []uint32) {
	for len(hits) >= 4 {
		tileGo4(reciprocals, first, step, (*[4]uint32)(hits))
		first += 4 * step
		hits = hits[4:]
	}
	for k := range hits {
		n := first + uint64(k)*step
		for _, c := range reciprocals {
			if n*c <= c-1 {
				hits[k]++
			}
		}
	}
}

// tileGo4 tests four rows, with one branch per row that is taken only if a divisor was found.
func tileGo4(reciprocals []uint64, first, step uint64, hits *[4]uint32) {
	for _, c := range reciprocals {
		// If d were initialised to step*c, the compiler would turn each x + d back into a multiplication.
		t, d := c-1, c
		if step != 1 {
			d *= step
		}
		x0 := first * c
		x1 := x0 + d
		x2 := x1 + d
		x3 := x2 + d
		if x0 <= t || x1 <= t || x2 <= t || x3 <= t {
			x := x0
			for k := range hits {
				if x <= t {
					hits[k]++
				}
				x += d
			}
		}
	}
}
