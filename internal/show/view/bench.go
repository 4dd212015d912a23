package view

// BenchNames are the options that come first in a benchmark's name.
var BenchNames = []string{"row", "method", "kernel", "limit", "workers", "dispatch", "split"}
