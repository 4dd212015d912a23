// Package gobench is `gorun bench`: Go benchmarks of two revisions, or under several placements, interleaved and judged.
package gobench

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"gorun/internal/experiment"
	"gorun/internal/place/placement"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/show/apply"
)

// Experiment shows runs of `gorun bench`. Of returns the one that takes samples.
var Experiment = Of(&Source{})

// Of returns the experiment whose cells a source finds.
func Of(source *Source) experiment.Experiment {
	return experiment.Define(experiment.Definition[Cell]{
		Text: experiment.Text{
			Name:  "bench",
			Args:  "[--base REVISION] [PACKAGES] [flags] [-- ARGUMENTS]",
			Short: "Compare Go benchmarks of two revisions, or under several placements",
			Long: "The test binaries of the work tree and of --base are built, and their benchmarks run in short pieces that take turns\n" +
				"in a random order, each in its own revision's package folder. ns/op is judged, or a benchmark's own unit where it reports none; B/op and allocs/op\n" +
				"are compared exactly.\n\n" +
				"--base is a revision of git, which is checked out into a temporary folder, another folder with the same packages, or a\n" +
				"test binary; PACKAGES is then the other binary. Without --base, give --placement or other flags several values:\n" +
				"each benchmark is compared with itself in the first setting. The test binaries get the ARGUMENTS.",
			Example: "  gorun bench --base HEAD ./...\n" +
				"  gorun bench --base main --bench 'Parse|Print' --fail-on 'slower>5%' ./internal/base/shell\n" +
				"  gorun bench --base old.test new.test\n" +
				"  gorun bench --vary gomaxprocs=1,2 ./internal/stats",
		},
		Traits: experiment.Traits{
			Place:    experiment.Started,
			Compared: nsPerOp.Name,
			Columns:  columns,
			Second:   column.List{peakMemory},
			View:     &shown,
		},
		New: func() experiment.Flags[Cell] { return &flags{source: source} },
		Open: func(s experiment.Environment, cells []Cell) (experiment.Sampler[Cell], error) {
			return &sampler{Environment: s, cells: cells}, nil
		},
	})
}

// Cell is a benchmark of a test binary, and the setting in which it is started.
type Cell struct {
	Package   string
	Benchmark string
	Revision  string
	Binary    string
	Layouts   int    // of the binary
	Dir       string // of the package
	Arguments []string
	Procs     int // of -test.cpu; 0: it is not given
	Repeats   int
	Limit     time.Duration // of a piece; 0: none
	Setting   placement.Setting
}

// Figures are those of one piece of a benchmark.
type Figures struct {
	Package    string             `json:"package,omitempty" figure:",hidden,csv=1" is:"The package of the benchmark."`
	Benchmark  string             `json:"benchmark" figure:",hidden,csv=2" is:"The name of the benchmark."`
	Revision   string             `json:"revision,omitempty" figure:",hidden,csv=3" is:"The revision of the benchmark."`
	Procs      int                `json:"procs" figure:"count,csv=4" is:"GOMAXPROCS of the benchmark."`
	Iterations int                `json:"iterations" figure:"number,csv=5,repeats" is:"The iterations of the benchmark in the sample."`
	NS         float64            `json:"ns_per_op,omitempty" figure:"ns,lower,csv=6,bench=ns/op" label:"ns/op" is:"The time of an iteration, in nanoseconds."`
	Bytes      *float64           `json:"bytes_per_op,omitempty" figure:"B,lower,csv=7,bench=B/op" label:"B/op" is:"The memory that an iteration allocates."`
	Allocs     *float64           `json:"allocs_per_op,omitempty" figure:"number,lower,csv=8,bench=allocs/op" label:"allocs/op" is:"How often an iteration allocates memory."`
	Own        map[string]float64 `json:"own,omitempty" figure:",bench=KEY" is:"A figure that the benchmark reports itself."` // by unit: those of ReportMetric and SetBytes
	result.PeakRSS
}

// Flags that define the rows of a combination, in cells.
const (
	packageFlag   = "package"
	benchmarkFlag = "benchmark"
	procsFlag     = "cpu"
	revisionFlag  = "revision"
)

// flags are those of a cell.
type flags struct {
	experiment.Placing
	revision string
	source   *Source
	set      *experiment.FlagSet
}

func (f *flags) Register(set *experiment.FlagSet) {
	f.set = set
	f.Placing.Register(set)
	set.Group("Placement")
	set.Rare("mempolicy", "preferred-node", "sched")
	set.StringVar(&f.revision, revisionFlag, "", "the `revision` of the benchmarks")
	set.Lookup(revisionFlag).Hidden = true // a group of cells has it
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	p, err := f.Placed(m)
	if err != nil {
		return r, err
	}
	lines := apply.Lines(p, nil)
	var given []string // of the setting
	f.set.Visit(func(flag *pflag.Flag) {
		if flag.Name != revisionFlag {
			given = append(given, "--"+flag.Name+"="+flag.Value.String())
		}
	})
	side := f.source.side(f.revision)
	for _, b := range f.source.benchmarks {
		binary := side.binaries[b.folder]
		row := map[string]string{packageFlag: b.pkg, benchmarkFlag: b.name}
		if b.procs > 0 {
			row[procsFlag] = strconv.Itoa(b.procs)
		}
		r.Cells = append(r.Cells, experiment.Cell[Cell]{
			Do: Cell{
				Package: b.pkg, Benchmark: b.name, Revision: f.revision, Binary: binary.path, Layouts: f.source.layouts, Dir: binary.dir, Procs: b.procs,
				Repeats: b.repeats, Limit: b.limit, Setting: p.Setting,
				Arguments: f.source.Own,
			},
			Row: experiment.Row{
				Name: f.source.title(b), Flags: row, Command: f.source.repeat(b, given), Lines: &lines, Chosen: p.Chosen, Repeats: b.repeats,
				Second: b.judged, By: b.by, CPUs: m.CellCPUs(p.Setting),
			},
		})
	}
	r.Placement = p.Setting.String()
	r.Spec = spec{Revision: f.revision, SettingFlags: experiment.FlagsOf(p.Setting)}
	r.Warnings = f.source.warnings
	return r, nil
}

// spec holds the request by flag name.
type spec struct {
	Revision string `json:"revision,omitempty"`
	experiment.SettingFlags
}

// whole returns columns of a whole sample, which are not those of an operation in a benchmark line.
func whole(columns column.List) column.List {
	return columns.With(func(c *column.Column) { c.Bench, c.Verbose = "", true })
}

var (
	columns     = column.Join(column.Of[Figures](), whole(column.Times), whole(column.Switches))
	own         = columns.Get("own")
	peakMemory  = columns.Get(result.MaxRSS)
	nsPerOp     = columns.Get("ns_per_op")
	bytesPerOp  = columns.Get("bytes_per_op")
	allocsPerOp = columns.Get("allocs_per_op")
)

// always are the arguments of each execution of a test binary: benchmarks alone, named as they run, without a time limit.
var always = []string{"-test.run=^$", "-test.v", "-test.timeout=0"}

// arguments returns those that run one benchmark: for a time, or a number of iterations such as 100x. procs 0: not given.
func arguments(name string, procs int, benchtime string) []string {
	argv := []string{"-test.bench=" + exact(name), "-test.benchtime=" + benchtime}
	if procs > 0 {
		argv = append(argv, fmt.Sprintf("-test.cpu=%d", procs))
	}
	return argv
}
