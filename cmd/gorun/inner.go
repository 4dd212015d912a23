package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"gorun/internal/hint"
	"gorun/internal/launch"
	"gorun/internal/linux"
	"gorun/internal/load"
	"gorun/internal/numa"
	"gorun/internal/process"
	"gorun/internal/result"
	"gorun/internal/run"
)

// The commands by which gorun starts itself.
const (
	probeCommand      = "numa-probe"
	burnerCommand     = "load-burner"
	guardianCommand   = "numa-balancing-guardian"
	pairCommand       = "pair-side"
	bindCommand       = "bind-process"
	supervisorCommand = "exec-supervisor"
)

// inner are the commands of gorun's own processes. They are not for people. Their arguments are no flags.
var inner = [...]command{
	hidden(probeCommand, func(ctx context.Context, e env, _ []string) error { return runProbe(ctx, e) }),
	hidden(burnerCommand, runBurner),
	hidden(run.SampleCommand, runSample),
	hidden(guardianCommand, runGuardian),
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

// probed is what a probe's process answers.
type probed struct {
	Sample result.Sample  `json:"sample"`
	Doubts []result.Doubt `json:"doubts"` // which a sample keeps to itself
}

func runProbe(ctx context.Context, e env) error {
	var r numa.Request
	if err := json.NewDecoder(e.stdin).Decode(&r); err != nil {
		return usageError{fmt.Errorf("the request on stdin: %w", err)}
	}
	m, err := readMachine(e.root)
	if err != nil {
		return err
	}
	sample, err := numa.Measure(ctx, e.root, m, r)
	if err != nil {
		return err
	}
	return json.NewEncoder(e.stdout).Encode(probed{sample, sample.Doubts})
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
