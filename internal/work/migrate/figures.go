package migrate

import (
	"slices"

	"gorun/csrc"
	"gorun/internal/stats"
)

// figures are what a thread measured.
func (c Cell) figures(r csrc.MigrateResult) Figures {
	v := Figures{
		CPUA: c.A, CPUB: c.B, Relation: c.Relation, WorkingSet: c.WorkingSet, Every: c.Every.Seconds(), Access: c.Access,
		Moves: len(r.Moves), Accesses: r.Accesses,
	}
	if r.Accesses > 0 {
		v.NS = float64(r.NS) / float64(r.Accesses)
	}
	args := c.args()
	steadyA, _ := spread(r.Steady[0])
	steadyB, _ := spread(r.Steady[1])
	v.SteadyA, v.SteadyB = steadyA/float64(args.Piece), steadyB/float64(args.Piece)
	call, _ := spread(slices.Concat(r.Calls[0], r.Calls[1]))
	total, _ := spread(r.Moves)
	refill, pieces := refill(r.Pieces, r.Steady, c.pieces())
	v.RefillBytes = min(c.WorkingSet, uint64(pieces)*min(c.WorkingSet, pieceLines*csrc.ProbeLine))
	move := max(0, total-call)
	for to, ns := range map[**float64]float64{&v.Call: call, &v.Move: move, &v.Refill: refill, &v.Cost: move + refill} {
		seconds := ns / 1e9
		*to = &seconds
	}
	v.CostShare = new(*v.Cost / v.Every)
	return v
}

// refill returns how much longer the first passes take after a move than passes on the same CPU before the moves, in ns,
// and how many pieces they have. The first pass always counts; a later one counts while it is slower than steady pieces
// usually are. What is compared is the median of each piece over the moves, since a single one may hold an interrupt.
// Pieces that fewer than half of the moves had time for do not count.
func refill(after [][]float64, steady [2][]float64, perPass int) (ns float64, pieces int) {
	var usual [2]float64
	noise := 0.0
	for side := range steady {
		median, above := spread(steady[side])
		usual[side], noise = median, max(noise, above)
	}
	for pass := 0; ; pass += perPass {
		sum, n := 0.0, 0
		for piece := pass; piece < pass+perPass; piece++ {
			var excess []float64
			for move, times := range after {
				if piece < len(times) {
					excess = append(excess, times[piece]-usual[move%2])
				}
			}
			if 2*len(excess) <= len(after) {
				break
			}
			sum, n = sum+stats.Median(sorted(excess)), n+1
		}
		if n == 0 || pass > 0 && sum <= noise*float64(n) {
			return max(0, ns), pieces // what is below zero is noise
		}
		ns, pieces = ns+sum, pieces+n
	}
}

// spread returns the median, and how far above it the upper quartile is.
func spread(times []float64) (median, above float64) {
	if len(times) == 0 {
		return 0, 0
	}
	times = sorted(times)
	median = stats.Median(times)
	return median, times[len(times)*3/4] - median
}

func sorted(times []float64) []float64 {
	times = slices.Clone(times)
	slices.Sort(times)
	return times
}
