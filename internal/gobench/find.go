package gobench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/hint"
	"gorun/internal/launch"
	"gorun/internal/result"
)

// find runs each benchmark of each side once, and keeps those that all sides have.
func (s *Source) find(ctx context.Context) error {
	var all [][]benchmark
	for i, side := range s.sides {
		var of []benchmark
		for _, folder := range side.packages {
			found, err := s.list(ctx, i, folder)
			if err != nil {
				return err
			}
			of = append(of, found...)
		}
		all = append(all, of)
	}
	last := all[len(all)-1]
	for i, of := range all {
		var only []string
		for _, b := range of {
			if !slices.ContainsFunc(all, func(other []benchmark) bool { return !slices.ContainsFunc(other, b.same) }) {
				continue
			}
			only = append(only, s.title(b))
		}
		if len(only) > 0 {
			s.warnings = append(s.warnings, result.Warning{
				Code:    "one-revision",
				Message: fmt.Sprintf("only %s has %s", s.sides[i].name, strings.Join(only, ", ")),
			})
		}
	}
	for _, b := range last {
		if slices.ContainsFunc(all[0], b.same) {
			s.benchmarks = append(s.benchmarks, b)
		}
	}
	if len(s.benchmarks) == 0 {
		err := errors.New("there is no benchmark to compare")
		if len(s.warnings) > 0 {
			err = fmt.Errorf("%w: %s", err, s.warnings[0].Message)
		}
		return hint.With(err, "name packages, such as ./..., and look at --bench")
	}
	return nil
}

// same reports whether both are the same benchmark, of any side.
func (b benchmark) same(other benchmark) bool {
	return b.folder == other.folder && b.name == other.name && b.procs == other.procs
}

// list runs the benchmarks of a package once.
func (s *Source) list(ctx context.Context, i int, folder string) (found []benchmark, err error) {
	side, of := s.sides[i], s.sides[i].binaries[folder]
	o, err := s.execute(ctx, of, "-test.bench="+s.bench, "-test.benchtime=1x")
	if err != nil {
		return nil, err
	}
	lines, failed := parse(o.Stdout)
	if o.ExitCode != 0 && len(failed) == 0 {
		return nil, hint.With(fmt.Errorf("the benchmarks of %s, %s: %s", of.pkg, cmp.Or(side.name, workTree), ended(o)), "--bench leaves benchmarks out")
	}
	for _, text := range failed {
		s.warnings = append(s.warnings, result.Warning{
			Code: "benchmark-failed", Message: fmt.Sprintf("%s, %s: %s", of.pkg, cmp.Or(side.name, workTree), text),
		})
	}
	for _, l := range lines {
		b := benchmark{folder: folder, pkg: of.pkg, name: l.Benchmark}
		if s.cpu != "" {
			b.procs = l.Procs
		}
		if !slices.ContainsFunc(found, b.same) {
			found = append(found, b)
		}
	}
	return found, nil
}

// execute runs a test binary in its package's folder.
func (s *Source) execute(ctx context.Context, of binary, args ...string) (launch.Outcome, error) {
	argv := append([]string{of.path, "-test.run=^$", "-test.v", "-test.timeout=0"}, args...)
	if s.cpu != "" && !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-test.cpu=") }) {
		argv = append(argv, "-test.cpu="+s.cpu)
	}
	c := launch.Command{Self: s.setting.Self.In(s.setting.Environ), Argv: argv, Dir: of.dir, Keep: keptOutput}
	return launch.Run(ctx, c, launch.Setting{})
}

// pilot finds the number of iterations of each benchmark's pieces, or takes it from the run that is to be continued.
func (s *Source) pilot(ctx context.Context, piece time.Duration, iterations int, recorded *result.Run) error {
	for i := range s.benchmarks {
		b := &s.benchmarks[i]
		if b.repeats = iterations; iterations > 0 {
			continue
		}
		if b.repeats = s.recorded(*b, recorded); b.repeats > 0 {
			continue
		}
		of := s.sides[0].binaries[b.folder]
		args := []string{"-test.bench=" + exact(b.name), fmt.Sprintf("-test.benchtime=%v", piece)}
		if b.procs > 0 {
			args = append(args, fmt.Sprintf("-test.cpu=%d", b.procs))
		}
		o, err := s.execute(ctx, of, args...)
		if err != nil {
			return err
		}
		l, err := only(o, b.name)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", b.name, of.pkg, err)
		}
		b.repeats = int(max(1, min(1e9, math.Round(piece.Seconds()*1e9/l.NS))))
	}
	return nil
}

// recorded returns the iterations that a run had of a benchmark; 0: it had none.
func (s *Source) recorded(b benchmark, run *result.Run) int {
	if run == nil {
		return 0
	}
	for _, cell := range run.Cells {
		procs := ""
		if b.procs > 0 {
			procs = strconv.Itoa(b.procs)
		}
		if cell.Flags[packageFlag] == b.pkg && cell.Flags[benchmarkFlag] == b.name && cell.Flags[procsFlag] == procs {
			return cell.Repeats
		}
	}
	return 0
}
