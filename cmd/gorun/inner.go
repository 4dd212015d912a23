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
	{Name: numa.ProbeCommand, Run: runProbe},
	{Name: run.SampleCommand, Run: runSample},
	{Name: load.BurnerCommand, Run: func(ctx context.Context, in io.Reader, out io.Writer, _ []string) error {
		return load.Burn(ctx, in, out)
	}},
	{Name: pair.SideCommand, Run: func(ctx context.Context, in io.Reader, out io.Writer, _ []string) error {
		return pair.RunSide(ctx, in, out)
	}},
	{Name: bind.ProcessCommand, Run: func(ctx context.Context, in io.Reader, out io.Writer, _ []string) error {
		return bind.RunProcess(ctx, in, out)
	}},
	{Name: launch.SupervisorCommand, Run: func(_ context.Context, _ io.Reader, _ io.Writer, args []string) error {
		return launch.Supervise(args)
	}},
	{Name: guardian.Command, Run: func(_ context.Context, _ io.Reader, out io.Writer, _ []string) error {
		return guardian.Guard(os.Stdin, out)
	}},
}

func runProbe(ctx context.Context, in io.Reader, out io.Writer, _ []string) error {
	root := sysfs.Live()
	m, err := run.ReadMachine(root, true)
	if err != nil {
		return err
	}
	return numa.RunProbe(ctx, root, m, in, out)
}
