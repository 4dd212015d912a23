package gobench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/lazy"
	"gorun/internal/files/input"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

// find runs each benchmark of each side once, and keeps those that all sides have.
func (s *Source) find(ctx context.Context) error {
	all := make([][]benchmark, len(s.sides))
	for i, side := range s.sides {
		for _, folder := range side.packages {
			found, err := s.list(ctx, i, folder)
			if err != nil {
				return err
			}
			all[i] = append(all[i], found...)
		}
	}
	for _, b := range all[len(all)-1] {
		i := slices.IndexFunc(all[0], b.same)
		if i < 0 {
			continue
		}
		if base := all[0][i]; base.unit() != b.unit() {
			why := fmt.Sprintf("is judged by %s in %s and by %s in %s", base.unit(), s.sides[0].name, b.unit(), s.sides[len(all)-1].name)
			for _, side := range s.sides {
				s.lost = append(s.lost, loss{side.name, b.folder, b.pkg, b.name, why, false})
			}
			continue
		}
		s.benchmarks = append(s.benchmarks, b)
	}
	for i, of := range all {
		var only []string
		for _, b := range of {
			if !slices.ContainsFunc(s.benchmarks, b.same) && !slices.ContainsFunc(s.lost, b.lost) {
				only = append(only, s.title(b))
			}
		}
		if len(only) > 0 {
			s.warnings = append(s.warnings, result.Warning{
				Code: "one-revision", Message: fmt.Sprintf("only %s has %s", s.sides[i].name, strings.Join(only, ", ")),
			})
		}
	}
	return nil
}

// nothing returns an error if there is no benchmark to compare, except where one side has none yet, or no more.
func (s *Source) nothing() error {
	oneSided := slices.ContainsFunc(s.warnings, func(w result.Warning) bool { return w.Code == "one-revision" })
	if len(s.benchmarks) > 0 || oneSided && len(s.lost) == 0 {
		return nil
	}
	err := errors.New("there is no benchmark to compare")
	const most = 3 // reasons: one for each benchmark would be many
	for i, w := range s.warnings[:min(len(s.warnings), most)] {
		err = fmt.Errorf("%w%s%s", err, []string{": ", "; "}[min(i, 1)], w.Message)
	}
	if more := len(s.warnings) - most; more > 0 {
		err = fmt.Errorf("%w; and %d more", err, more)
	}
	return hint.With(err, "name packages, such as ./..., and look at --bench")
}

// same reports whether both are the same benchmark, of any side.
func (b benchmark) same(other benchmark) bool {
	return b.folder == other.folder && b.name == other.name && b.procs == other.procs
}

// unit returns the unit by which the benchmark is judged, with the direction of one of its own.
func (b benchmark) unit() string {
	if b.by == nil {
		return nsPerOp.Label
	}
	return b.by.Label + " (" + b.by.Better + " is better)"
}

// loss is a benchmark that a side cannot run.
type loss struct {
	side, folder string
	pkg, name    string // name "": all benchmarks of the package
	why          string
	hung         bool
}

// lost reports whether a loss is that of the benchmark, of any side.
func (b benchmark) lost(l loss) bool {
	return b.folder == l.folder && (l.name == "" || b.name == l.name || strings.HasPrefix(b.name, l.name+"/"))
}

// losses returns a warning about each benchmark that is left out.
func (s *Source) losses() (warnings []result.Warning) {
	sides := map[loss][]string{} // by the loss of any side
	var order []loss
	for _, l := range s.lost {
		of := l
		if of.side = ""; sides[of] == nil {
			order = append(order, of)
		}
		sides[of] = append(sides[of], l.side)
	}
	for _, l := range order {
		where := l.pkg
		if len(sides[l]) < len(s.sides) {
			where += ", " + strings.Join(sides[l], ", ")
		}
		warnings = append(warnings, result.Warning{
			Code: "benchmark-left-out", Message: strings.Join(strings.Fields(where+": "+l.name+" "+l.why), " "),
		})
	}
	return warnings
}

// patience is how long an execution that finds benchmarks may take without finding another one. A benchmark with a
// longer iteration could not be compared in the least budget.
const patience = 30 * time.Second

