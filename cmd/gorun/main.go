// Command gorun measures how the placement of goroutines, threads, processes and memory affects a program.
package main

import (
	"context"
	"os"
	"runtime"

	"gorun/internal/child"
)

// Only the main goroutine runs on the main thread. The main thread cannot end before the process does, so it must never get a
// setting that cannot be undone. Workers run on the other threads.
func init() { runtime.LockOSThread() }

func main() {
	if c, args, ok := child.Find(inner[:], os.Args[1:]); ok {
		os.Exit(finish(os.Stderr, func(ctx context.Context) error { return c.Run(ctx, os.Stdin, os.Stdout, args) }))
	}
	os.Exit(execute(os.Args[1:], defaultEnv()))
}
