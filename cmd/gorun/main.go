// Command gorun measures what it does to a program where its goroutines, threads, processes and memory are placed.
package main

import (
	"context"
	"os"
	"runtime"

	"gorun/internal/child"
)

// The main goroutine keeps the main thread to itself. The main thread is the one that cannot end, so it must never get
// a setting that cannot be undone; workers run on all other threads.
func init() { runtime.LockOSThread() }

func main() {
	if c, args, ok := child.Find(inner[:], os.Args[1:]); ok {
		os.Exit(finish(os.Stderr, func(ctx context.Context) error { return c.Run(ctx, os.Stdin, os.Stdout, args) }))
	}
	os.Exit(execute(os.Args[1:], defaultEnv()))
}
