package csrc

import (
	"time"
	"unsafe"
)

// PingPongArgs are the arguments of one of the two threads that pass a cache line back and forth.
type PingPongArgs struct {
	Method  string         // one of PingPongMethods, the same for both
	First   bool           // this thread passes first and measures; the other ends with it
	Line    unsafe.Pointer // 16 bytes, zero, aligned to 64 and better to 128; not Go memory
	Time    time.Duration  // from the common start; extended until one batch is complete
	BatchNS int64          // time that a batch of round trips should take
	Gate    *Gate          // may be nil
	Stop    *Stop          // may be nil
}

// PingPongResult holds the measurements of one thread.
type PingPongResult struct {
	Batches            []float64 // mean ns of a round trip in each batch; of the first thread only
	RoundTripsPerBatch uint64
	RoundTrips         uint64 // of this thread, including those that determined RoundTripsPerBatch
	CPU                int    // at the end; -1: not known
	Stopped            bool   // by the flag
}
