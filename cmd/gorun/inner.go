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
	"gorun/internal/result"
	"gorun/internal/run"
)

// probeCommand is the command of a process that takes one sample of numa.
const probeCommand = "numa-probe"

// inner are the commands by which gorun starts itself. They are not for people, and know neither flags nor the tree of
// commands: main looks for them first, so that nothing is built that they do not need.
var inner = [...]child.Command{
	{Name: probeCommand, Run: child.Answer(runProbe)},
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

// probed is what a probe's process answers.
type probed struct {
	Sample result.Sample  `json:"sample"`
	Doubts []result.Doubt `json:"doubts"` // which a sample keeps to itself
}

func runProbe(ctx context.Context, r numa.Request) (probed, error) {
	root := os.DirFS("/")
	m, err := readMachine(root)
	if err != nil {
		return probed{}, err
	}
	sample, err := numa.Measure(ctx, root, m, r)
	return probed{sample, sample.Doubts}, err
}
