package view

import "gorun/internal/result"

// Bench is what a benchmark line holds of an experiment.
type Bench struct {
	Names []BenchPart                            // of a sample; none: the run's options name it
	Words map[string]string                      // of names: what stands for -1, by value
	Times func(s *result.Sample) (float64, bool) // operations that the figures are means of; nil: 1
	Units []BenchUnit
}

// BenchPart is a part of a name, "/key=…", from a value of the sample. A sample that lacks it has no such part.
type BenchPart struct{ Key, Value string }

// BenchUnit is a figure of a line. A sample that lacks it has no such figure.
type BenchUnit struct {
	Unit   string
	Better string // what benchstat should call an improvement; "" where neither direction is one
	Of     func(s *result.Sample) (float64, bool)
}

// SampleBench is also of any experiment without a row: an operation is a sample.
var SampleBench = Bench{Units: []BenchUnit{
	{"ns/op", "lower", func(s *result.Sample) (float64, bool) { return s.Seconds * 1e9, true }},
	{"user-ns/op", "lower", func(s *result.Sample) (float64, bool) { return s.UserSeconds * 1e9, true }},
	{"sys-ns/op", "lower", func(s *result.Sample) (float64, bool) { return s.SystemSeconds * 1e9, true }},
	{"trials/s", "higher", Value("trials_per_second")},
	{"peak-RSS-bytes", "", Value("memory_peak_bytes")},
	{"threads-peak", "", Value("threads_peak")},
	{"migrations/op", "", counter(func(s *result.Signals) *uint64 { return s.Migrations })},
	{"involuntary-switches/op", "", counter(func(s *result.Signals) *uint64 { return s.InvoluntarySwitches })},
}}

// BenchNames are the options that come first in a benchmark's name.
var BenchNames = []string{"method", "kernel", "limit", "workers", "dispatch", "split"}
