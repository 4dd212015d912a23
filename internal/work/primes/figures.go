package primes

import (
	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// Figures are the figures of one sample, over all its passes.
type Figures struct {
	Primes            uint64  `json:"primes" figure:"count" is:"The primes found, in all passes."`
	Numbers           uint64  `json:"numbers" figure:"count,hidden" is:"The numbers tested to the end, in all passes."`
	Workers           int     `json:"workers" figure:"count,hidden" is:"The workers that shared the numbers."`
	CPUUtilisation    float64 `json:"cpu_utilisation" figure:"share,higher" label:"CPU utilisation" is:"The CPU time over the wall time of all CPUs of the run."`
	Speedup           float64 `json:"speedup" figure:"ratio,higher" label:"speed-up" is:"The CPU time over the wall time."`
	Trials            uint64  `json:"trials,omitempty" figure:"number,verbose" is:"The tests of divisibility, if the method makes them."`
	TrialsPerSecond   float64 `json:"trials_per_second,omitempty" figure:"1/s,higher,verbose,bench=trials/s" label:"trials a second" is:"The tests of divisibility in a second of wall time."`
	Passes            int     `json:"passes" figure:"count,hidden" is:"The number of times that all numbers were tested."`
	ThreadsPeak       int     `json:"threads_peak" figure:"count,bench=threads-peak" label:"threads at the peak" is:"The greatest number of threads that gorun's process had at the same time."`
	result.OwnProcess `figure:",bench=peak-RSS-bytes"`
	CPUImbalance      *float64 `json:"cpu_imbalance,omitempty" figure:"ratio,lower,verbose" label:"busiest CPU over the mean" is:"The busy time of the busiest CPU over the mean of all CPUs of the run."`
}

// columns are in the order of the table.
var columns = column.Of[Figures]().
	After("workers", column.Times...).
	After("passes", column.Derived(column.Column{
		Name: "passes_of_many", Label: "passes", Unit: column.Count, Meaning: "The passes, if there was more than one.",
	}, func(s *result.Sample) *int {
		if f, ok := result.Typed[Figures](s); ok && f.Passes > 1 {
			return &f.Passes
		}
		return nil
	})).
	After("memory_peak_bytes", column.Join(column.Switches, column.Workers)...)

// count adds the figures of a sample to the state of its run.
func count(live *result.State, s *result.Sample) {
	if f, ok := result.Typed[Figures](s); ok {
		live.PrimesFound, live.NumbersTested, live.Threads = live.PrimesFound+f.Primes, live.NumbersTested+f.Numbers, f.ThreadsPeak
	}
}
