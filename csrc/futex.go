package csrc

// WakeupsArgs are the arguments of one of two threads that wake each other.
type WakeupsArgs struct {
	First bool   // this thread wakes first; the other one sleeps first
	Trips uint64 // number of times that it sleeps, and wakes the other one
	Futex *WakeFutex
}

// WakeupsResult holds the measurements of one thread.
type WakeupsResult struct {
	NS      []float64 // one value per wake-up of this thread
	CPU     int       // at the end; -1: not known
	Stopped bool
}
