package contend

import "sync/atomic"

// goFAA adds 1 to the word n times: the loop of faa-go. It is unrolled by hand, as often as csrc's loops, since Go's
// compiler does not unroll.
func goFAA(word *uint64, n uint64) {
	for ; n >= 16; n -= 16 {
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
		atomic.AddUint64(word, 1)
	}
	for ; n > 0; n-- {
		atomic.AddUint64(word, 1)
	}
}
