package csrc

import "unsafe"

// ProbeLine is the distance of two links of a chase in bytes: a cache line.
const ProbeLine = 64

const chase = "chase"

// ProbeAccesses is the table of the probe's ways through its buffer.
var ProbeAccesses = [...]struct{ Name, Usage string }{
	{"random", "reads and writes a word at a random index"},
	{"sequential", "reads and writes each word in turn"},
	{chase, "reads where to read next: one random cycle through all cache lines, latency alone"},
	{"index", "makes the indices of random and leaves memory alone: the generator's own time"},
}

// ProbeArgs say what to access, and how often. The same arguments make the same sequence of accesses.
type ProbeArgs struct {
	Access   string         // a name of ProbeAccesses
	Buffer   unsafe.Pointer // 8-byte aligned; index needs none
	Words    uint64         // of 64 bits, in the buffer: 1…2^60; chase: at least a line's 8
	Accesses uint64
	From     uint64 // where the walk begins: 0, or Next of the call before it
	Seed     uint64
	Stop     *Stop // may be nil
	Moves    int   // how many CPU changes are kept at most, the first CPU included; 0: the CPU is not looked at
}

// ProbeResult is what a probe did before it ended or was stopped.
type ProbeResult struct {
	Accesses uint64
	NS       int64  // that they took, in nanoseconds
	Sum      uint64 // index: of the indices; chase: the line that it ended on; others: 0
	Next     uint64 // From of a call that goes on from here
	Moves    []Move // the CPUs that it was seen on, looked at every 4096 accesses, or lines
	Lost     uint64 // moves seen beyond those kept
}

// Move is the CPU that the probe was seen on, from so many nanoseconds after its start.
type Move struct {
	NS  int64
	CPU int // -1 where the system does not tell
}
