package command

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/apply"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// slowed is the ratio of times above which copies slow each other down.
const slowed = 1.1

// step is a number of copies of a run that compares such numbers.
type step struct {
	n     int
	than  int          // the number with which it is compared: that of the baseline, or in a search in order the one before it
	ratio stats.Effect // of the time of the last copy to that of the number that it is compared with; the zero Effect: not known
	why   *result.Why  // where the last copy's time grows; nil: not known
	time  float64      // medians, NaN where it is not known: of the mean time of a copy, in seconds
	cpu   float64      // of the CPU time of a copy
	queue float64      // of the time in which it waited for a CPU
	use   float64      // of the CPU time of all copies over the wall time
	cpus  int          // that they may use
}

// steps returns the numbers of copies that a run compares, ascending, and that of the baseline; false if it compares something else.
func steps(run *result.Run) (steps []step, base step, ok bool) {
	if !apply.OfCopies(run) {
		return nil, base, false
	}
	samples := run.ByCell()
	for i, c := range run.Cells {
		good := result.Good(samples[i])
		median := func(of column.Column) float64 {
			spread, known := view.SpreadOf(good, of)
			if !known {
				return math.NaN()
			}
			return spread.Median
		}
		s := step{
			n: copiesOf(c), than: copiesOf(run.Cells[run.Against(i)]), time: median(columns.Get("mean_seconds")), cpu: median(cpuPerCopy), queue: median(columns.Get("queued_seconds_per_copy")),
			use: median(cpuShare), cpus: c.CPUs["cpus"].Count, why: c.Why,
		}
		if i == run.Matrix.Baseline {
			s.ratio = stats.Effect{Ratio: 1, Lo: 1, Hi: 1}
			base = s
		} else if c.Verdict != nil && c.Verdict.Rounds > 0 && c.Verdict.Typical.Bounded() {
			s.ratio = c.Verdict.Typical
		}
		steps = append(steps, s)
	}
	slices.SortFunc(steps, func(a, b step) int { return a.n - b.n })
	return steps, base, true
}

// copiesOf returns the number of copies of a cell, which has one.
func copiesOf(c result.Cell) int {
	n, _ := strconv.Atoi(c.Flags["copies"])
	return n
}

func (s step) known() bool { return s.ratio != stats.Effect{} }

// output returns how much the copies do against the number that they are compared with: the ratio of their throughputs.
func (s step) output() stats.Effect {
	more := float64(s.n) / float64(s.than)
	return stats.Effect{Ratio: more / s.ratio.Ratio, Lo: more / s.ratio.Hi, Hi: more / s.ratio.Lo}
}

// times returns a ratio with its interval: "1.97 × (1.95 to 2.00)".
func times(e stats.Effect) string { return fmt.Sprintf("%.2f × (%.2f to %.2f)", e.Ratio, e.Lo, e.Hi) }

// scaling says from which number on the copies of a run slow each other down, and why. base is the number with which all are compared.
func scaling(steps []step, base step) (statements []view.Statement) {
	one := "one"
	if base.n > 1 {
		one = fmt.Sprintf("each of %d", base.n)
	}
	far, doubt := base, step{}
	for _, s := range steps {
		switch {
		case s.n <= base.n:
		case s.known() && s.ratio.Lo > slowed:
			text := fmt.Sprintf("From %d copies on, they slow each other down: the last ends after %s the time of %s, and all do %s as much", s.n, times(s.ratio), one, times(s.output()))
			if doubt.n == 0 && far.n > base.n {
				text = fmt.Sprintf("Up to %d copies, which do %s as much as %s, none is more than 10%% slower. %s", far.n, times(far.output()), one, text)
			}
			return append([]view.Statement{{Text: text}}, s.shared()...)
		case s.known() && s.ratio.Hi <= slowed && doubt.n == 0:
			far = s
		case doubt.n == 0:
			doubt = s
		}
	}
	switch {
	case doubt.n != 0 && !doubt.known():
		return []view.Statement{{Text: fmt.Sprintf("Can't tell yet whether %d copies slow each other down", doubt.n)}}
	case doubt.n != 0:
		return []view.Statement{{Text: fmt.Sprintf("Can't tell whether %d copies slow each other down: the last ends after %s the time of %s", doubt.n, times(doubt.ratio), one)}}
	}
	return []view.Statement{{Text: fmt.Sprintf("Up to %d copies, the most that were tried, none is more than 10%% slower: they do %s as much as %s", far.n, times(far.output()), one)}}
}

