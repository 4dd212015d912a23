package primes

import "gorun/internal/result"

// Figures are the figures of one sample, over all its passes.
type Figures struct {
	result.OwnProcess
	Numbers         uint64   `json:"numbers"` // fully tested
	Primes          uint64   `json:"primes"`
	Workers         int      `json:"workers"`
	Passes          int      `json:"passes"`
	ThreadsPeak     int      `json:"threads_peak"`
	Speedup         float64  `json:"speedup"`          // CPU seconds over wall seconds
	CPUUtilisation  float64  `json:"cpu_utilisation"`  // of the run's CPUs
	Trials          uint64   `json:"trials,omitempty"` // divisibility tests, if the method makes them
	TrialsPerSecond float64  `json:"trials_per_second,omitempty"`
	CPUImbalance    *float64 `json:"cpu_imbalance,omitempty"` // the busiest CPU's time over the mean
}
