package primes

import "golang.org/x/sys/cpu"

// bruteSIMD lists the brute method's kernels for this architecture.
var bruteSIMD = []Kernel{
	{
		Name:      "avx512",
		Usage:     "AVX-512: 16 divisors at a time, in 32-bit lanes",
		Requires:  "AVX-512F",
		Available: func() bool { return cpu.X86.HasAVX512F && cpu.X86.HasPOPCNT },
		New:       newBrute(bruteKernel{last: laneLast, nanoseconds: 0.025, tile: tileAVX512}),
	},
	{
		Name:      "avx2",
		Usage:     "AVX2: 8 divisors at a time, in 32-bit lanes",
		Requires:  "AVX2",
		Available: func() bool { return cpu.X86.HasAVX2 && cpu.X86.HasPOPCNT },
		New:       newBrute(bruteKernel{last: laneLast, nanoseconds: 0.04, tile: tileAVX2}),
	},
}

// laneLast is the largest divisor for which 32-bit lanes are exact in tiles of R = bruteRows rows.
//
// Let X = n·c mod 2^64 with c = ⌈2^64/i⌉, and e = c − 2^64/i, 0 ≤ e < 1. If i divides n then X = n·e < 2^32. If not,
// n/i has a fraction of 1/i to 1 − 1/i, so 2^64/i ≤ X < 2^64 − 2^64/i + 2^32.
//
// A lane holds only the upper half of X, without the carries from the lower half: it starts at y = ⌊X/2^32⌋ of the
// first row and adds d = ⌊(step·c mod 2^64)/2^32⌋ per row. Each floor loses less than 1, so in row k < R it is below
// the true X/2^32 by less than k + 1 ≤ R, modulo 2^32. With the bias R − 1 that the kernels add to y, the lane (an
// integer) is thus in 0…R−1 if i divides n; and if not, it is at least R as long as 2^32/i ≥ 2R, and does not reach
// 2^32. The lanes' minimum over all rows is compared with R; if it is less, the rows are tested again one by one and
// counted.
const laneLast = (1 << 32) / (2 * bruteRows)

// tileLanes512 tests `blocks` runs of 64 divisors each.
//
//go:noescape
func tileLanes512(reciprocals *uint64, blocks int, first, step uint64, rows int, hits *uint32)

// tileLanes256 tests `blocks` runs of 32 divisors each.
//
//go:noescape
func tileLanes256(reciprocals *uint64, blocks int, first, step uint64, rows int, hits *uint32)

func tileAVX512(reciprocals []uint64, first, step uint64, hits []uint32) {
	if blocks := len(reciprocals) / 64; blocks > 0 {
		tileLanes512(&reciprocals[0], blocks, first, step, len(hits), &hits[0])
	}
	tileGo(reciprocals[len(reciprocals)&^63:], first, step, hits)
}

func tileAVX2(reciprocals []uint64, first, step uint64, hits []uint32) {
	if blocks := len(reciprocals) / 32; blocks > 0 {
		tileLanes256(&reciprocals[0], blocks, first, step, len(hits), &hits[0])
	}
	tileGo(reciprocals[len(reciprocals)&^31:], first, step, hits)
}
