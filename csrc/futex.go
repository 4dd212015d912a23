package csrc

// WakeupsArgs are those of one of two threads that wake each other.
type WakeupsArgs struct {
	First bool   // wakes first; the other one sleeps first
	Trips uint64 // how often it sleeps, and wakes the other one
	Bed   *Bed
}

// WakeupsResult is what a thread measured.
type WakeupsResult struct {
	NS      []float64 // of each of its own wake-ups
	CPU     int       // at the end; -1: not known
	Stopped bool
}
