//go:build race

package main

// raced reports whether this binary has the race detector, which makes a process several times slower.
const raced = true
