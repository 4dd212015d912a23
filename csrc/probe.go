package csrc

import "unsafe"

// ProbeLine is the distance between two links of a chase in bytes: a cache line.
const ProbeLine = 64

const chase = "chase"

// ProbeAccesses lists the access patterns of the probe.
var ProbeAccesses = [...]struct{ Name, Usage string }{
	{"random", "reads and writes a word at a random index"},
	{"sequential", "reads and writes each word in turn"},
	{chase, "reads the address of the next read: one random cycle through all cache lines, which measures latency alone"},
	{"index", "generates the indices of random without accessing memory: the generator's own time"},
}

// ProbeArgs describe the accesses to make. The same arguments give the same sequence of accesses.
type ProbeArgs struct {
	Access   string         // a name of ProbeAccesses
	Buffer   unsafe.Pointer // 8-byte aligned; index needs none
	Words    uint64         // 64-bit words in the buffer: 1…2^60; chase: at least 8, one line
	Accesses uint64
	From     uint64 // where the walk begins: 0, or Next of the previous call
	Seed     uint64
	Stop     *Stop // may be nil
	Moves    int   // limit of CPU changes to keep, including the first CPU; 0: the CPU is not read
}

// ProbeResult describes the accesses until the probe ended or was stopped.
type ProbeResult struct {
	Accesses uint64
	NS       int64  // duration of the accesses, in nanoseconds
	Sum      uint64 // index: sum of the indices; chase: the last line; others: 0
	Next     uint64 // From of a call that continues from here
	Moves    []Move // CPUs that the probe ran on, read every 4096 accesses or lines
	Lost     uint64 // moves that were not kept
}

// Move reports that the probe runs on a CPU, from this time after its start.
type Move struct {
	NS  int64
	CPU int // -1: unknown
}
