package contend

import "sync/atomic"

// goFAA adds 1 to the word n times: the loop of faa-go. It is unrolled by hand, which Go's compiler does not do, by as
// much as csrc's loops.
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
