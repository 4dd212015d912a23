package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"gorun/internal/hint"
	"gorun/internal/launch"
	"gorun/internal/linux"
	"gorun/internal/load"
	"gorun/internal/numa"
	"gorun/internal/process"
	"gorun/internal/run"
)

// The commands by which gorun starts itself; those of gorun numa are named there.
const (
	pairCommand       = "pair-side"
	bindCommand       = "bind-process"
	supervisorCommand = "exec-supervisor"
)

// inner are the commands of gorun's own processes. They are not for people. Their arguments are no flags.
var inner = [...]command{
	hidden(numa.ProbeCommand, func(ctx context.Context, e env, _ []string) error { return runProbe(ctx, e) }),
	hidden(numa.BurnerCommand, runBurner),
	hidden(run.SampleCommand, runSample),
	hidden(numa.GuardianCommand, runGuardian),
	hidden(pairCommand, func(ctx context.Context, e env, _ []string) error {
		return process.RunPairSide(ctx, e.stdin, e.stdout)
	}),
	hidden(bindCommand, func(ctx context.Context, e env, _ []string) error {
		return process.RunBind(ctx, e.stdin, e.stdout)
	}),
	hidden(supervisorCommand, func(_ context.Context, _ env, args []string) error { return launch.Supervise(args) }),
}

func hidden(name string, run func(ctx context.Context, e env, args []string) error) command {
	return command{name, func(e env) *cobra.Command {
		return &cobra.Command{
			Use: name, Hidden: true, Short: "a process that gorun starts", Args: cobra.ArbitraryArgs, DisableFlagParsing: true,
			RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), e, args) },
		}
	}}
}

func runProbe(ctx context.Context, e env) error {
	m, err := readMachine(e.root)
	if err != nil {
		return err
	}
	return numa.RunProbe(ctx, e.root, m, e.stdin, e.stdout)
}

func runBurner(ctx context.Context, e env, args []string) error {
	if len(args) != 1 {
		return usageError{errors.New("a burner takes its options as JSON")}
	}
	o, err := load.Parse(args[0])
	if err != nil {
		return usageError{hint.With(err, hint.Of(err))}
	}
	_, err = load.Burn(ctx, o, e.stdin, e.stdout)
	return err
}

func runGuardian(_ context.Context, e env, args []string) error {
	if len(args) != 1 {
		return usageError{errors.New("a guardian takes the value that it restores")}
	}
	value, err := strconv.Atoi(args[0])
	if err != nil {
		return usageError{err}
	}
	return linux.GuardNUMABalancing(linux.NUMABalancingSysctl, value, e.stdin, e.stdout)
}
