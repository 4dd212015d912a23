package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"gorun/internal/result"
)

// bench is what a benchmark line holds of an experiment.
type bench struct {
	names []benchPart                            // of a sample; none: the run's options name it
	words map[string]string                      // of names: what stands for -1, by value
	times func(s *result.Sample) (float64, bool) // operations that the figures are means of; nil: 1
	units []benchUnit
}

// benchPart is a part of a name, "/key=…", from a value of the sample. A sample that lacks it has no such part.
type benchPart struct{ key, value string }

// benchUnit is a figure of a line. A sample that lacks it has no such figure.
type benchUnit struct {
	unit   string
	better string // what benchstat should call an improvement; "" where neither direction is one
	of     func(s *result.Sample) (float64, bool)
}

// primesBench is also of any experiment without a row: an operation is a sample.
var primesBench = bench{units: []benchUnit{
	{"ns/op", "lower", func(s *result.Sample) (float64, bool) { return s.Seconds * 1e9, true }},
	{"user-ns/op", "lower", func(s *result.Sample) (float64, bool) { return s.UserSeconds * 1e9, true }},
	{"sys-ns/op", "lower", func(s *result.Sample) (float64, bool) { return s.SystemSeconds * 1e9, true }},
	{"trials/s", "higher", value("trials_per_second")},
	{"peak-RSS-bytes", "", value("memory_peak_bytes")},
	{"threads-peak", "", value("threads_peak")},
	{"migrations/op", "", counter(func(s *result.Signals) *uint64 { return s.Migrations })},
	{"involuntary-switches/op", "", counter(func(s *result.Signals) *uint64 { return s.InvoluntarySwitches })},
}}

var contendBench = bench{
	names: []benchPart{
		{"op", "op"},
		{"variant", "variant"},
		{"load", "load"},
		{"cpus", "cpus"},
		{"cpu_list", "cpu_list"},
		{"dist_bytes", "dist_bytes"},
		{"mem_node", "mem_node"},
		{"mode", "mode"},
	},
	times: value("operations"),
	units: []benchUnit{
		{"ns/op", "lower", value("ns_per_op")},
		{"ops/s", "higher", value("ops_per_second")},
		{"fairness", "higher", value("fairness")},
	},
}

var c2cBench = bench{
	names: []benchPart{{"a", "cpu_a"}, {"b", "cpu_b"}, {"relation", "relation"}, {"method", "method"}},
	times: value("round_trips"),
	units: []benchUnit{
		{"ns/op", "lower", value("ns")},
		{"round-trip-ns/op", "lower", value("round_trip_ns")},
	},
}

var numaBench = bench{
	names: []benchPart{
		{"mem", "mem"},
		{"cpu", "cpu"},
		{"numa_balancing", "numa_balancing"},
		{"preferred_node", "preferred_node"},
		{"preferred_by", "preferred_by"},
		{"buffer_bytes", "buffer_bytes"},
		{"pages", "pages"},
		{"access", "access"},
		{"load", "load_requested"},
	},
	words: map[string]string{"mem": "F", "cpu": "F", "numa_balancing": "keep", "preferred_node": "none"},
	times: value("accesses"),
	units: []benchUnit{{"ns/op", "lower", value("ns_per_access")}},
}

var pairBench = bench{
	names: []benchPart{{"work", "work"}, {"a", "cpu_a"}, {"b", "cpu_b"}, {"relation", "relation"}},
	times: value("loops"),
	units: []benchUnit{
		{"ns/op", "lower", value("ns_per_loop")},
		{"calls/s", "higher", value("calls_per_second")},
		{"p50-ns", "lower", value("round_trip_p50_ns")},
		{"p99-ns", "lower", value("round_trip_p99_ns")},
		{"p99.9-ns", "lower", value("round_trip_p99_9_ns")},
	},
}

var loadBench = bench{
	names: []benchPart{{"load", "load_requested"}},
	units: []benchUnit{{"achieved-percent", "", meanLoad}},
}

// benchNames are the options that come first in a benchmark's name.
var benchNames = []string{"method", "kernel", "limit", "workers", "dispatch", "split"}

// Benchfmt writes the Go benchmark format (golang.org/design/14313-benchmark-format), one line a sample: the options
// that are set are in the name, so that `benchstat -col /split` compares them; the machine is in the configuration
// lines. Nothing that differs between two runs on one machine is there, since benchstat does not compare across
// configurations. An invalid or partial sample says so in its name, and so does one of a matrix's control: it is never
// averaged with the others.
func Benchfmt(w io.Writer, run *result.Run, _ Options) error {
	out := benchfmt.NewWriter(w)
	if err := writeBenchUnits(out, experimentOf(run.Experiment).bench); err != nil {
		return err
	}
	return writeBenchSamples(out, run, benchConfig(run))
}

