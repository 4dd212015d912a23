package perf

// Family traces the threads of all processes that descend from a thread. Except for Stop, its methods are for one
// goroutine at a time.
type Family struct {
	family
	method   TraceMethod
	degraded error
}

// family is the system-dependent part.
type family interface {
	moveSource
	// Wait waits until there is enough to read and returns true, or false after Stop.
	Wait() bool
	// Stop makes present and later calls of Wait return, from any goroutine.
	Stop()
}

// Method returns the source of the moves.
func (f *Family) Method() TraceMethod { return f.method }

// Degraded returns why no better method is available; nil when the best is in use. It has a Hint.
func (f *Family) Degraded() error { return f.degraded }