// list finds the benchmarks of a package: each top-level one is run by itself, so that it does not end the others.
func (s *Source) list(ctx context.Context, i int, folder string) (found []benchmark, err error) {
	of := s.sides[i].binaries[folder]
	if s.setting.Dry {
		return s.read(ctx, i, folder)
	}
	o, err := s.execute(ctx, of, patience, "-test.list=.")
	if err != nil {
		return nil, err
	}
	if how := ended(o); how != "" {
		s.lost = append(s.lost, loss{s.sides[i].name, folder, of.pkg, "", "cannot list its benchmarks: the test binary " + how, false})
		return nil, nil
	}
	var names []string
	for name := range strings.Lines(string(o.Stdout)) {
		if name = strings.TrimSpace(name); isBenchmark().MatchString(name) {
			names = append(names, name)
		}
	}
	for name, pattern := range s.chosen(i, folder, names) {
		ran, err := s.try(ctx, i, folder, name, pattern)
		if err != nil {
			return nil, err
		}
		found = append(found, ran...)
	}
	return found, nil
}

// read finds the top-level benchmarks in the source of a package. Those below them are known only when they run.
func (s *Source) read(ctx context.Context, i int, folder string) (found []benchmark, err error) {
	of := s.sides[i].binaries[folder]
	var names []string
	for _, path := range of.tests {
		text, err := input.Opener{}.ReadFile(ctx, path, input.List)
		if err != nil {
			return nil, err
		}
		for _, match := range benches().FindAllSubmatch(text, -1) {
			names = append(names, string(match[1]))
		}
	}
	for name := range s.chosen(i, folder, names) {
		b := benchmark{folder: folder, pkg: of.pkg, name: name}
		if s.cpu == "" {
			found = append(found, b)
		}
		for _, b.procs = range s.procs {
			found = append(found, b)
		}
	}
	return found, nil
}

// chosen yields the top-level benchmarks that --bench matches, with the pattern for each. One whose name stands twice is lost: a package
// and its external tests may both have it, and the test binary runs none of them alone.
func (s *Source) chosen(i int, folder string, names []string) iter.Seq2[string, pattern] {
	all, of, times := split(s.bench), s.sides[i], map[string]int{}
	for _, name := range names {
		times[name]++
	}
	return func(yield func(string, pattern) bool) {
		for at, name := range names {
			switch pattern := all.of(name); {
			case len(pattern) == 0, slices.Index(names, name) < at:
			case times[name] > 1:
				why := fmt.Sprintf("is there %d times, and none of them can be run alone", times[name])
				s.lost = append(s.lost, loss{of.name, folder, of.binaries[folder].pkg, name, why, false})
			case !yield(name, pattern):
				return
			}
		}
	}
}

// isBenchmark matches the name of a top-level benchmark.
var isBenchmark = lazy.Regexp(`^Benchmark[\pL\pN_]*$`)

// try runs a top-level benchmark and those below it once. After a crash or a hang, it runs those that have not run yet.
func (s *Source) try(ctx context.Context, i int, folder, top string, of pattern) (found []benchmark, err error) {
	var skip []string
	for _, l := range s.lost {
		if l.hung && l.folder == folder && (l.name == top || strings.HasPrefix(l.name, top+"/")) {
			skip = append(skip, exact(l.name)) // it would also hang on this side, or has nothing to be compared with
		}
	}
	binary, parents := s.sides[i].binaries[folder], map[string]bool{}
	for {
		s.setting.Doing("listing " + s.title(benchmark{pkg: binary.pkg, name: top}))
		args := []string{"-test.bench=" + of.String(), "-test.benchtime=1x"}
		if len(skip) > 0 {
			args = append(args, "-test.skip="+strings.Join(skip, "|"))
		}
		if slices.Contains(skip, exact(top)) {
			return found, nil
		}
		o, err := s.execute(ctx, binary, patience, args...)
		if err != nil {
			return nil, err
		}
		all, known, failed := parse(o.Stdout, top), len(skip), false
		running, how := all[len(all)-1], ended(o)
		if how != "" {
			running.forget()
		}
		lose := func(b *announced, why string) {
			s.lost = append(s.lost, loss{s.sides[i].name, folder, binary.pkg, b.name, why, false})
			skip = append(skip, exact(b.name))
		}
		for _, b := range all {
			parents[b.name] = parents[b.name] || of.deeper(b.name) ||
				slices.ContainsFunc(all, func(other *announced) bool { return strings.HasPrefix(other.name, b.name+"/") })
		}
		for _, b := range all {
			failed = failed || b.failed != ""
			silent := len(b.lines) == 0 && b.failed == ""
			below := slices.ContainsFunc(all, func(other *announced) bool {
				return other.failed != "" && strings.HasPrefix(other.name, b.name+"/")
			})
			if silent && (b == running || parents[b.name]) || below && len(b.lines) == 0 {
				continue // a parent fails with what is below it
			}
			if _, lacking := b.result(); lacking != "" {
				lose(b, lacking)
				continue
			}
			skip = append(skip, exact(b.name))
			for _, l := range b.lines {
				row := benchmark{folder: folder, pkg: binary.pkg, name: b.name}
				if row.by, row.judged = l.judged(o.Stdout); row.by == nil && !l.timed() {
					lose(b, l.lacking())
					break
				}
				if s.cpu != "" {
					row.procs = l.Procs
				}
				if s.cpu == "" || slices.Contains(s.procs, l.Procs) {
					found = append(found, row)
				}
			}
		}
		unfinished := len(running.lines) == 0 && running.failed == "" && !parents[running.name]
		switch {
		case o.TimedOut && len(skip) > known: // the one that runs has had less time
		case o.TimedOut:
			found = slices.DeleteFunc(found, func(b benchmark) bool {
				return b.name == running.name || strings.HasPrefix(b.name, running.name+"/")
			})
			lose(running, how)
			s.lost[len(s.lost)-1].hung = true
		case unfinished:
			lose(running, cmp.Or(how, "printed no result"))
		case how != "" && !failed:
			lose(all[0], how)
			return found, nil
		default:
			return found, nil
		}
	}
}