// found says how far the copies of a search in order scale, and why no further.
func found(run *result.Run, steps []step) []view.Statement {
	statements := view.Verdicts(run)
	next := *run.Matrix.Reached + 1
	if next == len(steps) {
		return statements
	}
	text := view.Cause(run, next)
	if text == "" {
		return statements
	}
	return slices.Insert(statements, 1, append([]view.Statement{{Text: "Why: " + text}}, steps[next].shared()...)...)
}

// full is the share of the CPUs above which copies lack CPUs.
const full = 0.9

// shared says what the copies share, by the part of the time that grows.
func (s step) shared() []view.Statement {
	if s.why == nil || s.why.Cause == "" {
		return nil
	}
	var text string
	switch cause := s.why.Cause; {
	case cause == result.WhyWaiting, cause == result.WhyOthersWaiting,
		s.cpus > 0 && s.use > full*float64(s.cpus) && cause == result.WhyBlocked: // for their other threads
		text = fmt.Sprintf("The copies lack CPUs: together they keep %.1f of %d busy", s.use, s.cpus)
	case cause == result.WhyKernel:
		text = "The copies share something of the kernel, such as a lock, or a core, a cache or memory bandwidth"
	case cause == result.WhyBlocked:
		text = "The copies wait for something else that they share, such as a disk, a lock or a server"
	case cause == result.WhyRunning, cause == result.WhyCPU, cause == result.WhyUser:
		text = "The copies share a core, a cache or memory bandwidth"
	default:
		return nil
	}
	return []view.Statement{{Text: text}}
}

// scalingTable has what each number of copies does.
func scalingTable(steps []step, base step) table.Table {
	ratio := func(of func(s step) stats.Effect) func(s step) table.Value {
		return func(s step) table.Value {
			if !s.known() {
				return nil
			}
			return table.Text(times(of(s)))
		}
	}
	title := "Copies at the same time, against " + units.Things(base.n, "copy")
	if slices.ContainsFunc(steps, func(s step) bool { return s.than != base.n }) {
		title = "Copies at the same time, each number against the one before it"
	}
	return table.Of(steps).
		With("copies", func(s step) table.Value { return table.Count(s.n) }).
		With("time of a copy", func(s step) table.Value { return table.Seconds(s.time) }).
		With("CPU time", func(s step) table.Value { return table.Seconds(s.cpu) }).
		With("waits for a CPU", func(s step) table.Value { return table.Seconds(s.queue) }).
		With("until the last ends", ratio(func(s step) stats.Effect { return s.ratio })).
		With("all do", ratio(step.output)).
		Table("", title)
}

// copiesTable has the copies of a single sample.
func copiesTable(v *Several) table.Table {
	return table.Of(v.Processes).
		With("copy", func(c CopyFigures) table.Value { return table.Count(c.Copy) }).
		With("CPUs", func(c CopyFigures) table.Value {
			if c.CPUs == "" {
				return nil
			}
			return table.CPUs(c.CPUs)
		}).
		With("pid", func(c CopyFigures) table.Value { return table.Count(c.PID) }).
		With("real", func(c CopyFigures) table.Value { return table.Seconds(c.Seconds) }).
		With("user", func(c CopyFigures) table.Value { return table.Seconds(c.UserSeconds) }).
		With("sys", func(c CopyFigures) table.Value { return table.Seconds(c.SystemSeconds) }).
		With("waits for a CPU", func(c CopyFigures) table.Value {
			if c.QueuedSeconds == nil {
				return nil
			}
			return table.Seconds(*c.QueuedSeconds)
		}).
		With("exit code", func(c CopyFigures) table.Value { return table.Count(c.ExitCode) }).
		With("metric", func(c CopyFigures) table.Value {
			if c.Metric == nil {
				return nil
			}
			return table.Number{X: *c.Metric}
		}).
		Table("", "The copies")
}