// BenchfmtPair writes two runs, each after a configuration line with its name: `benchstat -col run` compares them. The
// lines of the configuration in which they differ are left out, since benchstat would keep the runs apart by them.
func BenchfmtPair(w io.Writer, a, b *result.Run, nameA, nameB string) error {
	same := func(config []benchfmt.Config, than []benchfmt.Config) []benchfmt.Config {
		return slices.DeleteFunc(slices.Clone(config), func(line benchfmt.Config) bool {
			return !slices.ContainsFunc(than, func(other benchfmt.Config) bool {
				return other.Key == line.Key && bytes.Equal(other.Value, line.Value)
			})
		})
	}
	out := benchfmt.NewWriter(w)
	if err := writeBenchUnits(out, experimentOf(a.Experiment).bench); err != nil {
		return err
	}
	config := same(benchConfig(a), benchConfig(b))
	for _, side := range [...]struct {
		run  *result.Run
		name string
	}{{a, nameA}, {b, nameB}} {
		if err := writeBenchSamples(out, side.run, append(benchLine("run", side.name), config...)); err != nil {
			return err
		}
	}
	return nil
}

func writeBenchUnits(out *benchfmt.Writer, b bench) error {
	for _, unit := range b.units {
		if unit.better == "" {
			continue
		}
		key := benchfmt.UnitMetadataKey{Unit: unit.unit, Key: "better"}
		meta := benchfmt.UnitMetadata{UnitMetadataKey: key, OrigUnit: unit.unit, Value: unit.better}
		if err := out.Write(&meta); err != nil {
			return fmt.Errorf("cannot write the units: %w", err)
		}
	}
	return nil
}

func writeBenchSamples(out *benchfmt.Writer, run *result.Run, config []benchfmt.Config) error {
	options, err := specRun(run)
	if err != nil {
		return err
	}
	b := experimentOf(run.Experiment).bench
	for i := range run.Samples {
		s := &run.Samples[i]
		line := benchfmt.Result{Config: config, Name: benchName(run, b, options, s), Iters: 1}
		if b.times != nil {
			if times, ok := b.times(s); ok && times >= 1 && times <= 1<<53 {
				line.Iters = int(times)
			}
		}
		for _, unit := range b.units {
			if figure, ok := unit.of(s); ok {
				line.Values = append(line.Values, benchfmt.Value{Value: figure, Unit: unit.unit})
			}
		}
		if err := out.Write(&line); err != nil {
			return fmt.Errorf("cannot write sample %d as a benchmark line: %w", s.Index, err)
		}
	}
	return nil
}

func benchConfig(run *result.Run) []benchfmt.Config {
	var config []benchfmt.Config
	for _, line := range [...]struct{ key, value string }{
		{"goos", run.Host.OS},
		{"goarch", run.Host.Arch},
		{"pkg", run.Tool.Name},
		{"cpu", run.Host.CPUModel},
		{"kernel", run.Host.Kernel},
	} {
		config = append(config, benchLine(line.key, line.value)...)
	}
	return config
}

// benchLine is a line of the configuration; none without a value.
func benchLine(key, value string) []benchfmt.Config {
	text := strings.Join(strings.Fields(clean(value)), " ")
	if text == "" {
		return nil
	}
	return []benchfmt.Config{{Key: key, Value: []byte(text), File: true}}
}

// benchName is "Primes/method=brute/limit=200000/…-2". It always ends in GOMAXPROCS, as package testing writes it: a
// reader would otherwise take the end of "pin_cpus=0-3" for it. In a matrix, the options are the flags of the cell.
// Where the samples of a run are of different things, their values name them; a flag that says the same is not said
// again. Where cells are rows of the experiment's own table, its values tell in full what the flags do.
func benchName(run *result.Run, b bench, options spec, s *result.Sample) benchfmt.Name {
	var name strings.Builder
	experiment := benchWord(run.Experiment)
	first, size := utf8.DecodeRuneInString(experiment)
	name.WriteRune(unicode.ToUpper(first))
	name.WriteString(experiment[size:])
	part := func(key, value string) {
		name.WriteString("/" + benchWord(key) + "=" + benchWord(value))
	}
	if len(b.names) > 0 {
		options = spec{}
	}
	if cell := cellOf(run, s); cell != nil && !ownCells(run) {
		options = spec{}
		for flag, value := range cell.Flags {
			options[flag] = value
		}
	}
	for _, key := range options.names(benchNames...) {
		part(key, options.text(key))
	}
	for _, name := range b.names {
		text := valueText(s, name.value)
		if word := b.words[name.value]; word != "" && text == "-1" {
			text = word
		}
		if text != "" && options.text(name.key) != text {
			part(name.key, text)
		}
	}
	if s.Slot != nil && s.Control {
		part("control", "true")
	}
	if s.Quality.Verdict == result.Invalid {
		part("verdict", string(result.Invalid))
	}
	if s.Partial {
		part("partial", "true")
	}
	name.WriteString("-" + strconv.Itoa(max(1, run.Host.GOMAXPROCS)))
	return benchfmt.Name(name.String())
}

// benchWord makes a text safe inside a benchmark name, where white space and "/" separate.
func benchWord(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '/' {
			return '_'
		}
		return r
	}, text)
}
