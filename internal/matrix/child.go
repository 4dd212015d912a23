package matrix

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gorun/internal/child"
	"gorun/internal/hint"
	"gorun/internal/result"
)

// Child is gorun itself as a fresh process: one a sample, so that nothing of a sample stays behind for the next.
type Child struct{ child.Self }

// Run executes one command line with --format json and returns what it printed.
func (c Child) Run(ctx context.Context, args []string) (*result.Run, error) {
	run := &result.Run{}
	if _, err := c.Ask(ctx, args, nil, run); err != nil {
		return nil, err
	}
	return run, nil
}

// Sample takes one sample of a cell, after so many warm-ups in the same process. What the process cannot do makes the
// sample invalid.
func (c Child) Sample(ctx context.Context, cell result.Cell, warmup int) (result.Sample, []result.Warning) {
	run, err := c.Run(ctx, append(slices.Clone(cell.Command),
		"--samples", "1", "--warmup", strconv.Itoa(warmup), "--format", "json"))
	if err == nil && len(run.Samples) != 1 {
		err = fmt.Errorf("its process took %d samples, and was to take one", len(run.Samples))
	}
	if err != nil {
		return InvalidSample(err), nil
	}
	sample := run.Samples[0]
	if len(run.Warmups) > 0 {
		// The canary is to tell of what was before the cell's own work, which leaves threads and garbage behind.
		sample.Quality.Signals.CanarySeconds = run.Warmups[0].Quality.Signals.CanarySeconds
	}
	return sample, run.Warnings
}

// InvalidSample is one that could not be taken, and why.
func InvalidSample(err error) result.Sample {
	text := err.Error()
	if way := hint.Of(err); way != "" {
		text += " (" + way + ")"
	}
	quality := result.Quality{Verdict: result.Invalid, Reasons: []string{text}}
	return result.Sample{Quality: quality}
}

// Pilot finds how many executions of a cell a process is to drop. It takes about as long as the budget says, or as a
// few processes need at least; 0: no limit. figure is what the matrix compares of a sample.
func (c Child) Pilot(ctx context.Context, cell result.Cell, budget time.Duration, figure func(result.Sample) float64,
) (warmup int, err error) {
	args := append(slices.Clone(cell.Command), "--samples", strconv.Itoa(pilotExecutions), "--warmup", "0", "--format", "json",
		"--budget", (budget / pilotProcesses).String())
	pilots := make([][]float64, pilotProcesses)
	for i := range pilots {
		run, err := c.Run(ctx, args)
		if err != nil {
			return 0, err
		}
		for _, s := range run.Samples {
			pilots[i] = append(pilots[i], figure(s))
		}
	}
	return warmups(pilots), nil
}
