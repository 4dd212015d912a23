package matrix

import (
	"context"
	"time"

	"gorun/internal/result"
)

// Runner takes the samples that a board asks for.
type Runner struct {
	Board *Board
	Take  func(context.Context, result.Slot) (result.Sample, error) // one child process
	Keep  func(result.Sample) error                                 // stores a sample; its error ends the run
	Draw  func(result.Standing)                                     // shows how far it is, between samples
	Now   func() time.Time
}

// Run goes on until every verdict can be told, the planned rounds are done, or another round would exceed the budget;
// partial tells that ctx ended first. The first round is always completed, and one that was begun before a resume too.
func (r Runner) Run(ctx context.Context) (partial bool, err error) {
	board := r.Board
	before, begun := board.Elapsed(), r.Now()
	elapsed := func() float64 { return before + r.Now().Sub(begun).Seconds() }
	budget, lastRound := board.run.Matrix.Budget, board.roundSeconds()
	roundBegun := board.ended // of a round that was begun before a resume
	for !board.Done() {
		if board.Between() {
			now := elapsed()
			if budget > 0 && board.Rounds() > 0 && now+lastRound > budget {
				break
			}
			roundBegun = now
		}
		if ctx.Err() != nil {
			return true, nil
		}
		r.Draw(board.Standing())
		slot := board.Next()
		sample, err := r.Take(ctx, slot)
		if ctx.Err() != nil {
			return true, nil // the sample in flight was cut short
		}
		if err != nil {
			return false, err
		}
		slot.Elapsed = elapsed()
		sample.Slot, sample.Index = &slot, len(board.run.Samples)
		board.Check(&sample)
		if err := r.Keep(sample); err != nil {
			return false, err
		}
		board.run.Samples = append(board.run.Samples, sample)
		if err := board.Add(sample); err != nil {
			return false, err
		}
		if board.Between() {
			lastRound = elapsed() - roundBegun
		}
	}
	return false, nil
}
