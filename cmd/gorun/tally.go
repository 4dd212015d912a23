package main

import (
	"cmp"
	"slices"
	"sync"

	"gorun/internal/linux"
	"gorun/internal/result"
)

// tally adds up the samples of other processes, for the metrics of a matrix: its own process does no work. Warm-ups are
// not in it.
type tally struct {
	mu   sync.Mutex
	live result.Live
}

func (t *tally) add(s result.Sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := func(name string) uint64 {
		n, _ := s.Values.Number(name)
		return uint64(n)
	}
	l := &t.live
	l.NumbersTested += number("numbers")
	l.PrimesFound += number("primes")
	l.Threads = int(number("threads_peak"))
	if s.Workers != nil {
		l.WorkersStarted += uint64(s.Workers.Count)
		l.WorkersFinished += uint64(s.Workers.Finished)
	}
	if n := s.Quality.Signals.VoluntarySwitches; n != nil {
		l.VoluntarySwitches += *n
	}
	if n := s.Quality.Signals.InvoluntarySwitches; n != nil {
		l.InvoluntarySwitches += *n
	}
	for _, cpu := range s.CPUs {
		at, found := slices.BinarySearchFunc(l.CPUs, cpu.CPU, func(c result.LiveCPU, id int) int { return cmp.Compare(c.CPU, id) })
		if !found {
			l.CPUs = slices.Insert(l.CPUs, at, result.LiveCPU{CPU: cpu.CPU})
		}
		l.CPUs[at].Workers += uint64(cpu.Workers)
		l.CPUs[at].BusySeconds += cpu.BusySeconds
	}
}

func (t *tally) read() result.Live {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.live
	l.CPUs = slices.Clone(l.CPUs)
	return l
}

// ownSwitches adds what the kernel counts for this process.
func ownSwitches(live func() result.Live) func() result.Live {
	return func() result.Live {
		l := live()
		if usage, err := linux.ProcessUsage(); err == nil {
			l.VoluntarySwitches, l.InvoluntarySwitches = usage.VoluntarySwitches, usage.InvoluntarySwitches
		}
		return l
	}
}
