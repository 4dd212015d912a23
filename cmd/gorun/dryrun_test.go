package main

import (
	"slices"
	"strings"
)

// dryRuns are the plans whose cost may grow with the machine. MACHINE stands for --sysroot and its directory. With a budget
// of 0 no run is refused for taking too long.
var dryRuns = []struct{ name, args string }{
	{"topo", "topo MACHINE"},
	{"primes", "primes --dry-run MACHINE"},
	{"contend", "contend --dry-run --budget 0 MACHINE"},
	{"c2c", "c2c --dry-run --budget 0 MACHINE"},
	{"numa", "numa --dry-run --budget 0 MACHINE"},
	{"pair", "pair --auto --dry-run --budget 0 MACHINE"},
	{"bind", "bind --dry-run MACHINE"},
	{"futex", "futex --dry-run --budget 0 MACHINE"},
	{"migrate", "migrate --dry-run --budget 0 MACHINE"},
	{"memory", "memory --dry-run --budget 0 MACHINE"},
	{"exec-auto", "exec --placements auto --dry-run --budget 0 MACHINE -- true"},
	{"classic-matrix", "matrix primes --preset classic --dry-run --budget 0 MACHINE"},
	{"pinned-matrix", "matrix primes --pin-cpus all,one-per-core --workers 1,2,4,8,16 --dry-run --budget 0 MACHINE"},
}

// dryRunOn returns the words of a command line of dryRuns for the captured machine at sysroot.
func dryRunOn(args, sysroot string) []string {
	words := strings.Fields(args)
	if i := slices.Index(words, "MACHINE"); i >= 0 {
		words[i] = "--sysroot=" + sysroot
	}
	return words
}
