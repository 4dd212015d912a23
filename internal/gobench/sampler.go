package gobench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"gorun/internal/experiment"
	"gorun/internal/launch"
	"gorun/internal/result"
)

// keptOutput is how many bytes of the end of a test binary's output are kept.
const keptOutput = 16 << 20

// sampler runs pieces of benchmarks.
type sampler struct{ experiment.Setting }

// Sample runs the piece of a cell. A benchmark that failed is an invalid sample.
func (s *sampler) Sample(ctx context.Context, c Cell) (sample result.Sample, err error) {
	argv := append([]string{c.Binary}, benchmark{name: c.Benchmark}.arguments(c.Procs, c.Repeats)...)
	r := launch.Request{Setting: c.Setting, Command: launch.Command{
		Self: s.Self.In(s.Environ), Argv: argv, Dir: c.Dir, Keep: keptOutput,
	}}
	sample, o, err := r.Measure(ctx, s.Machine)
	if err != nil {
		return result.InvalidSample(err), nil
	}
	measured, err := only(o, c.Benchmark)
	if err != nil {
		sample.Doubts = append([]result.Doubt{{Verdict: result.Invalid, Reason: err.Error()}}, sample.Doubts...)
	}
	f := measured.Figures
	f.Package, f.Benchmark, f.Revision = c.Package, c.Benchmark, c.Revision
	sample.Values = result.FiguresOf(&f)
	return sample, nil
}

// Close implements experiment.Sampler.
func (s *sampler) Close() error { return nil }

// only returns the figures of the one benchmark that a test binary ran.
func only(o launch.Outcome, name string) (line, error) {
	lines, failed := parse(o.Stdout)
	for _, l := range lines {
		if l.Benchmark == name && l.NS > 0 {
			return l, nil
		}
	}
	switch {
	case len(failed) > 0:
		return line{}, errors.New(failed[0])
	case o.ExitCode != 0:
		return line{}, errors.New(ended(o))
	}
	return line{}, fmt.Errorf("%s printed no result", name)
}

// ended describes how a test binary failed, with the end of its output.
func ended(o launch.Outcome) string {
	how := fmt.Sprintf("it ended with exit code %d", o.ExitCode)
	output := bytes.TrimSpace(o.Stderr)
	if len(output) == 0 {
		output = bytes.TrimSpace(o.Stdout)
	}
	if text := tail(output); text != "" {
		how += ": " + text
	}
	return how
}

// line is a result line of a test binary.
type line struct{ Figures }

// suffix matches GOMAXPROCS at the end of a benchmark's name.
var suffix = regexp.MustCompile(`^-([0-9]+)$`)

// parse reads the output of a test binary with -test.v: the name of each benchmark is on a line of its own, before its
// results. It also returns how benchmarks failed.
func parse(output []byte) (lines []line, failed []string) {
	running, logged := "", ""
	for text := range strings.Lines(string(output)) {
		text = strings.TrimRight(text, "\r\n")
		switch name, isFailed := strings.CutPrefix(strings.TrimSpace(text), "--- FAIL: "); {
		case isFailed:
			failed = append(failed, strings.TrimSuffix(name+" failed: "+logged, ": "))
		case strings.HasPrefix(text, "    "):
			logged = strings.TrimSpace(text)
		case !strings.HasPrefix(text, "Benchmark"):
		case !strings.ContainsAny(text, " \t"):
			running, logged = text, ""
		default:
			if l, ok := parseLine(text, running); ok {
				lines = append(lines, l)
			}
		}
	}
	return lines, failed
}

// parseLine reads the result line of the benchmark that was running.
func parseLine(text, running string) (l line, ok bool) {
	name, _, _ := strings.Cut(text, "\t")
	name = strings.TrimSpace(name)
	rest, found := strings.CutPrefix(name, running)
	l.Benchmark, l.Procs = running, 1
	if match := suffix.FindStringSubmatch(rest); match != nil {
		l.Procs, _ = strconv.Atoi(match[1])
	} else if !found || rest != "" {
		return l, false
	}
	reader := benchfmt.NewReader(strings.NewReader(text+"\n"), "")
	if !reader.Scan() {
		return l, false
	}
	r, ok := reader.Result().(*benchfmt.Result)
	if !ok {
		return l, false
	}
	l.Iterations = r.Iters
	for _, v := range r.Values {
		unit, value := v.Unit, v.Value
		if v.OrigUnit != "" {
			unit, value = v.OrigUnit, v.OrigValue
		}
		switch unit {
		case "ns/op":
			l.NS = value
		case "B/op":
			l.Bytes = &value
		case "allocs/op":
			l.Allocs = &value
		default:
			if l.Own == nil {
				l.Own = map[string]float64{}
			}
			l.Own[unit] = value
		}
	}
	return l, true
}

// exact returns the value of -test.bench that matches one benchmark: each element of its name by itself.
func exact(name string) string {
	elements := strings.Split(name, "/")
	for i, element := range elements {
		elements[i] = "^" + regexp.QuoteMeta(element) + "$"
	}
	return strings.Join(elements, "/")
}

// keptText is how much of an output is in an error, in bytes.
const keptText = 3000

// tail returns the end of an output.
func tail(output []byte) string {
	text := strings.ToValidUTF8(string(output[max(0, len(output)-keptText):]), "�")
	return strings.ReplaceAll(text, "\t", "    ")
}
