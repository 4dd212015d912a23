package perf

// Fault is a minor page fault of a thread in user mode.
type Fault struct {
	NS      int64 // CLOCK_MONOTONIC in nanoseconds
	Address uint64
}

// Faults traces the page faults of one thread. It is for one goroutine at a time.
type Faults struct{ source faultSource }

// faultSource reads the faults since it was opened or last read.
type faultSource interface {
	Read() (faults []Fault, lost uint64, err error)
	Close() error
}

// Read returns the faults since the last Read, or since OpenFaults. lost is the number of faults that did not fit into
// the kernel's ring.
func (f *Faults) Read() (faults []Fault, lost uint64, err error) { return f.source.Read() }

// Close ends the trace. A second call does nothing.
func (f *Faults) Close() error { return f.source.Close() }
