// Package experiment defines what an experiment is: its flags, what they come to on a machine, how a sample is taken, and
// what is shown of it. Each experiment is a package that makes one Definition; package run drives them all.
package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"

	"gorun/internal/child"
	"gorun/internal/column"
	"gorun/internal/cpuset"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// Text is what the command line shows of an experiment.
type Text struct {
	Name    string // of the command
	Args    string // after the name in the usage line: "{A B | --auto} [LOOPS]"
	Words   bool   // the words after the flags are a command of the user's; what begins with a dash among them is not a flag
	Short   string
	Long    string
	Example string
	Matrix  string // examples of gorun matrix
}

// Flags are the flags of an experiment, with their defaults. C is what a cell does: plain values that JSON can carry to a
// child process.
type Flags[C any] interface {
	// Register adds the flags to a set.
	Register(*FlagSet)
	// Validate refuses what no machine can do, before a machine is read.
	Validate() error
	// Resolve returns what the flags come to on a machine, live or captured. It changes nothing and starts nothing.
	Resolve(Machine) (Resolution[C], error)
}

// Machine is a machine, and the share of it that a cell may use.
type Machine struct {
	*topology.Machine
	CPUs cpuset.Set // of the cell
	Root fs.FS      // the machine's files, rooted at /
	Live bool       // this machine; otherwise a captured one, which cannot run anything
	Seed uint64     // of the run

	// Of a plain run; in a matrix, Sampling is zero and no flag of the run counts as given.
	Sampling Sampling
	Given    func(flag string) bool // reports whether a flag is on the command line
}

// Cell is one setting of everything that can vary.
type Cell[C any] struct {
	Do      C                      // what it does
	Name    string                 // what tells it from the other rows of its flags; "": they have one row only
	Flags   map[string]string      // values that define the row, by flag
	CPUs    map[string]result.CPUs // its CPU lists, by flag; without "cpus", those of the cell
	AtOnce  int                    // CPUs that its work can use at once; 0: all of its
	Command []string               // that repeats one of its samples, from the experiment's name on; shown, never parsed
	Running string                 // what the progress line shows while it runs
	Lines   *result.Lines          // how to have it without gorun
	Lacking string                 // why this machine cannot run it; such a cell is listed and not sampled
}

// Resolution is what one combination of flags comes to on a machine.
type Resolution[C any] struct {
	Cells     []Cell[C]
	Spec      any       // the flags by name, as the result keeps them; defaults that depend on the machine are filled in
	Placement string    // what is asked of the kernel, in the words of the flags
	Labels    Labels    // of the metrics
	Schedule  Schedule  // of a plain run
	Resources Resources // of the cell that needs most
	Warnings  []result.Warning
	Plan      func(*result.Plan) // adds the experiment's own part to a plan; nil: there is none
	Header    func(*result.Run)  // adds the experiment's own part to a result; nil: there is none

	// Of a plain run with a Sweep.
	Become func(environ []string) error // replaces this process by what the cell runs; nil: it is to be measured
	Silent bool                         // the result is not shown unless a format is asked for
}

// Labels are those of the metric gorun_run_info.
type Labels struct{ Method, Kernel, Dispatch, Split string }

// Resources are what an experiment needs of the machine before it begins.
type Resources struct {
	Threads      int    // of this process at once
	GOMAXPROCS   int    // 0: the runtime's choice
	Processes    int    // of gorun's own at once
	ProcessBytes uint64 // memory of each
	Bytes        uint64 // memory in addition, of all together
	Less         string // which flags make it need less, as the end of a hint; "": none
	Numbers      uint64 // that a sample works through, for the progress line; 0: not known

	// Least is how long a sample takes at least, in seconds, on the fastest machine there may be; 0: not known. It
	// follows from LeastBy, flags or arguments by their names.
	Least   float64
	LeastBy []string
}

// Order is a kind of schedule.
type Order int

// The kinds of schedules.
const (
	InOrder  Order = iota // laps over the cells, each in their order
	Shuffled              // laps over the cells: the first in their order, each later one shuffled
	Blocks                // randomised complete blocks, judged after each round
	Rows                  // all samples of a cell, then all of the next: nothing is judged
	Pairs                 // a fixed number of pairs of a cell and the baseline, judged at the end
	Watch                 // samples of one cell follow each other, without warm-up, for Duration or until an interrupt
)

