package gobench

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/lazy"
	"gorun/internal/experiment"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/start/launch"
)

// keptOutput is how many bytes of the end of a test binary's output are kept.
const keptOutput = 16 << 20

// sampler runs pieces of benchmarks.
type sampler struct {
	experiment.Environment
	experiment.Variation
	cells []Cell
}

// Identify implements experiment.Identified.
func (s *sampler) Identify(ctx context.Context, prepared bool) ([]result.File, []result.Warning, error) {
	if prepared {
		return nil, nil, nil
	}
	var binaries []result.File
	for _, c := range s.cells {
		name := cmp.Or(c.Revision, c.Package)
		if c.Package != filepath.Base(c.Binary) && c.Revision != "" { // a revision of several packages
			name += " " + c.Package
		}
		binaries = append(binaries, result.File{Name: name, Path: c.Binary, Program: true})
	}
	return launch.Files(ctx, s.Environ, nil, binaries...)
}

// Sample runs the piece of a cell. A benchmark that failed is an invalid sample.
func (s *sampler) Sample(ctx context.Context, c Cell) (sample result.Sample, err error) {
	argv := slices.Concat([]string{layoutPath(c.Binary, s.Round%c.Layouts)}, always,
		arguments(c.Benchmark, c.Procs, fmt.Sprintf("%dx", c.Repeats)), []string{"-test.benchmem"}, c.Arguments)
	sample, o, err := measure.Command(ctx, launch.Group{
		Self: s.Self.In(s.Environ), Members: []launch.Member{{Argv: argv, Setting: c.Setting}}, Dir: c.Dir, Keep: keptOutput, Timeout: c.Limit, Padding: s.Padding,
	})
	if err != nil {
		return result.InvalidSample(err), nil
	}
	f, err := only(o, c.Benchmark)
	if err != nil {
		sample.Doubts = append([]result.Doubt{{Grade: result.Invalid, Reason: err.Error()}}, sample.Doubts...)
	}
	f.Package, f.Benchmark, f.Revision, f.PeakRSS = c.Package, c.Benchmark, c.Revision, o.PeakRSS()
	sample.Values = result.FiguresOf(&f)
	return sample, nil
}

// Close implements experiment.Sampler.
func (s *sampler) Close() error { return nil }

// only returns the figures of the one benchmark that a test binary ran.
func only(o launch.Outcome, name string) (Figures, error) {
	b := parse(o.Stdout, name)[0]
	how := ended(o)
	if how != "" {
		b.forget()
	}
	l, lacking := b.result()
	switch {
	case o.TimedOut: // also after a result: it would take as long each time
		lacking = how
	case lacking == "":
		return l, nil
	case b.failed == "" && len(b.lines) == 0:
		lacking = cmp.Or(how, lacking)
	}
	return Figures{}, fmt.Errorf("%s %s", name, lacking)
}

// ended describes how a test binary ended too early, with the line of its output that says why; "" if it did not.
func ended(o launch.Outcome) string {
	switch {
	case o.TimedOut:
		return fmt.Sprintf("did not end within %.3g s", o.WallSeconds)
	case o.ExitCode == 0:
		return ""
	}
	how := fmt.Sprintf("ended with exit code %d", o.ExitCode)
	for _, output := range [][]byte{o.Stderr, o.Stdout} {
		if text := cause(string(output)); text != "" {
			return how + ": " + text
		}
	}
	return how
}

// cause returns the line of an output that says why a program ended: that of a panic or an unknown flag, or else the last one.
func cause(output string) (text string) {
	for line := range strings.Lines(strings.ToValidUTF8(output, "�")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") ||
			strings.HasPrefix(line, "flag provided but not defined: ") {
			return line
		}
		if !strings.HasPrefix(line, "Benchmark") && line != "FAIL" {
			text = cmp.Or(line, text)
		}
	}
	return text
}

// announced is a benchmark that a test binary ran.
type announced struct {
	name   string
	lines  []Figures // its results, the last one of each GOMAXPROCS
	failed string    // how it ended without a result
}

// result returns the benchmark's last result, and why there is none that can be compared: it has neither a time nor an own figure.
func (b *announced) result() (l Figures, lacking string) {
	if len(b.lines) == 0 {
		return l, cmp.Or(b.failed, "printed no result")
	}
	l = b.lines[len(b.lines)-1]
	if l.timed() || len(l.Own) > 0 {
		return l, ""
	}
	return l, l.lacking()
}

// timed reports whether a result has a time. b.ReportMetric(0, "ns/op") takes it out.
func (l Figures) timed() bool { return l.NS > 0 }

