package csrc

import "unsafe"

// PairWork is a kind of work that each process of a pair does.
type PairWork struct {
	Name, Usage string
	Talks       bool // two sides pass a turn to each other; a loop is a round trip
}

// Entry implements catalog.Entry.
func (w PairWork) Entry() (name, usage string) { return w.Name, w.Usage }

// Works lists the kinds of work, in the order of the C enumeration.
var Works = [...]PairWork{
	{"syscall", "calls getppid(2)", false},
	{"spin", "multiplies and adds, each operation depending on the previous one", false},
	{"sum", "adds the words of an array, repeatedly", false},
	{"pingpong-pipe", "passes a byte back and forth through two pipes", true},
	{"pingpong-futex", "passes a turn back and forth in shared memory, and sleeps while it waits (futex(2))", true},
	{"pingpong-shm", "passes a turn back and forth in shared memory, and spins while it waits", true},
}

// WorkArgs are the arguments of Work.
type WorkArgs struct {
	Work    string // a name of Works
	Loops   uint64
	Array   unsafe.Pointer // for sum: not Go memory, 8-byte aligned; Work fills it before the start
	Words   uint64         // 64-bit words in the array
	Cold    bool           // for sum: Work fills the array after the start, as a part of the work
	First   bool           // for two sides that talk: this one begins and measures
	In, Out int            // for pingpong-pipe: file descriptors
	Shared  *Shared        // nil: begin at once
}

// WorkResult describes the work of one process.
type WorkResult struct {
	Loops          uint64    // completed
	Sum            uint64    // sum of the words; for spin, its last value
	StartNS, EndNS int64     // CLOCK_MONOTONIC; 0: stopped before the start
	Trips          []Latency // of the first of two talking sides, ascending
	CPU            int       // at the end; -1: not known
	Stopped        bool
}

// Latency counts the round trips of about the same duration: exact below 512 ns, within 0.2% above.
type Latency struct {
	NS    float64
	Count uint64
}

// ChecksArgs give the expected CPU of a process and the number of checks.
type ChecksArgs struct {
	CPU    int      // expected; -1: the CPU of the previous check
	CPUs   int      // greater than the highest possible CPU number
	Mask   []uint64 // expected instead of CPU, 64 CPUs a word; nil: CPU counts
	Checks uint64
	Shared *Shared // nil: begin at once
}

// ChecksResult reports the CPUs on which the process ran instead.
type ChecksResult struct {
	Checks     uint64 // completed
	Deviations uint64
	Seen       map[int]uint64 // deviations by CPU
	Stopped    bool
}
