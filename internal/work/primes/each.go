package primes

import (
	"fmt"
	"slices"

	"gorun/internal/experiment"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

// The primes up to eachLimit (oeis.org/A000720). Counting them takes a few milliseconds, and the table for that stays in the CPU's own
// cache.
const (
	eachLimit = 8000
	eachKnown = 1007
)

// EachCPU returns a cell in which each CPU counts the primes up to 8,000 this many times, on its own thread. The CPUs begin together, or
// count one after the other. The details of a sample have the time of each.
func EachCPU(m experiment.Machine, times int, together bool) Cell {
	workers := m.CPUs.Len()
	policy := placement.Policy{Lock: true, PinCPUs: m.CPUs.List()}
	return Cell{
		PoolOptions: PoolOptions{
			Limit: eachLimit, Method: Methods[0].Name, Kernel: Auto, Split: Splits[0].Name, Workers: workers, Serial: !together, Barrier: together,
			Detail: true, Each: times, Known: eachKnown,
		},
		Plan: placement.Assign(policy, m.CPUs, workers, false), CPULimit: cpuLimit(m),
	}
}

// Resources returns what a cell of EachCPU needs.
func (c Cell) Resources() experiment.Resources {
	return experiment.Resources{Threads: c.Workers}
}

// deal returns the dealer of a pass.
func (p *Pool) deal() dealer {
	if p.opts.Each == 0 {
		return p.split.deal(p.opts.Limit, p.opts.Workers, p.counter.Grain)
	}
	all := Range{First: 1, Step: 1, Count: p.opts.Limit}
	return shares{times: p.opts.Each, grain: p.counter.Grain, of: func(int) Range { return all }}
}

// numbers returns how many numbers the workers are dealt in a pass.
func (p *Pool) numbers() uint64 {
	if p.opts.Each > 0 {
		return p.opts.Limit * uint64(p.opts.Each) * uint64(p.opts.Workers)
	}
	return p.split.numbers(p.opts.Limit, p.opts.Workers)
}

// checkEach names the CPUs that found another number of primes than there are, and leaves out their details. Those of the others count.
func (p *Pool) checkEach(s *result.Sample) {
	counts, want := "", uint64(p.opts.Each)*p.opts.Known
	if p.opts.Each > 1 {
		counts = fmt.Sprintf("in %d counts ", p.opts.Each)
	}
	s.WorkersDetail = slices.DeleteFunc(s.WorkersDetail, func(w result.WorkerDetail) bool {
		wrong := w.Primes != want
		if wrong {
			s.Doubts = append(s.Doubts, result.Doubt{
				Grade: result.Suspect, Wrong: true,
				Reason: fmt.Sprintf("CPU %d counted %d primes %sup to %d instead of %d", p.plan.CPU(w.Worker), w.Primes, counts, p.opts.Limit, want),
			})
		}
		return wrong
	})
}
