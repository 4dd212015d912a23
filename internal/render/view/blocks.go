package view

import (
	"fmt"

	"gorun/internal/column"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// SampleBlocks are for samples of the same work: their figures, and the CPUs and the workers of the median one.
func SampleBlocks(columns column.List) func(*result.Run, Spec, term.Options) []string {
	return func(run *result.Run, _ Spec, opts term.Options) []string { return sampleBlocks(run, columns, opts) }
}

func sampleBlocks(run *result.Run, columns column.List, opts term.Options) []string {
	samples := Summarised(run.Samples)
	blocks := []string{FiguresBlock(samples, columns, opts)}
	if shown := result.Typical(samples); shown != nil {
		which := ""
		if len(run.Samples) > 1 {
			which = fmt.Sprintf(" in sample %d", shown.Index)
			if len(samples) > 2 {
				which += ", the median one"
			}
		}
		blocks = append(blocks, cpusBlock(shown, which, opts), workersBlock(shown, which, opts),
			threadsBlock(shown, which, opts))
	}
	return append(blocks, SamplesBlock(run, opts))
}
