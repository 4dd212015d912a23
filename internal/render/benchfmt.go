package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"gorun/internal/result"
)

// benchUnits are the figures of a benchmark line, in its order. Those that a sample lacks are left out of its line.
var benchUnits = [...]struct {
	unit   string
	better string // what benchstat should call an improvement; "" where neither direction is one
	of     func(s *result.Sample) (float64, bool)
}{
	{"ns/op", "lower", func(s *result.Sample) (float64, bool) { return s.Seconds * 1e9, true }},
	{"user-ns/op", "lower", func(s *result.Sample) (float64, bool) { return s.UserSeconds * 1e9, true }},
	{"sys-ns/op", "lower", func(s *result.Sample) (float64, bool) { return s.SystemSeconds * 1e9, true }},
	{"trials/s", "higher", value("trials_per_second")},
	{"peak-RSS-bytes", "", value("memory_peak_bytes")},
	{"threads-peak", "", value("threads_peak")},
	{"migrations/op", "", counter(func(s *result.Signals) *uint64 { return s.Migrations })},
	{"involuntary-switches/op", "", counter(func(s *result.Signals) *uint64 { return s.InvoluntarySwitches })},
}

// benchNames are the options that come first in a benchmark's name.
var benchNames = []string{"method", "kernel", "limit", "workers", "dispatch", "split"}

// Benchfmt writes the Go benchmark format (golang.org/design/14313-benchmark-format), one line a sample: the options
// that are set are in the name, so that `benchstat -col /split` compares them; the machine is in the configuration
// lines. Nothing that differs between two runs on one machine is there, since benchstat does not compare across
// configurations. An invalid or partial sample says so in its name, and is never averaged with the good ones.
func Benchfmt(w io.Writer, run *result.Run, _ Options) error {
	options, err := specRun(run)
	if err != nil {
		return err
	}
	out := benchfmt.NewWriter(w)
	for _, unit := range benchUnits {
		if unit.better == "" {
			continue
		}
		key := benchfmt.UnitMetadataKey{Unit: unit.unit, Key: "better"}
		meta := benchfmt.UnitMetadata{UnitMetadataKey: key, OrigUnit: unit.unit, Value: unit.better}
		if err := out.Write(&meta); err != nil {
			return fmt.Errorf("cannot write the units: %w", err)
		}
	}
	config := benchConfig(run)
	for i := range run.Samples {
		s := &run.Samples[i]
		line := benchfmt.Result{Config: config, Name: benchName(run, options, s), Iters: 1}
		for _, unit := range benchUnits {
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
		if text := strings.Join(strings.Fields(line.value), " "); text != "" {
			config = append(config, benchfmt.Config{Key: line.key, Value: []byte(text), File: true})
		}
	}
	return config
}

// benchName is "Primes/method=brute/limit=200000/…-2". It always ends in GOMAXPROCS, as package testing writes it: a
// reader would otherwise take the end of "pin_cpus=0-3" for it.
func benchName(run *result.Run, options spec, s *result.Sample) benchfmt.Name {
	var name strings.Builder
	first, size := utf8.DecodeRuneInString(run.Experiment)
	name.WriteRune(unicode.ToUpper(first))
	name.WriteString(run.Experiment[size:])
	part := func(key, value string) {
		name.WriteString("/" + benchWord(key) + "=" + benchWord(value))
	}
	for _, key := range options.names(benchNames...) {
		part(key, options.text(key))
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
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '/' {
			return '_'
		}
		return r
	}, text)
}