// Schedule says how the cells of a plain run take turns, and how they are compared.
type Schedule struct {
	Order    Order
	Title    string // of the comparison
	Datum    string // the column that is compared; "": wall time
	Baseline int    // index of the cell that the others are compared with
	// Warmup is how many executions of the first cell come before a run in Blocks or Rows; of other orders each cell is
	// warmed up.
	// Samples are those of each cell, once the flags of the run are known; 0: until the differences are known. Resolve sets
	// it where this schedule has another default than the experiment, which is then taken without a budget.
	Samples  int
	First    []int   // of Pairs: for each round, which of the two cells goes first
	Method   string  // of Pairs, in words
	Open     bool    // rounds go on until the differences are known, unless --samples is given
	Budget   float64 // seconds, where this schedule has another default than the experiment; 0: it has not
	Duration float64 // seconds for which samples follow each other; the last one is cut; 0: off, or in Watch no limit
}

// Sampler takes samples.
type Sampler[C any] interface {
	// Sample takes one sample of a cell. When ctx ends it returns soon, with what was done marked partial, or with ctx's
	// error where that is not worth keeping. Any other error makes the sample invalid, as if Sample had returned an
	// invalid one.
	Sample(ctx context.Context, cell C) (result.Sample, error)
	// Close ends what Open began.
	Close() error
}

// Optional parts of a Sampler.
type (
	// Live reports the figures so far, of the sample that is being taken too. It is called from any goroutine.
	Live interface{ Live() result.Live }
	// Preparer does what takes time before the first sample, after all outputs are open.
	Preparer interface {
		Prepare(ctx context.Context) ([]result.Warning, error)
	}
	// Ender has a last word, after the last sample: warnings for the result, and the error that gorun ends with when the
	// result has been shown; nil: there is none.
	Ender interface {
		End() ([]result.Warning, error)
	}
)

// Status is the exit code that gorun ends with where it is not its own: that of the user's command.
type Status int

func (s Status) Error() string { return fmt.Sprintf("the command ended with exit code %d", int(s)) }

// Place says where samples are taken.
type Place int

// The places.
const (
	Here    Place = iota // in this process, or in a fresh child of gorun
	Started              // in processes that the sampler starts
)

// Setting is what a sampler is opened with.
type Setting struct {
	Root    fs.FS             // the live machine
	Machine *topology.Machine // nil in a fresh child
	CPUs    cpuset.Set        // of the run
	Self    child.Self        // gorun, to be started again in an environment
	Environ []string          // the environment
	Seed    uint64
	Kept    bool // samples are stored: details that only a journal holds are wanted
	Passed  bool // what is started has this process's input, output and signals
}

// Sweep makes the plain command compare the values of one flag, as a matrix does, when another flag lists them.
// Without that flag it runs its one cell once, and passes input, output and signals to what the cell starts. No machine
// is read for that before it is needed, so Resolve gets none when neither Flag nor CPUs are given.
type Sweep struct {
	Flag string                 // whose values are compared
	List string                 // the flag that lists them, by commas; auto stands for All
	All  func(Machine) []string // the values that can matter on a machine
}

// Definition is an experiment: a row of the table that package run is given.
type Definition[C any] struct {
	Text
	Sampling Sampling // defaults of a plain run
	Place    Place
	Single   []string // flags that are the same for all cells of a matrix, or make no sense in one
	OneRow   string   // how flags that give several rows are made to give one
	Datum    string   // the column that a matrix compares; "": wall time
	// Judged are the columns that are judged on the same samples, in addition to Datum: CPU time, where a sample is a fixed
	// amount of work. Of a fixed time, CPU time says nothing.
	Judged column.List
	Sweep  *Sweep // nil: a plain run takes samples
	New    func() Flags[C]
	Open   func(Setting, []C) (Sampler[C], error)
	// Explain adds to a result what its samples show beyond their figures: findings and warnings. Invalid samples are
	// there too, and show nothing but why they are invalid. nil: nothing.
	Explain func(run *result.Run, cells []C)
	Picture *Picture // nil: there is none
	View    *View    // nil: a run is shown by the names of its options and by its columns
	Columns column.List
	// Others are of runs that Resolution.Header calls otherwise than the experiment, by their names.
	Others map[string]Other
}

// Sampling is how many samples a plain run takes unless its flags say otherwise.
type Sampling struct {
	Samples int
	Warmup  int
	Budget  float64 // seconds; 0: no limit
	Fixed   bool    // the experiment has flags of its own for how many samples there are
	// Compares: a plain run may have several cells that are judged, so it has --margin, and --precision unless Fixed.
	Compares bool
	Usage    map[string]string // of flags of the run, by name, where the experiment has words of its own
}

