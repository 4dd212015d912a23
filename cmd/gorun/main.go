// Command gorun measures how the placement of goroutines, threads, processes and memory affects a program.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
)

// Only the main goroutine runs on the main thread. The main thread cannot end before the process does, so it must never get a
// setting that cannot be undone. All work is done on the other threads.
func init() { runtime.LockOSThread() }

func main() {
	go func() { os.Exit(begin(os.Args[1:])) }()
	select {}
}

// begin executes a command line, of a user or of gorun itself, and returns the exit code.
func begin(args []string) int {
	ctx, _ := signal.NotifyContext(context.Background(), heeded()...)
	if len(args) > 0 && inner[args[0]] != nil {
		return finish(os.Stderr, inner[args[0]](ctx, os.Stdin, os.Stdout))
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // so that writing returns EPIPE and open files are closed
	return execute(ctx, args, defaultEnv())
}

// heeded returns the signals that interrupt a run: not those that gorun's parent had it ignore, as nohup(1) does.
func heeded() []os.Signal {
	return slices.DeleteFunc([]os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM}, signal.Ignored)
}
