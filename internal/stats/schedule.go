package stats

import (
	"math/rand/v2"
	"slices"
)

// BlockCells is the most cells that share one baseline sample: the noise of a pair grows with the time between its two
// samples.
const BlockCells = 8

// Round is the order in which one round's samples are taken: blocks of cells, each block with the baseline once at a
// place of its own. Cells are numbered as in the design; the number after the last is the control.
type Round [][]int

// Samples is how many samples the round takes.
func (r Round) Samples() int {
	n := 0
	for _, block := range r {
		n += len(block)
	}
	return n
}

// order is what makes the rounds of a design: randomised complete blocks (Fisher, The Design of Experiments, 1935).
// Each round has a generator of its own, so that it depends on the seed, its number and the live cells only, and a run
// that is resumed goes on as it would have.
type order struct {
	seed     uint64
	baseline int
}

// round permutes the live cells, which are given in canonical order, and deals them into as few blocks as BlockCells
// allows, of sizes that differ by at most one. The baseline is not among them; it takes a random place in every block.
func (o order) round(number int, live []int) Round {
	source := rand.New(rand.NewPCG(o.seed, uint64(number)))
	cells := slices.Clone(live)
	source.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	blocks := (len(cells) + BlockCells - 1) / BlockCells
	round := make(Round, blocks)
	for b := range round {
		part := cells[b*len(cells)/blocks : (b+1)*len(cells)/blocks]
		round[b] = slices.Insert(slices.Clone(part), source.IntN(len(part)+1), o.baseline)
	}
	return round
}
