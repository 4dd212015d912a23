package csrc

import "time"

// MigrateArgs say between which CPUs a thread moves, how often, and what it does there.
type MigrateArgs struct {
	Probe ProbeArgs // its accesses: a buffer that ProbePrepare has prepared; Accesses, From and Moves do not count
	CPUs  [2]int    // the thread goes to the first, to the second, and so on; both may be the same CPU
	Moves int
	Every time.Duration // from the begin of a move to the begin of the next; at least a piece is between them

	Pass   uint64 // accesses that fill the caches, made on each CPU before the moves begin
	Piece  uint64 // accesses that are timed together
	Batch  uint64 // accesses at once after the timed pieces
	Pieces int    // that are timed after each move
	Steady int    // pieces that are timed on each CPU before the moves begin
	Calls  int    // that ask for the CPU that the thread is on, timed on each CPU before the moves begin
}

// MigrateResult is what a thread measured. Times are in nanoseconds.
type MigrateResult struct {
	Moves     []float64    // of each move, until the thread ran on the other CPU
	Pieces    [][]float64  // after each move: as many as there was time for
	Steady    [2][]float64 // of pieces, on each CPU
	Calls     [2][]float64 // on each CPU
	Accesses  uint64       // from the first move to the end
	NS        int64        // that these took, with the moves
	Next      uint64       // ProbeArgs.From of a walk that goes on
	Looks     uint64       // at the CPU: after each move, and before the next one
	Elsewhere uint64       // looks that found the thread on another CPU than asked
	Asked     int          // the CPU of the first of them
	Seen      int          // where the thread was instead; -1: not known
	Stopped   bool
}
