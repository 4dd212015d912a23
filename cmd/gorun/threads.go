package main

import (
	"fmt"
	"strings"

	"gorun/internal/hint"
	"gorun/internal/linux"
)

// What a process of gorun takes beside the memory that it is to use. Measured with 20 of them on 2 CPUs, with cgo, as
// entries of /proc/PID/task and as RssAnon and VmPTE: 7 to 9 threads and 2.7 MiB.
const (
	processThreads = 10
	processBytes   = 3 << 20
)

// enoughProcesses refuses a run of more processes, each with so many bytes of memory, than the machine allows.
func enoughProcesses(e env, need int, bytes uint64) error {
	limits, err := linux.ProcessLimits(e.root, processThreads, bytes+processBytes)
	if err != nil {
		return err
	}
	if obstacles := linux.Obstacles(limits, need); len(obstacles) > 0 {
		return refused(fmt.Sprintf("%d processes", need), obstacles)
	}
	return nil
}

// refused says what leaves too little room for what is needed at once.
func refused(need string, obstacles []linux.Limit) error {
	rooms, ways := make([]string, len(obstacles)), make([]string, len(obstacles))
	for i, l := range obstacles {
		rooms[i] = fmt.Sprintf("%s leaves room for %d", l.Name, l.Room())
		ways[i] = l.Hint
	}
	return hint.With(fmt.Errorf("%s at once are not possible: %s", need, strings.Join(rooms, ", ")),
		strings.Join(ways, "; "))
}