// execute runs a test binary in its package's folder, for a limited time (0: none).
func (s *Source) execute(ctx context.Context, of binary, limit time.Duration, args ...string) (launch.Outcome, error) {
	argv := slices.Concat([]string{of.path}, always, args)
	if s.cpu != "" && !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-test.cpu=") }) {
		argv = append(argv, "-test.cpu="+s.cpu)
	}
	o, err := launch.Run(ctx, launch.Group{
		Self: s.setting.Self.In(s.setting.Environ), Members: []launch.Member{{Argv: append(argv, s.Own...)}}, Dir: of.dir, Keep: keptOutput,
		Timeout: limit,
	})
	return o, cmp.Or(err, ctx.Err())
}

// pilot finds the number of iterations of each benchmark's pieces, or takes it from the run that is to be continued.
func (s *Source) pilot(ctx context.Context, piece time.Duration, iterations int, recorded *result.Run) error {
	var left []benchmark
	for _, b := range s.benchmarks {
		b.repeats = cmp.Or(iterations, s.recorded(b, recorded))
		if b.repeats == 0 && !s.setting.Dry {
			s.setting.Doing("timing " + s.title(b))
			of := s.sides[0].binaries[b.folder]
			o, err := s.execute(ctx, of, patience+pieces*piece, arguments(b.name, b.procs, piece.String())...)
			if err != nil {
				return err
			}
			l, err := only(o, b.name)
			if err != nil {
				s.lost = append(s.lost, loss{s.sides[0].name, b.folder, b.pkg, b.name, strings.TrimPrefix(err.Error(), b.name+" "), o.TimedOut})
				continue
			}
			// Package testing runs for a fifth longer than the piece. A figure of ReportMetric need not be the time.
			iterations := float64(l.Iterations) / 1.2
			if l.timed() {
				iterations = piece.Seconds() * 1e9 / l.NS
			}
			b.repeats = int(min(max(1, math.Round(iterations), float64(l.Iterations)/2), float64(l.Iterations)))
			b.limit = patience + time.Duration(pieces*o.WallSeconds*float64(time.Second))
		}
		left = append(left, b)
	}
	s.benchmarks = left
	return nil
}

// pieces is how much longer a piece may take than it was expected to, before it counts as hanging.
const pieces = 20

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

// pattern is a regular expression of -test.bench: alternatives, each of which has an element for each level of names.
type pattern [][]string

// split splits a regular expression as package testing does: at | and /, except within brackets.
func split(text string) (p pattern) {
	var elements []string
	from, square, round := 0, 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '[':
			square++
		case c == ']':
			square = max(0, square-1)
		case c == '\\':
			i++
		case square > 0:
		case c == '(':
			round++
		case c == ')':
			round--
		case round == 0 && (c == '/' || c == '|'):
			elements, from = append(elements, text[from:i]), i+1
			if c == '|' {
				p, elements = append(p, elements), nil
			}
		}
	}
	return append(p, append(elements, text[from:]))
}

// of returns the pattern for one top-level benchmark; empty: it does not match.
func (p pattern) of(top string) (matching pattern) {
	for _, elements := range p {
		if is, err := regexp.MatchString(elements[0], top); err == nil && is {
			matching = append(matching, append([]string{exact(top)}, elements[1:]...))
		}
	}
	return matching
}

// deeper reports whether the pattern matches only benchmarks below this one.
func (p pattern) deeper(name string) bool {
	return !slices.ContainsFunc(p, func(elements []string) bool { return len(elements) <= 1+strings.Count(name, "/") })
}

// String returns the value of -test.bench.
func (p pattern) String() string {
	var words []string
	for _, elements := range p {
		words = append(words, strings.Join(elements, "/"))
	}
	return strings.Join(words, "|")
}
