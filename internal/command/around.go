package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gorun/internal/experiment"
	"gorun/internal/launch"
	"gorun/internal/result"
	"gorun/internal/shell"
)

// Around has the user's commands around the samples of a cell, which are neither timed nor placed. nil: none.
type Around struct {
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
	r := launch.Request{Command: launch.Command{Self: s.Self.In(s.Environ), Argv: argv, Keep: keptText, Leaves: left}}
	o, err := launch.Run(ctx, r.Command, r.Setting)
	if failure := r.Failure(o); err == nil && failure != "" {
		err = errors.New(failure)
	}
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// Prepare implements experiment.Preparer: it runs each --setup once.
func (s *sampler) Prepare(ctx context.Context) ([]result.Warning, error) {
	s.prepared = true
	for _, setup := range s.each(func(c Cell) []string { return c.Setup }) {
		if err := s.call(ctx, "setup", setup, &s.setUp); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Before implements experiment.Surrounded.
func (s *sampler) Before(ctx context.Context, c Cell) error {
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

// written describes the output of a command to stdout in its executions.
type written struct {
	name string
	sums map[uint64]int // number of executions by the hash of their output
}

// note records the output of an execution of a cell's command.
func (s *sampler) note(c Cell, sum uint64) {
	name := cmp.Or(c.Name, shell.Join(c.Argv))
	i := slices.IndexFunc(s.written, func(w written) bool { return w.name == name })
	if i < 0 {
		i = len(s.written)
		s.written = append(s.written, written{name, map[uint64]int{}})
	}
	s.written[i].sums[sum]++
}

// differing warns if two commands write different output, each the same in all of at least two executions: they may not
// do the same work. A command whose own output varies, such as a time, is ignored.
func (s *sampler) differing() []result.Warning {
	steady := slices.DeleteFunc(slices.Clone(s.written), func(w written) bool {
		for _, executions := range w.sums {
			return len(w.sums) > 1 || executions < 2
		}
		return true
	})
	for i := range steady[:max(0, len(steady)-1)] {
		for sum := range steady[i+1].sums {
			if steady[0].sums[sum] == 0 {
				return []result.Warning{{
					Code:    "outputs-differ",
					Message: fmt.Sprintf("%s and %s write different output: they may not do the same work", steady[0].name, steady[i+1].name),
					Hint:    "compare what they print",
				}}
			}
		}
	}
	return nil
}

var (
	_ experiment.Preparer         = (*sampler)(nil)
	_ experiment.Surrounded[Cell] = (*sampler)(nil)
	_ experiment.Ender            = (*sampler)(nil)
)
