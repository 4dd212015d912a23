package main

import (
	"context"
	"io"
	"os"

	"gorun/internal/bind"
	"gorun/internal/child"
	"gorun/internal/guardian"
	"gorun/internal/launch"
	"gorun/internal/load"
	"gorun/internal/numa"
	"gorun/internal/pair"
	"gorun/internal/run"
	"gorun/internal/sysfs"
)

// inner are the commands with which gorun starts itself as a child. They are not for people, and have no flags. main looks for
// them before it builds the tree of commands, which they do not need.
var inner = [...]child.Command{
	{Name: numa.ProbeCommand, Run: streams(runProbe)},
	{Name: run.SampleCommand, Run: streams(runSample)},
	{Name: load.BurnerCommand, Run: streams(load.Burn)},
	{Name: pair.SideCommand, Run: streams(pair.RunSide)},
	{Name: bind.ProcessCommand, Run: streams(bind.RunProcess)},
	{Name: launch.SupervisorCommand, Run: func(_ context.Context, _ io.Reader, _ io.Writer, args []string) error {
		return launch.Supervise(args)
	}},
	{Name: guardian.Command, Run: func(_ context.Context, _ io.Reader, out io.Writer, _ []string) error {
		return guardian.Guard(os.Stdin, out)
	}},
}

// streams returns the function of a command without arguments.
func streams(run func(ctx context.Context, in io.Reader, out io.Writer) error) func(context.Context, io.Reader, io.Writer, []string) error {
	return func(ctx context.Context, in io.Reader, out io.Writer, _ []string) error { return run(ctx, in, out) }
}

func runProbe(ctx context.Context, in io.Reader, out io.Writer) error {
	root := sysfs.Live()
	m, err := run.ReadMachine(root, true)
	if err != nil {
		return err
	}
	return numa.RunProbe(ctx, root, m, in, out)
}
