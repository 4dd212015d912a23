package csrc

import "unsafe"

// PairWork is what each process of a pair does.
type PairWork struct {
	Name, Usage string
	Talks       bool // two sides hand a turn over; a loop is a round trip
}

// Entry implements catalog.Entry.
func (w PairWork) Entry() (name, usage string) { return w.Name, w.Usage }

// Works is the table of what a process of a pair does, in the order of the C enumeration.
var Works = [...]PairWork{
	{"syscall", "calls getppid(2)", false},
	{"spin", "multiplies and adds, each after the one before", false},
	{"sum", "adds the words of an array, round and round", false},
	{"pingpong-pipe", "hands a byte back and forth through two pipes", true},
	{"pingpong-futex", "hands a turn back and forth in shared memory, and sleeps meanwhile (futex(2))", true},
	{"pingpong-shm", "hands a turn back and forth in shared memory, and spins meanwhile", true},
}

// WorkArgs say what a process does, and how often.
type WorkArgs struct {
	Work    string // a name of Works
	Loops   uint64
	Array   unsafe.Pointer // of sum: not Go memory, 8-byte aligned; it is filled before the start
	Words   uint64         // of 64 bits, in the array
	First   bool           // of two sides that talk, the one that begins and measures
	In, Out int            // of pingpong-pipe: file descriptors
	Shared  *Shared        // nil: begin at once
}

// WorkResult is what a process did.
type WorkResult struct {
	Loops          uint64    // done
	Sum            uint64    // of the words; of spin its last value
	StartNS, EndNS int64     // CLOCK_MONOTONIC; 0: it was stopped before it began
	Trips          []Latency // of the first of two sides that talk, ascending
	CPU            int       // at the end; -1: not known
	Stopped        bool
}

// Latency counts the round trips of about the same time: exact below 512 ns, within 0.2% above.
type Latency struct {
	NS    float64
	Count uint64
}

// ChecksArgs say where a process is to be, and how often it looks.
type ChecksArgs struct {
	CPU    int // -1: where it was at the check before
	CPUs   int // more than the highest number that a CPU may have
	Checks uint64
	Shared *Shared // nil: begin at once
}

// ChecksResult is where it was instead.
type ChecksResult struct {
	Checks     uint64 // done
	Deviations uint64
	Seen       map[int]uint64 // the deviations by CPU
	Stopped    bool
}
