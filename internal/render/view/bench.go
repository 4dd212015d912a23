package view

// BenchNames are the options that come first in a benchmark's name.
var BenchNames = []string{"method", "kernel", "limit", "workers", "dispatch", "split"}
