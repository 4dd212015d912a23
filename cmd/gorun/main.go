// Command gorun measures what it does to a program where its goroutines, threads, processes and memory are placed.
package main

import (
	"os"
	"runtime"
)

// The main goroutine keeps the main thread to itself. The main thread is the one that cannot end, so it must never get
// a setting that cannot be undone; workers run on all other threads.
func init() { runtime.LockOSThread() }

func main() {
	os.Exit(execute(os.Args[1:], defaultEnv()))
}
