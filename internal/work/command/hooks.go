package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorun/internal/experiment"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

// Hooks has the user's commands around the samples of a cell, which are neither timed nor placed. nil: none.
type Hooks struct {
	Setup    []string `json:"setup,omitempty"`    // once, before the first sample
	Prepare  []string `json:"prepare,omitempty"`  // before each sample
	Conclude []string `json:"conclude,omitempty"` // after each sample
	Cleanup  []string `json:"cleanup,omitempty"`  // once, after the last sample
}

// keptText is the number of bytes of such a command's output that an error message shows.
const keptText = 1 << 12

// call runs a command that is not measured; flag names it in the error. left gets the processes that it leaves; nil: they
// are killed.
func (s *sampler) call(ctx context.Context, flag string, argv []string, left *launch.Left) error {
	if len(argv) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	o, err := launch.Run(ctx, launch.Group{
		Self: s.Self.In(s.Environ), Members: []launch.Member{{Argv: argv}}, Keep: keptText, Leaves: left,
	})
	if failure := howFailed(o, false, nil); err == nil && failure != "" {
		err = errors.New(failure)
	}
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// Prepare implements experiment.Preparer: it runs each --setup once, and finds the server.
func (s *sampler) Prepare(ctx context.Context) ([]result.Warning, error) {
	s.prepared = true
	for _, setup := range s.each(func(c Cell) []string { return c.Setup }) {
		if err := s.call(ctx, "setup", setup, &s.setUp); err != nil {
			return nil, err
		}
	}
	return s.place(), nil
}

// Identify implements experiment.Identified: a --setup may make them.
func (s *sampler) Identify(ctx context.Context, prepared bool) ([]result.File, []result.Warning, error) {
	if s.revisions != nil {
		return nil, nil, nil // the commit says what is measured
	}
	if setsUp := slices.ContainsFunc(s.cells, func(c Cell) bool { return len(c.Setup) > 0 }); setsUp != prepared {
		return nil, nil, nil
	}
	var commands [][]string
	var inputs []result.File
	for _, c := range s.cells {
		commands = append(commands, c.Argv, c.Setup, c.Prepare, c.Conclude, c.Cleanup)
		inputs = append(inputs, result.File{Name: c.Input, Path: c.Input})
	}
	return launch.Files(ctx, s.Environ, commands, inputs...)
}

// Before implements experiment.Surrounded.
func (s *sampler) Before(ctx context.Context, c Cell) (err error) {
	if c.Revision != "" {
		if s.dirs[c.Revision], err = s.revisions.Dir(ctx, c.Revision); err != nil {
			return err
		}
	}
	return s.call(ctx, "prepare", c.Prepare, &s.preparedFor)
}

// After implements experiment.Surrounded: an interrupt does not keep it from running. It ends the processes that
// --prepare left.
func (s *sampler) After(ctx context.Context, c Cell) error {
	defer s.preparedFor.End()
	return s.call(context.WithoutCancel(ctx), "conclude", c.Conclude, nil)
}

// Close runs each --cleanup once, if the first --setup was begun, and then ends the processes that --setup left. It also returns the errors of restoring settings.
func (s *sampler) Close() (err error) {
	s.lasting.Close()
	err, s.unrestored = s.unrestored, nil
	if !s.prepared {
		return err
	}
	s.prepared = false
	defer s.setUp.End()
	for _, cleanup := range s.each(func(c Cell) []string { return c.Cleanup }) {
		err = errors.Join(err, s.call(context.Background(), "cleanup", cleanup, nil))
	}
	return err
}

// each returns the cells' distinct commands of a kind, in order.
func (s *sampler) each(of func(Cell) []string) (commands [][]string) {
	for _, c := range s.cells {
		argv := of(c)
		if len(argv) > 0 && !slices.ContainsFunc(commands, func(other []string) bool { return slices.Equal(argv, other) }) {
			commands = append(commands, argv)
		}
	}
	return commands
}

var (
	_ experiment.Preparer     = (*sampler)(nil)
	_ experiment.Identified   = (*sampler)(nil)
	_ experiment.Hooked[Cell] = (*sampler)(nil)
	_ experiment.Ender        = (*sampler)(nil)
)
