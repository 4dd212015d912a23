package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/guard/dedicate"
	"gorun/internal/guard/guardian"
	"gorun/internal/record/result"
)

// noDedicate is the value of --dedicate that moves no thread.
const noDedicate = "none"

func (f *flags) dedicates() bool { return f.dedicate != "" && f.dedicate != noDedicate }

// dedicated returns the request for --dedicate; nil if nothing is moved.
func (f *flags) dedicated(m experiment.Machine) (*dedicate.Request, error) {
	if !f.dedicates() {
		return nil, nil
	}
	cpu, err := m.One(f.dedicate)
	if err == nil && m.CPUs.Union(m.Allowed()).Len() == 1 {
		err = hint.With(errors.New("it is the only CPU that gorun may use, and other processes would have none left"),
			"give gorun more CPUs (taskset, cpuset)")
	}
	if err != nil {
		return nil, hint.Flag("dedicate", f.dedicate, err)
	}
	return &dedicate.Request{CPU: cpu, All: f.all}, nil
}

// sampleDedicated takes a sample while the threads of other processes are kept off its CPU. Settings that cannot be restored
// make the sample an error, which Close returns too.
func (s *sampler) sampleDedicated(ctx context.Context, c Cell) (sample result.Sample, err error) {
	held, err := dedicate.Take(ctx, guardian.New(s.Self.In(s.Environ)), *c.Dedicate)
	if err != nil {
		return sample, err
	}
	d := held.Dedicated()
	s.dedicated = &d
	if s.PassThrough {
		fmt.Fprint(os.Stderr, dedicatedLines(&d))
	}
	defer func() {
		var unrestored error
		d.Changed, unrestored = held.Release()
		s.unrestored = errors.Join(s.unrestored, unrestored)
		if v, ok := result.Typed[Figures](&sample); ok {
			v.Dedicated = &d // the figures are still this sampler's own
		}
		if d.Changed > 0 {
			sample.Doubt(result.Suspect, "another program gave %d of the threads that were moved off CPU %d other CPUs meanwhile",
				d.Changed, d.CPU)
		}
		if err == nil && !s.PassThrough {
			err = unrestored
		}
	}()
	return s.measure(ctx, c)
}

// leftWarnings returns warnings about the threads and interrupts that stayed on the CPU of the last command with
// --dedicate.
func (s *sampler) leftWarnings() []result.Warning {
	if s.dedicated == nil || len(s.dedicated.Left) == 0 {
		return nil
	}
	return []result.Warning{{
		Code:    "dedicate",
		Message: fmt.Sprintf("not moved off CPU %d: %s", s.dedicated.CPU, leftWords(s.dedicated)),
	}}
}

// dedicatedLines describes what was moved and what was left, for stderr.
func dedicatedLines(d *result.Dedicated) string {
	text := fmt.Sprintf("gorun: moved off CPU %d: %s\n", d.CPU, hint.Line(movedWords(d)))
	if len(d.Left) > 0 {
		text += fmt.Sprintf("gorun: not moved: %s\n", hint.Line(leftWords(d)))
	}
	return text
}

// movedWords describes what was moved.
func movedWords(d *result.Dedicated) string {
	of := "1 process"
	if d.Processes != 1 {
		of = fmt.Sprintf("%d processes", d.Processes)
	}
	text := units.Things(d.Threads, "thread") + " of " + of
	if d.Interrupts > 0 {
		text += ", " + units.Things(d.Interrupts, "interrupt")
	}
	return text
}

func leftWords(d *result.Dedicated) string {
	var words []string
	for _, l := range d.Left {
		words = append(words, leftOnWords(l))
	}
	return strings.Join(words, "; ")
}

// leftOnWords returns, for example, "12 kernel threads (bound to CPU 1)".
func leftOnWords(l result.LeftOn) string { return units.Things(l.Count, l.What) + " (" + l.Why + ")" }
