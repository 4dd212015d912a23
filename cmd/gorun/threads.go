package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"gorun/internal/hint"
	"gorun/internal/linux"
)

// runtimeThreads is how many threads the Go runtime may want for itself: sysmon, the template thread, those in system
// calls.
const runtimeThreads = 8

// enoughThreads refuses a run that would need more threads than the machine allows, since the Go runtime cannot survive
// a refusal, and raises the runtime's own limit.
func enoughThreads(e env, need int) error {
	limits, err := linux.ThreadLimits(e.root, linux.Cgo)
	if err != nil {
		return err
	}
	obstacles := linux.Obstacles(limits, need+runtime.GOMAXPROCS(0)+runtimeThreads)
	if len(obstacles) == 0 {
		debug.SetMaxThreads(max(10_000, 2*need)) // 10,000 is the runtime's default
		return nil
	}
	rooms, ways := make([]string, len(obstacles)), make([]string, len(obstacles))
	for i, l := range obstacles {
		rooms[i] = fmt.Sprintf("%s leaves room for %d", l.Name, l.Room())
		ways[i] = l.Hint
	}
	return hint.With(fmt.Errorf("%d threads at once are not possible: %s", need, strings.Join(rooms, ", ")),
		strings.Join(ways, "; "))
}
