package main

import (
	"context"
	"io"
	"os"

	"gorun/internal/guard/guardian"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/run"
	"gorun/internal/start/launch"
	"gorun/internal/start/load"
	"gorun/internal/start/process"
	"gorun/internal/work/numa"
)

// inner are the commands with which gorun starts itself as a child. They are not for people, and have no flags. main looks for
// them before it builds the tree of commands, which they do not need.
var inner = map[string]func(ctx context.Context, in io.Reader, out io.Writer) error{
	numa.ProbeCommand:        runProbe,
	run.SampleCommand:        runSample,
	load.BurnerCommand:       load.Burn,
	process.Command:          process.Work,
	launch.SupervisorCommand: func(context.Context, io.Reader, io.Writer) error { return launch.Supervise(os.Args[2:]) },
	guardian.Command: func(_ context.Context, _ io.Reader, out io.Writer) error {
		return guardian.Guard(os.Stdin, out)
	},
}

func runProbe(ctx context.Context, in io.Reader, out io.Writer) error {
	root := sysfs.This()
	m, err := run.ReadMachine(root, true)
	if err != nil {
		return err
	}
	return numa.RunProbe(ctx, root, m, in, out)
}
