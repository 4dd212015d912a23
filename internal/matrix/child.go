package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
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

// Run executes one command line with --format json and returns what it printed. When ctx ends, the child is asked to
// end. The error of a child that failed carries its own words and its own hint. The caller's goroutine is locked to its
// thread.
func (c Child) Run(ctx context.Context, args []string) (*result.Run, error) {
	cmd := exec.CommandContext(ctx, c.Path, args...)
	cmd.Args[0] = c.Name
	cmd.Env = c.Env
	cmd.SysProcAttr = linux.ChildAttr()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		return nil, childError(err, stderr.String())
	}
	run := &result.Run{}
	if err := json.Unmarshal(stdout.Bytes(), run); err != nil {
		return nil, fmt.Errorf("%s %s: cannot read its result: %w", c.Name, strings.Join(args, " "), err)
	}
	return run, nil
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
