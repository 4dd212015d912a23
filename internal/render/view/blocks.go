package view

import (
	"fmt"
	"maps"
	"slices"

	"gorun/internal/render/term"
	"gorun/internal/result"
)

// SampleBlocks are for samples of the same work: their figures, and the CPUs and the workers of the median one.
func SampleBlocks(run *result.Run, _ Spec, opts term.Options) []string {
	samples := Summarised(run.Samples)
	blocks := []string{FiguresBlock(samples)}
	if shown := result.Typical(samples); shown != nil {
		which := ""
		if len(run.Samples) > 1 {
			which = fmt.Sprintf(" in sample %d, the median one", shown.Index)
		}
		blocks = append(blocks, cpusBlock(shown, which, opts), workersBlock(shown, which, opts))
	}
	return append(blocks, SamplesBlock(run, opts))
}

// ValueNames is the sorted union of the samples' value names.
func ValueNames(samples []result.Sample) []string {
	union := map[string]struct{}{}
	for i := range samples {
		for _, name := range samples[i].Values.Names() {
			union[name] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(union))
}
