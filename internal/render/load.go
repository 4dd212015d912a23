package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gorun/internal/result"
)

// burned is what one CPU of `gorun numa --load-only` had, in percent, second by second.
type burned struct {
	cpu      int
	achieved []float64
	worst    float64 // furthest from what was asked, with its sign
}

// burnedCPUs gathers the samples' loads by CPU.
func burnedCPUs(samples []result.Sample) (cpus []*burned, requested float64) {
	at := map[int]*burned{}
	for i := range samples {
		load := loadOfSample(&samples[i])
		if !good(&samples[i]) || load == nil {
			continue
		}
		for _, c := range load.CPUs {
			if at[c.CPU] == nil {
				at[c.CPU] = &burned{cpu: c.CPU}
				cpus = append(cpus, at[c.CPU])
			}
			b := at[c.CPU]
			b.achieved = append(b.achieved, c.Achieved)
			if off := c.Achieved - load.Requested; math.Abs(off) > math.Abs(b.worst) {
				b.worst = off
			}
			requested = load.Requested
		}
	}
	slices.SortFunc(cpus, func(a, b *burned) int { return cmp.Compare(a.cpu, b.cpu) })
	return cpus, requested
}

// loadOfSample is nil where a sample has no load.
func loadOfSample(s *result.Sample) *result.NumaLoad {
	v, ok := result.Typed[result.Load](s)
	if !ok {
		return nil
	}
	return v.Load
}

// meanLoad is that of all CPUs, in percent.
func meanLoad(s *result.Sample) (float64, bool) {
	load := loadOfSample(s)
	if load == nil || len(load.CPUs) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, c := range load.CPUs {
		sum += c.Achieved
	}
	return sum / float64(len(load.CPUs)), true
}

// loadTitle is the heading of the generator alone.
func loadTitle(run *result.Run, options spec) (title string, parts []string) {
	cpus, requested := burnedCPUs(run.Samples)
	if len(cpus) == 0 {
		return otherTitle(run, options)
	}
	return fmt.Sprintf("gorun numa --load-only: %s%% of each of %s", exact(requested), things(len(cpus), "CPU")),
		[]string{things(len(run.Samples), "sample")}
}

// loadBlocks has a line a CPU.
func loadBlocks(run *result.Run, _ spec, opts Options) []string {
	cpus, requested := burnedCPUs(run.Samples)
	if len(cpus) == 0 {
		return []string{doubtsBlock(run, opts)}
	}
	cells := make([][]string, len(cpus))
	for i, b := range cpus {
		d := result.Distribute(b.achieved)
		cells[i] = []string{strconv.Itoa(b.cpu), exact(requested)}
		for _, x := range []float64{d.Mean, d.Min, d.Max} {
			cells[i] = append(cells[i], strconv.FormatFloat(x, 'f', 2, 64))
		}
		cells[i] = append(cells[i], fmt.Sprintf("%+.2f", b.worst))
	}
	block := boldTitle("Load, % of a CPU", opts) + foldedGrid([]column{
		right("CPU"), right("requested"), right("mean"), right("min"), right("max"), right("worst"),
	}, cells, opts)
	return []string{block, doubtsBlock(run, opts)}
}
