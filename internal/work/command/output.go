package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"os"
	"slices"
	"syscall"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/base/units"
	"gorun/internal/files/output"
	"gorun/internal/record/result"
)

// The values of --output that are not names of files.
const (
	outputNull    = "null" // the default of a comparison
	outputPipe    = "pipe"
	outputInherit = "inherit" // the default of a single run
)

// null reports whether what the command writes in a comparison is thrown away by the kernel.
func (c Cell) null() bool { return len(c.Metrics) == 0 && (c.Output == "" || c.Output == outputNull) }

// openOutput opens what the command writes to; nil: a pipe. A file is empty for each execution. It may not be this run's
// journal, which is locked.
func (c Cell) openOutput(ctx context.Context, files output.Opener) (file *os.File, err error) {
	switch c.Output {
	case "", outputNull:
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	case outputPipe:
		return nil, nil
	case outputInherit:
		return os.Stdout, nil
	}
	if file, err = files.Handed(ctx, output.Named{Flag: "output", Path: c.Output}); err != nil {
		return nil, err
	}
	fd := int(file.Fd())
	err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		file.Close()
		return nil, hint.With(fmt.Errorf("%s is being written to, as by --out", c.Output), "give it another file")
	}
	_ = syscall.Flock(fd, syscall.LOCK_UN)
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		return file, file.Truncate(0)
	}
	return file, nil
}

// written describes what a command writes to stdout.
type written struct {
	name string
	cell Cell           // with the command
	sums map[uint64]int // number of executions by the hash of their output

	seconds float64 // CPU time of the fastest of these, into a file in memory
	bytes   int     // that it wrote; those that were not kept are not known
	lost    bool
	nulls   int     // number of executions with /dev/null
	slowest float64 // CPU time of the slowest of these
}

// of returns what is known of the output of a cell's command; nil: nothing.
func (s *sampler) of(c Cell) *written {
	name := cmp.Or(c.Name, shell.Join(c.Argv))
	if i := slices.IndexFunc(s.written, func(w *written) bool { return w.name == name }); i >= 0 {
		return s.written[i]
	}
	return nil
}

// due reports whether the command is to be executed for its output: once, and once more if it seems to do less for
// /dev/null, because the first execution of a program is often slow.
func (w *written) due() bool { return w == nil || w.nulls == sureNulls && w.doesLess() }

// sureNulls is the number of executions with /dev/null after which a command that seems to do less then is executed once more for
// its output.
const sureNulls = 3

// executions returns how often the command was executed for its output.
func (w *written) executions() (n int) {
	for _, times := range w.sums {
		n += times
	}
	return n
}

// hashSeed makes hashes comparable.
var hashSeed = maphash.MakeSeed()

// note records the output of the last execution.
func (s *sampler) note(c Cell) {
	w := s.of(c)
	if w == nil {
		w = &written{name: cmp.Or(c.Name, shell.Join(c.Argv)), cell: c, sums: map[uint64]int{}, seconds: math.Inf(1)}
		s.written = append(s.written, w)
	}
	w.sums[maphash.Bytes(hashSeed, s.last.Stdout)]++
	w.seconds, w.bytes = min(w.seconds, s.last.UserSeconds+s.last.SystemSeconds), len(s.last.Stdout)
	w.lost = w.lost || s.last.Lost
	s.compared++
}

// unsure returns the commands that are to be executed again, after the first execution of a cell's command: that one, and those
// that have written something else in their only execution. Output that varies says nothing.
func (s *sampler) unsure(c Cell) (again []Cell) {
	is := s.of(c)
	if is.executions() > 1 {
		return nil
	}
	for _, w := range s.written {
		for sum := range w.sums {
			if w != is && is.sums[sum] == 0 {
				if len(again) == 0 {
					again = append(again, c)
				}
				if w.executions() == 1 {
					again = append(again, w.cell)
				}
			}
		}
	}
	return again
}

// differing warns if two commands write different output, each the same in all of at least two executions: they may not
// do the same work. A command whose own output varies, such as a time, is ignored.
func (s *sampler) differing() []result.Warning {
	steady := slices.DeleteFunc(slices.Clone(s.written), func(w *written) bool {
		return len(w.sums) > 1 || w.executions() < 2 || w.lost
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

// writeRate is the number of bytes a second that a program writes at least to a file in memory.
const writeRate = 500e6

// leastLess is the least difference, in seconds of CPU time, that is worth a warning.
const leastLess = 0.005

// doesLess reports whether each execution with /dev/null used much less CPU time than those that wrote to a file, even without the
// time that writing takes: grep, for example, ends at the first match then. Other programs change wall time. A command that writes
// nothing cannot tell where it would go.
func (w *written) doesLess() bool {
	return w.bytes > 0 && !w.lost && w.seconds-float64(w.bytes)/writeRate > max(1.5*w.slowest, w.slowest+leastLess)
}

// doingLess warns about commands that do less work for /dev/null.
func (s *sampler) doingLess() (warnings []result.Warning) {
	for _, w := range s.written {
		if w.nulls > sureNulls && w.doesLess() {
			warnings = append(warnings, result.Warning{
				Code: "less-for-null",
				Message: fmt.Sprintf("%s takes %s of CPU time when it writes to a file, and at most %s with /dev/null: it may do less work then",
					w.name, units.Seconds(w.seconds), units.Seconds(w.slowest)),
				Hint: "let it write to a file: --output FILE",
			})
		}
	}
	return warnings
}
