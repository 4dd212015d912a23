package numa

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gorun/internal/experiment"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// shownLoad is the view of runs with --load-only, whose experiment is named "load".
var shownLoad = experiment.View{
	Title: loadTitle, Blocks: loadBlocks, Plan: view.PlanShares,
	Options: []string{"load"},
}

// burned is the load of a CPU with --load-only, in percent, second by second.
type burned struct {
	cpu      int
	achieved []float64
	worst    float64 // furthest from the request, with its sign
}

// burnedCPUs groups the samples' loads by CPU.
func burnedCPUs(samples []result.Sample) (cpus []*burned, requested float64) {
	at := map[int]*burned{}
	for i := range samples {
		v, ok := result.Typed[result.Load](&samples[i])
		if !ok || !samples[i].Good() || v.Load == nil {
			continue
		}
		for _, c := range v.Load.CPUs {
			if at[c.CPU] == nil {
				at[c.CPU] = &burned{cpu: c.CPU}
				cpus = append(cpus, at[c.CPU])
			}
			b := at[c.CPU]
			b.achieved = append(b.achieved, c.Achieved)
			if off := c.Achieved - v.Load.Requested; math.Abs(off) > math.Abs(b.worst) {
				b.worst = off
			}
			requested = v.Load.Requested
		}
	}
	slices.SortFunc(cpus, func(a, b *burned) int { return cmp.Compare(a.cpu, b.cpu) })
	return cpus, requested
}

// loadTitle returns the heading of a run with --load-only.
func loadTitle(run *result.Run, options view.Spec) (title string, parts []string) {
	cpus, requested := burnedCPUs(run.Samples)
	if len(cpus) == 0 {
		return view.OptionsTitle(run, options)
	}
	return fmt.Sprintf("gorun numa --load-only: %s%% of each of %s", units.Exact(requested),
			units.Things(len(cpus), "CPU")),
		[]string{units.Things(len(run.Samples), "sample")}
}

// loadBlocks has a line for each CPU.
func loadBlocks(run *result.Run, _ view.Spec, opts term.Options) []string {
	cpus, requested := burnedCPUs(run.Samples)
	if len(cpus) == 0 {
		return []string{view.DoubtsBlock(run, opts)}
	}
	cells := make([][]string, len(cpus))
	for i, b := range cpus {
		d := result.Distribute(b.achieved)
		cells[i] = []string{strconv.Itoa(b.cpu), units.Exact(requested)}
		for _, x := range []float64{d.Mean, d.Min, d.Max} {
			cells[i] = append(cells[i], strconv.FormatFloat(x, 'f', 2, 64))
		}
		cells[i] = append(cells[i], fmt.Sprintf("%+.2f", b.worst))
	}
	block := term.Title("Load, % of a CPU", opts) + term.FoldedGrid([]term.Column{
		term.Right("CPU"), term.Right("requested"), term.Right("mean"), term.Right("min"), term.Right("max"),
		term.Right("worst"),
	}, cells, opts)
	return []string{block, view.DoubtsBlock(run, opts)}
}
