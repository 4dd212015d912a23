package stats

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// BlockCells is the maximum number of cells that share one sample of the baseline and one of its duplicate: the noise
// of a pair grows with the time between its two samples. Cells that contrasts join share a block even if they are one
// more.
const BlockCells = 8

// Round is the order in which one round's samples are taken: blocks of cells, each with the baseline and its duplicate
// once, at random places. Cells are numbered as in the design; the number after the last is the duplicate, which is the
// control.
type Round [][]int

// Samples returns the number of samples in the round.
func (r Round) Samples() int {
	n := 0
	for _, block := range r {
		n += len(block)
	}
	return n
}

// order makes the rounds of a design: randomised complete blocks (Fisher, The Design of Experiments, 1935). Each round
// has a generator of its own, so that it depends on the seed, its number and the live cells only, and a run that is
// resumed goes on as it would have.
type order struct {
	seed     uint64
	baseline int
	control  int
	joined   map[int]int // by cell: the first of the cells that contrasts join with it; no entry without contrasts
}

// join records which cells must share a block. It returns an error if they do not fit into one.
func (o *order) join(contrasts []Contrast) error {
	o.joined = map[int]int{}
	for _, c := range contrasts {
		a, b := o.first(c.A), o.first(c.B)
		o.joined[c.A], o.joined[c.B] = min(a, b), min(a, b)
		for cell, first := range o.joined {
			if first == max(a, b) {
				o.joined[cell] = min(a, b)
			}
		}
	}
	size := map[int]int{}
	for _, first := range o.joined {
		if size[first]++; size[first] > BlockCells+1 {
			return fmt.Errorf("contrasts join more than %d cells, the maximum for one block", BlockCells+1)
		}
	}
	return nil
}

func (o *order) first(cell int) int {
	if first, joined := o.joined[cell]; joined {
		return first
	}
	return cell
}

// round permutes the live cells, given in canonical order, and deals them into blocks: as few as BlockCells allows, of
// sizes that differ by at most one unless contrasts require otherwise. The baseline and its duplicate then take random
// places in every block, unless the cells are alone.
func (o order) round(number int, live []int, alone bool) Round {
	source := rand.New(rand.NewPCG(o.seed, uint64(number)))
	var hands [][]int // cells that share a block, in canonical order
	at := map[int]int{}
	for _, cell := range live {
		first := o.first(cell)
		if _, found := at[first]; !found {
			at[first], hands = len(hands), append(hands, nil)
		}
		hands[at[first]] = append(hands[at[first]], cell)
	}
	source.Shuffle(len(hands), func(i, j int) { hands[i], hands[j] = hands[j], hands[i] })
	slices.SortStableFunc(hands, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })
	round := make(Round, max(1, (len(live)+BlockCells-1)/BlockCells))
	for _, hand := range hands {
		emptiest := 0
		for b, block := range round {
			if len(block) < len(round[emptiest]) {
				emptiest = b
			}
		}
		if block := round[emptiest]; len(block) > 0 && len(block)+len(hand) > BlockCells {
			round = append(round, hand)
		} else {
			round[emptiest] = append(block, hand...)
		}
	}
	for b, block := range round {
		if !alone {
			block = append(block, o.baseline, o.control)
		}
		source.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
		round[b] = block
	}
	return round
}
