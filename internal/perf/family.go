package perf

// Family follows the threads of the processes that a thread starts, and of all that those start. But for Stop it is for
// one goroutine at a time.
type Family struct {
	family
	method   TraceMethod
	degraded error
}

// family is what depends on the system.
type family interface {
	moveSource
	// Wait returns true when there is enough to be read, and false after Stop.
	Wait() bool
	// Stop ends Wait, now and later, from any goroutine.
	Stop()
}

// Method returns where the moves come from.
func (f *Family) Method() TraceMethod { return f.method }

// Degraded returns why no better method could be had; nil when the best is in use. It has a Hint.
func (f *Family) Degraded() error { return f.degraded }