// lacking says why a result cannot be compared.
func (l Figures) lacking() string {
	lacking := fmt.Sprintf("has %v ns/op, which has no ratio", l.NS)
	var own []string
	for _, unit := range slices.Sorted(maps.Keys(l.Own)) {
		own = append(own, fmt.Sprintf("%v %s", l.Own[unit], unit))
	}
	if len(own) > 0 {
		lacking += "; it reports " + strings.Join(own, ", ")
	}
	return lacking
}

// forget drops a result of 0 ns/op, which testing may still print of a benchmark that panics, before the program ends.
func (b *announced) forget() {
	if l, _ := b.result(); !l.timed() {
		b.lines = nil
	}
}

// suffix matches GOMAXPROCS at the end of a benchmark's name.
var suffix = lazy.Regexp(`^-([0-9]+)$`)

// parse reads what a test binary with -test.v printed about the benchmark of this name, which is the first one returned,
// and those below it. The name of each is on a line before its results; what the benchmark itself prints may be
// between them, and before both on their lines. Of several results, the last is the one that package testing printed.
func parse(output []byte, name string) []*announced {
	all := []*announced{{name: name}}
	logged := ""
	for text := range strings.Lines(string(output)) {
		text = strings.TrimRight(text, "\r\n")
		if how, of, found := ending(text); found {
			b := named(all, of)
			if b == nil && strings.HasPrefix(name, of+"/") {
				b = all[0] // a parent that failed before it
			}
			if b != nil {
				b.failed = strings.TrimSuffix(how+": "+logged, ": ")
			}
			logged = ""
			continue
		}
		if strings.HasPrefix(text, "    ") {
			logged = strings.TrimSpace(text)
		}
		for from := 0; ; from++ {
			at := strings.Index(text[from:], name)
			if at < 0 {
				break
			}
			from += at
			rest := text[from:]
			if !strings.ContainsAny(rest, " \t") && (rest == name || rest[len(name)] == '/') {
				if !slices.ContainsFunc(all, func(b *announced) bool { return b.name == rest }) {
					all = append(all, &announced{name: rest})
				}
				logged = ""
				break
			}
			if b, l, ok := parseLine(rest, all); ok {
				b.lines = append(slices.DeleteFunc(b.lines, func(other Figures) bool { return other.Procs == l.Procs }), l)
				break
			}
		}
	}
	return all
}

// ending reads a line that says how a benchmark ended without a result.
func ending(text string) (how, name string, found bool) {
	for _, e := range [...][2]string{{"--- FAIL: ", "failed"}, {"--- SKIP: ", "was skipped"}} {
		if _, name, found := strings.Cut(text, e[0]); found {
			return e[1], name, true
		}
	}
	return "", "", false
}

// named returns the benchmark of a name that GOMAXPROCS may follow; nil: there is none. The last one is running.
func named(all []*announced, name string) *announced {
	for _, b := range slices.Backward(all) {
		if rest, found := strings.CutPrefix(name, b.name); found && (rest == "" || suffix().MatchString(rest)) {
			return b
		}
	}
	return nil
}

// parseLine reads a result line of one of the benchmarks.
func parseLine(text string, all []*announced) (b *announced, l Figures, ok bool) {
	name, rest, _ := strings.Cut(text, "\t")
	name = strings.TrimSpace(name)
	if b = named(all, name); b == nil {
		return b, l, false
	}
	l.Benchmark, l.Procs = b.name, 1
	if match := suffix().FindStringSubmatch(strings.TrimPrefix(name, b.name)); match != nil {
		l.Procs, _ = strconv.Atoi(match[1])
	}
	words := strings.Fields(rest)
	if len(words)%2 == 0 {
		return b, l, false
	}
	var err error
	if l.Iterations, err = strconv.Atoi(words[0]); err != nil {
		return b, l, false
	}
	for pair := range slices.Chunk(words[1:], 2) {
		value, err := strconv.ParseFloat(pair[0], 64)
		if err != nil {
			return b, l, false
		}
		switch unit := pair[1]; {
		case unit == "ns/op" && !math.IsInf(value, 0) && value > 0:
			l.NS = value
		case unit == "ns/op" || math.IsNaN(value) || math.IsInf(value, 0): // it is not known, and JSON has no word for it
		case unit == "B/op":
			l.Bytes = &value
		case unit == "allocs/op":
			l.Allocs = &value
		default:
			if l.Own == nil {
				l.Own = map[string]float64{}
			}
			l.Own[unit] = value
		}
	}
	return b, l, true
}

// exact returns the value of -test.bench that matches one benchmark: each element of its name by itself.
func exact(name string) string {
	elements := strings.Split(name, "/")
	for i, element := range elements {
		elements[i] = "^" + regexp.QuoteMeta(element) + "$"
	}
	return strings.Join(elements, "/")
}
