package perf

// Fault is a page fault that a thread took in user mode and that needed no disk.
type Fault struct {
	NS      int64 // CLOCK_MONOTONIC in nanoseconds
	Address uint64
}

// Faults follows the page faults of one thread. It is for one goroutine at a time.
type Faults struct{ source faultSource }

// faultSource reads the faults since it was opened or last read.
type faultSource interface {
	Read() (faults []Fault, lost uint64, err error)
	Close() error
}

// Read returns the faults since the last Read, or since OpenFaults. lost is the number of those whose addresses the kernel
// had no room to keep.
func (f *Faults) Read() (faults []Fault, lost uint64, err error) { return f.source.Read() }

// Close ends the following. A second call does nothing.
func (f *Faults) Close() error { return f.source.Close() }
