package render

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// Benchmarks implements document.Benchmarked (golang.org/design/14313-benchmark-format), one line a sample or part of one: the options
// that are set are in the name, so that `benchstat -col /split` compares them; the machine is in the configuration
// lines. Nothing that differs between two runs on one machine is there, since benchstat does not compare across
// configurations. An invalid or partial sample says so in its name, and so does one of a matrix's control: it is never
// averaged with the others.
func (r Run) Benchmarks(out *benchfmt.Writer) error {
	if err := r.views.writeBenchUnits(out, r.Run); err != nil {
		return err
	}
	return r.views.writeBenchSamples(out, r.Run, benchConfig(r.Run))
}

// Pair is two runs that are compared. Their benchmark lines need no comparison: benchstat makes its own.
type Pair struct {
	Comparison
	a, b         Run
	nameA, nameB string
}

// Pair returns two runs as a document for benchstat.
func (v Views) Pair(a, b *result.Run, nameA, nameB string) Pair {
	return Pair{a: v.Run(a), b: v.Run(b), nameA: nameA, nameB: nameB}
}

// Benchmarks implements document.Benchmarked: each run follows a configuration line with its name, so that `benchstat -col run` compares
// them. The lines of the configuration in which they differ are left out, since benchstat would keep the runs apart by them.
func (p Pair) Benchmarks(out *benchfmt.Writer) error {
	same := func(config []benchfmt.Config, than []benchfmt.Config) []benchfmt.Config {
		return slices.DeleteFunc(slices.Clone(config), func(line benchfmt.Config) bool {
			return !slices.ContainsFunc(than, func(other benchfmt.Config) bool {
				return other.Key == line.Key && bytes.Equal(other.Value, line.Value)
			})
		})
	}
	if err := p.a.views.writeBenchUnits(out, p.a.Run); err != nil {
		return err
	}
	config := same(benchConfig(p.a.Run), benchConfig(p.b.Run))
	for _, side := range [...]struct {
		Run
		name string
	}{{p.a, p.nameA}, {p.b, p.nameB}} {
		if err := side.views.writeBenchSamples(out, side.Run.Run, append(benchLine("run", side.name), config...)); err != nil {
			return err
		}
	}
	return nil
}

func (v Views) writeBenchUnits(out *benchfmt.Writer, run *result.Run) error {
	judged := map[string]string{} // which is better, by the name of a column
	if run.Matrix != nil {
		for _, f := range run.Matrix.Figures {
			judged[f.Column] = cmp.Or(f.Better, judged[f.Column])
		}
		for _, cell := range run.Cells {
			if f := cell.By; f != nil {
				judged[f.Column] = cmp.Or(f.Better, judged[f.Column])
			}
		}
	}
	samples, columns := v.parts(run)
	for _, c := range columns.Keyed(samples) {
		better := cmp.Or(judged[c.Name], string(c.Better))
		if c.Bench == "" || better == "" {
			continue
		}
		key := benchfmt.UnitMetadataKey{Unit: c.Bench, Key: "better"}
		meta := benchfmt.UnitMetadata{UnitMetadataKey: key, OrigUnit: c.Bench, Value: better}
		if err := out.Write(&meta); err != nil {
			return fmt.Errorf("cannot write the units: %w", err)
		}
	}
	return nil
}

func (v Views) writeBenchSamples(out *benchfmt.Writer, run *result.Run, config []benchfmt.Config) error {
	options := view.OptionsOf(run.Spec)
	samples, columns := v.parts(run)
	columns = columns.Keyed(samples)
	for _, s := range samples.All() {
		line := benchfmt.Result{Config: config, Name: v.benchName(run, columns, options, s), Iters: 1}
		if named := v.Of(run.Experiment).Line; named != nil {
			name, own, ok := named(run, s)
			if !ok {
				continue
			}
			line.Name, line.Config = benchfmt.Name(name), configured(config, own)
		}
		for _, c := range columns {
			figure, ok := c.Number(s)
			if ok && c.Repeats && figure >= 1 && figure <= 1<<53 {
				line.Iters = int(figure)
			}
			if ok && c.Bench != "" {
				if c.Unit == column.Seconds {
					figure *= 1e9
				}
				line.Values = append(line.Values, benchfmt.Value{Value: figure, Unit: c.Bench})
			}
		}
		if err := out.Write(&line); err != nil {
			return fmt.Errorf("cannot write sample %d as a benchmark line: %w", s.Index, err)
		}
	}
	return nil
}

// configured returns a configuration with these lines, in place of those with the same keys.
func configured(config []benchfmt.Config, own [][2]string) []benchfmt.Config {
	config = slices.Clone(config)
	for _, of := range own {
		config = slices.DeleteFunc(config, func(line benchfmt.Config) bool { return line.Key == of[0] })
		config = append(config, benchLine(of[0], of[1])...)
	}
	return config
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
	text := strings.Join(strings.Fields(term.Clean(value)), " ")
	if text == "" {
		return nil
	}
	return []benchfmt.Config{{Key: key, Value: []byte(text), File: true}}
}

// benchName is "Primes/method=brute/limit=200000/…-2". It always ends in GOMAXPROCS, as package testing writes it: a
// reader would otherwise take the end of "pin_cpus=0-3" for it. In a matrix, the options are the flags of the cell.
// Where the samples of a run are of different things, their values name them; a flag that says the same is not said
// again. In a plain run whose values name its samples, they tell in full what the cells' flags do.
func (v Views) benchName(run *result.Run, columns column.List, options view.Options, s *result.Sample) benchfmt.Name {
	var name strings.Builder
	experiment := benchWord(run.Experiment)
	first, size := utf8.DecodeRuneInString(experiment)
	name.WriteRune(unicode.ToUpper(first))
	name.WriteString(experiment[size:])
	part := func(key, value string) {
		name.WriteString("/" + benchWord(key) + "=" + benchWord(value))
	}
	keyless := !slices.ContainsFunc(columns, func(c column.Column) bool { return c.Key != "" })
	if !keyless {
		options = view.Options{}
	}
	if cell := view.CellOf(run, s); cell != nil && (keyless || run.OfMatrix()) {
		options = view.Options{}
		for flag, value := range cell.Flags {
			options[flag] = value
		}
	}
	for _, key := range options.Names(view.BenchNames...) {
		part(key, options.Text(key))
	}
	for _, c := range columns {
		text := c.Of(s).Text
		text = cmp.Or(c.ValueNames[text], text)
		if c.Key != "" && text != "" && options.Text(c.Key) != text {
			part(c.Key, text)
		}
	}
	if s.Slot != nil && s.Control {
		part("control", "true")
	}
	if s.Quality.Grade == result.Invalid {
		part("verdict", string(result.Invalid))
	}
	if s.Partial {
		part("partial", "true")
	}
	name.WriteString("-" + strconv.Itoa(max(1, run.Host.GOMAXPROCS)))
	return benchfmt.Name(name.String())
}

// benchWord makes a text safe inside a benchmark name, where white space and "/" separate. Different texts stay different:
// those characters, what cannot be printed and "%" are written as in a URL.
func benchWord(text string) string {
	var word strings.Builder
	for _, r := range text {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '/' || r == '%' {
			for _, b := range []byte(string(r)) {
				fmt.Fprintf(&word, "%%%02X", b)
			}
			continue
		}
		word.WriteRune(r)
	}
	return word.String()
}
