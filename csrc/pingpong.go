package csrc

import (
	"time"
	"unsafe"
)

// PingPongArgs are those of one of the two threads that hand a cache line back and forth.
type PingPongArgs struct {
	Method  string         // one of PingPongMethods, the same for both
	First   bool           // this thread hands over first, and measures; the other ends with it
	Line    unsafe.Pointer // 16 bytes, zero, aligned to 64 and better to 128; not Go memory
	Time    time.Duration  // from the common start; longer if no batch was complete by then
	BatchNS int64          // time that a batch of round trips should take
	Gate    *Gate          // may be nil
	Stop    *Stop          // may be nil
}

// PingPongResult is what a thread measured.
type PingPongResult struct {
	Batches            []float64 // ns of a round trip, a mean for each batch; of the first thread
	RoundTripsPerBatch uint64
	RoundTrips         uint64 // all of this thread, with those that found RoundTripsPerBatch
	CPU                int    // at the end; -1: not known
	Stopped            bool   // by the flag
}