// Experiment is a Definition without its types: what the driver, the formats and the command line know of it.
type Experiment struct {
	Text
	Sampling Sampling
	Place    Place
	Single   []string
	OneRow   string
	Datum    string
	Judged   column.List
	Sweep    *Sweep
	Picture  *Picture
	View     *View
	Columns  column.List
	Others   map[string]Other

	// New returns fresh flags.
	New func() Flags[any]
	// Open opens a sampler for cells that its flags resolved.
	Open func(Setting, []any) (Sampler[any], error)
	// Decode reads what a cell does from JSON.
	Decode func([]byte) (any, error)
	// Explain is Definition.Explain.
	Explain func(run *result.Run, cells []any)
}

// Define makes a row of a definition. It is the only place where an experiment's types are asserted.
func Define[C any](d Definition[C]) Experiment {
	typed := func(cells []any) []C {
		out := make([]C, len(cells))
		for i, cell := range cells {
			out[i] = cell.(C)
		}
		return out
	}
	x := Experiment{
		Text: d.Text, Sampling: d.Sampling, Place: d.Place, Single: d.Single, OneRow: d.OneRow, Datum: d.Datum,
		Judged: d.Judged, Sweep: d.Sweep, Picture: d.Picture, View: d.View, Columns: d.Columns, Others: d.Others,
		New: func() Flags[any] { return flags[C]{d.New()} },
		Open: func(s Setting, cells []any) (Sampler[any], error) {
			opened, err := d.Open(s, typed(cells))
			if err != nil {
				return nil, err
			}
			return sampler[C]{opened}, nil
		},
		Decode: func(text []byte) (any, error) {
			var cell C
			err := json.Unmarshal(text, &cell)
			if err != nil {
				err = fmt.Errorf("a cell of %s: %w", d.Name, err)
			}
			return cell, err
		},
		Explain: func(*result.Run, []any) {},
	}
	if d.Explain != nil {
		x.Explain = func(run *result.Run, cells []any) { d.Explain(run, typed(cells)) }
	}
	return x
}

// Figures returns what is judged in addition where cells are compared by datum: nothing where that is a metric of the
// user's own, since a command that prints one may run for a fixed time.
func (x Experiment) Figures(datum string) (figures []result.Figure) {
	if datum != x.Datum {
		return nil
	}
	for _, c := range x.Judged {
		figures = append(figures, result.Figure{Column: c.Name, Label: c.Label})
	}
	return figures
}

// flags are an experiment's, without their type.
type flags[C any] struct{ of Flags[C] }

func (f flags[C]) Register(set *FlagSet) { f.of.Register(set) }
func (f flags[C]) Validate() error       { return f.of.Validate() }

func (f flags[C]) Resolve(m Machine) (Resolution[any], error) {
	r, err := f.of.Resolve(m)
	out := Resolution[any]{
		Spec: r.Spec, Placement: r.Placement, Labels: r.Labels, Schedule: r.Schedule, Resources: r.Resources,
		Warnings: r.Warnings, Plan: r.Plan, Header: r.Header, Become: r.Become, Silent: r.Silent,
	}
	for _, c := range r.Cells {
		out.Cells = append(out.Cells, Cell[any]{
			Do: c.Do, Name: c.Name, Flags: c.Flags, CPUs: c.CPUs, Command: c.Command, Running: c.Running, Lines: c.Lines,
			Lacking: c.Lacking, AtOnce: c.AtOnce,
		})
	}
	return out, err
}

// Arguments hands words of the command line that are no flags to flags that take them.
func Arguments[C any](f Flags[C], args []string) (taken bool, err error) {
	var of any = f
	if wrapped, ok := of.(interface{ unwrap() any }); ok {
		of = wrapped.unwrap()
	}
	taker, ok := of.(interface{ Arguments([]string) error })
	if !ok {
		return false, nil
	}
	return true, taker.Arguments(args)
}

func (f flags[C]) unwrap() any { return f.of }

// sampler is an experiment's, without its type.
type sampler[C any] struct{ of Sampler[C] }

func (s sampler[C]) Sample(ctx context.Context, cell any) (result.Sample, error) {
	return s.of.Sample(ctx, cell.(C))
}
func (s sampler[C]) Close() error { return s.of.Close() }

// Part returns an optional part of a sampler: Live, Preparer, Ender.
func Part[P any](s Sampler[any]) (part P, ok bool) {
	of := any(s)
	if wrapped, is := of.(interface{ unwrap() any }); is {
		of = wrapped.unwrap()
	}
	part, ok = of.(P)
	return part, ok
}

func (s sampler[C]) unwrap() any { return s.of }

// Find returns the experiment of a name.
func Find(experiments []Experiment, name string) (Experiment, error) {
	for _, x := range experiments {
		if x.Name == name {
			return x, nil
		}
	}
	return Experiment{}, fmt.Errorf("there is no experiment %q", name)
}
