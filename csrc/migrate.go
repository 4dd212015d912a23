package csrc

import "time"

// MigrateArgs are the arguments of Migrate: the moves of a thread between two CPUs, and its work there.
type MigrateArgs struct {
	Probe ProbeArgs // the accesses: a buffer prepared by ProbePrepare; Accesses, From and Moves are ignored
	CPUs  [2]int    // targets of the moves, in turn; both may be the same CPU
	Moves int
	Every time.Duration // from the start of one move to the start of the next; at least one piece is in between

	Pass   uint64 // accesses on each CPU before the moves, to fill its caches
	Piece  uint64 // accesses per timed piece
	Batch  uint64 // accesses at once after the timed pieces
	Pieces int    // timed pieces after each move
	Steady int    // timed pieces on each CPU before the moves
	Calls  int    // timed calls on each CPU before the moves, each of which requests the current CPU
}

// MigrateResult holds the measurements of a thread. Times are in nanoseconds.
type MigrateResult struct {
	Moves     []float64    // one per move: from the call until the thread runs on the other CPU
	Pieces    [][]float64  // for each move, the timed pieces after it: as many as there was time for
	Steady    [2][]float64 // the timed pieces on each CPU before the moves
	Calls     [2][]float64 // the timed calls on each CPU before the moves
	Accesses  uint64       // made since the first move
	NS        int64        // duration of these accesses, including the moves
	Next      uint64       // ProbeArgs.From of a call that continues from here
	Looks     uint64       // checks of the current CPU: after each move, and before the next one
	Elsewhere uint64       // checks that found another CPU than the requested one
	Asked     int          // the requested CPU of the first such check
	Seen      int          // the CPU found instead; -1: unknown
	Stopped   bool
}
