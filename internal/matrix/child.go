package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/result"
)

// Child is gorun itself as a fresh process: one a sample, so that nothing of a sample stays behind for the next.
type Child struct {
	Path string   // of the executable
	Name string   // its argv[0]
	Env  []string // all of its environment
}

// patience is how long a child that was asked to end may take before it is killed.
const patience = 2 * time.Second

// Run executes one command line with --format json and returns what it printed.
func (c Child) Run(ctx context.Context, args []string) (*result.Run, error) {
	run := &result.Run{}
	_, err := c.Ask(ctx, args, nil, run)
	if err != nil {
		return nil, err
	}
	return run, nil
}

// Ask executes one command line with so much on its stdin, decodes the JSON that it prints, and returns what it used.
// When ctx ends, the child is asked to end. The error of a child that failed carries its own words and its own hint.
func (c Child) Ask(ctx context.Context, args []string, stdin []byte, answer any) (*syscall.Rusage, error) {
	runtime.LockOSThread() // the child dies with this thread, which must last as long
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, c.Path, args...)
	cmd.Args[0] = c.Name
	cmd.Env = c.Env
	cmd.SysProcAttr = linux.ChildAttr()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		return nil, childError(err, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), answer); err != nil {
		return nil, fmt.Errorf("%s %s: cannot read its result: %w", c.Name, strings.Join(args, " "), err)
	}
	used, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return used, nil
}

// Sample takes one sample of a cell, after so many warm-ups in the same process. What the process cannot do makes the
// sample invalid.
func (c Child) Sample(ctx context.Context, cell result.Cell, warmup int) (result.Sample, []result.Warning) {
	run, err := c.Run(ctx, append(slices.Clone(cell.Command),
		"--samples", "1", "--warmup", strconv.Itoa(warmup), "--format", "json"))
	if err == nil && len(run.Samples) != 1 {
		err = fmt.Errorf("its process took %d samples, and was to take one", len(run.Samples))
	}
	if err != nil {
		return InvalidSample(err), nil
	}
	sample := run.Samples[0]
	if len(run.Warmups) > 0 {
		// The canary is to tell of what was before the cell's own work, which leaves threads and garbage behind.
		sample.Quality.Signals.CanarySeconds = run.Warmups[0].Quality.Signals.CanarySeconds
	}
	return sample, run.Warnings
}

// InvalidSample is one that could not be taken, and why.
func InvalidSample(err error) result.Sample {
	text := err.Error()
	if way := hint.Of(err); way != "" {
		text += " (" + way + ")"
	}
	quality := result.Quality{Verdict: result.Invalid, Reasons: []string{text}}
	return result.Sample{Quality: quality}
}

// Pilot finds how many executions of a cell a process is to drop. It takes about as long as the budget says, or as a
// few processes need at least; 0: no limit. figure is what the matrix compares of a sample.
func (c Child) Pilot(ctx context.Context, cell result.Cell, budget time.Duration, figure func(result.Sample) float64,
) (warmup int, err error) {
	args := append(slices.Clone(cell.Command), "--samples", strconv.Itoa(pilotExecutions), "--warmup", "0", "--format", "json",
		"--budget", (budget / pilotProcesses).String())
	pilots := make([][]float64, pilotProcesses)
	for i := range pilots {
		run, err := c.Run(ctx, args)
		if err != nil {
			return 0, err
		}
		for _, s := range run.Samples {
			pilots[i] = append(pilots[i], figure(s))
		}
	}
	return warmups(pilots), nil
}

// childError tells what the child said of its end: "gorun: error: …", then "gorun: hint: …".
func childError(err error, stderr string) error {
	if !errors.As(err, new(*exec.ExitError)) {
		return err
	}
	said, way := "", ""
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if text, found := strings.CutPrefix(line, "gorun: error: "); found {
			said = text
		}
		if text, found := strings.CutPrefix(line, "gorun: hint: "); found {
			way = text
		}
	}
	if said == "" {
		return fmt.Errorf("the process ended with %w", err)
	}
	if way == "" {
		return errors.New(said)
	}
	return hint.With(errors.New(said), way)
}
