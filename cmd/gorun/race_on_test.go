//go:build race

package main

// raced tells that this binary has the race detector, with which a process takes several times as long.
const raced = true
