// Package experiment defines what an experiment consists of: its flags, their resolution on a machine, its sampler and
// its views. Each experiment is a package that makes one Definition; package run drives them all.
package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"gorun/internal/files/input"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

// Text holds the texts of an experiment on the command line.
type Text struct {
	Name         string // of the command
	Args         string // after the name in the usage line: "{A B | --auto} [LOOPS]"
	TakesCommand bool   // the words after the flags are the user's command; words in it that begin with a dash are not flags
	Outlasting   bool   // a run changes what outlives it, if it is killed together with its guardian: the command has --restore
	Short        string
	// Question is what a run with the experiment's own rows answers.
	Question string
	Long     string
	Example  string
	Matrix   string // examples of gorun matrix
}

// Flags are the flags of an experiment, with their defaults. C describes what a cell does: plain values that are sent
// to a child process as JSON.
type Flags[C any] interface {
	// Register adds the flags to a set.
	Register(*FlagSet)
	// Resolve resolves the flags on a machine, live or captured. It changes nothing and starts nothing.
	Resolve(Machine) (Resolution[C], error)
}

// Machine is a machine, and the share of it that a cell may use.
type Machine struct {
	*topology.Machine
	CPUs cpuset.Set // of the cell
	Root fs.FS      // the machine's files, rooted at /
	Live bool       // this machine; otherwise a captured one, which cannot run anything
	Seed uint64     // of the run

	Recorded []result.Cell // of the run that is continued, with the same flags; none: the run begins

	// For a plain run; in a matrix, Sampling is zero and no flag of the run counts as given.
	Sampling Sampling
	Given    func(flag string) bool // reports whether a flag is on the command line
}

// Cell is one setting of everything that can vary.
type Cell[C any] struct {
	Do C // what it does
	Row
}

// Row is what a Cell has in addition to what it does.
type Row struct {
	Name        string                 // distinguishes it from the other rows of the same flags; "": there is only one row
	Flags       map[string]string      // values that define the row, by flag
	CPUs        map[string]result.CPUs // its CPU lists, by flag; without "cpus", those of the cell
	AtOnce      int                    // CPUs that its work can use at the same time; 0: all of them
	Command     []string               // command line, from the experiment's name on, that repeats one of its samples; shown, never parsed
	Running     string                 // what the progress line shows while it runs
	Chosen      string                 // which CPU it has and why, if one was chosen among others
	Lines       *result.Lines          // ways to have the same setting
	Unavailable string                 // why this machine cannot run it; such a cell is listed and not sampled
	Repeats     int                    // of its work in a sample, if that was found before the plan; 0: not known
	Program     string                 // that runs already, if a run must not continue with another one; "": any
	Against     string                 // name of the cell that it is compared with in a plain run; "": the schedule's baseline
	Second      []result.JudgedFigure  // that this cell can have, of the second family
	By          *result.JudgedFigure   // the deciding figure of this cell, in place of the experiment's; the same in its baseline
}

// Resolution is one combination of flags, resolved on a machine.
type Resolution[C any] struct {
	Cells []Cell[C]
	Resolved
}

// Resolved is what a Resolution has in addition to its cells.
type Resolved struct {
	Spec      any             // the flags by name, as the result keeps them; defaults that depend on the machine are filled in
	Placement string          // what is requested from the kernel, as flags
	Labels    Labels          // of the metrics
	Schedule  matrix.Schedule // of a plain run
	Resources Resources       // of the cell with the greatest needs
	Warnings  []result.Warning
	Plan      func(*result.Plan) // adds the experiment's own part to a plan; nil: none
	Header    func(*result.Run)  // adds the experiment's own part to a result; nil: none
	Compared  ComparedBy         // of a matrix

	// Of a plain run with Once.
	Exec   func(environ []string) error // replaces this process by the cell's command; nil: the cell is measured
	Silent bool                         // the result is shown only if a format is requested
}

// ComparedBy are the figures that a matrix judges in place of those of the experiment. The zero ComparedBy: there are none.
type ComparedBy struct {
	Column  string // the column that decides when the run stops
	Label   string // of it; "": as the column says
	Better  string // result.Lower or result.Higher
	Figures []result.JudgedFigure
}

// Labels are those of the metric gorun_run_info.
type Labels struct{ Method, Kernel, Dispatch, Split string }

// Resources are what an experiment needs from the machine.
type Resources struct {
	Threads      int    // of this process at the same time
	GOMAXPROCS   int    // 0: the runtime's choice
	Copies       int    // of the user's command at the same time
	Processes    int    // of gorun's own processes at the same time
	ProcessBytes uint64 // memory of each
	Bytes        uint64 // additional memory, in total
	Less         string // which flags make it need less, as the end of a hint; "": none
	Numbers      uint64 // numbers tested in a sample, for the progress line; 0: not known
}

// Sampler takes samples.
type Sampler[C any] interface {
	// Sample takes one sample of a cell. When ctx ends, it returns soon, with a partial sample, or with ctx's error if
	// that is not worth keeping. Any other error makes the sample invalid, as if Sample had returned an invalid one.
	Sample(ctx context.Context, cell C) (result.Sample, error)
	// Close ends what Open began.
	Close() error
}

// Alone returns an Open for samples that share nothing: take takes one.
func Alone[C any](take func(context.Context, Environment, C) (result.Sample, error)) func(Environment, []C) (Sampler[C], error) {
	return func(e Environment, _ []C) (Sampler[C], error) { return alone[C]{e, take}, nil }
}

type alone[C any] struct {
	Environment
	take func(context.Context, Environment, C) (result.Sample, error)
}

func (a alone[C]) Sample(ctx context.Context, cell C) (result.Sample, error) {
	return a.take(ctx, a.Environment, cell)
}
func (alone[C]) Close() error { return nil }

// Optional parts of a Sampler.
type (
	// Live returns the figures so far, including the sample in progress. It is called from any goroutine.
	Live interface{ Live() result.State }
	// Settler returns what Prepare has found about all samples and was not asked for, by name. It becomes part of the run's spec.
	Settler interface{ Settled() map[string]string }
	// Preparer does slow work before the first sample, after all outputs are open.
	Preparer interface {
		Prepare(ctx context.Context) ([]result.Warning, error)
	}
	// Identified knows the files that define what its samples measure, with their hashes. prepared: Prepare has ended. It returns each
	// once: after Prepare if that may make it, else before.
	Identified interface {
		Identify(ctx context.Context, prepared bool) ([]result.File, []result.Warning, error)
	}
	// Hooked does work before and after each execution of a cell that is not part of the sample: it is neither
	// timed nor watched. After is called for each Before, even one that failed.
	Hooked[C any] interface {
		Before(ctx context.Context, cell C) error
		After(ctx context.Context, cell C) error
	}
	// Varied changes, before a sample of a judged run, what must not decide about it.
	Varied interface{ Vary(Variation) }
	// Ender has a last word, after the last sample: warnings for the result, and the error that gorun ends with when the
	// result has been shown; nil: none.
	Ender interface {
		End() ([]result.Warning, error)
	}
)

// Variation is what differs from sample to sample of a judged run by design, whatever the cell. A sampler embeds it.
type Variation struct {
	Round   int
	Padding int // of the environment of the user's command, in bytes
}

// Vary implements Varied.
func (v *Variation) Vary(to Variation) { *v = to }

// Over marks an error of Sample after which no sample can be taken: the run ends, shows what it has, and then returns what the Ender does.
func Over(err error) error { return over{err} }

type over struct{ error }

func (o over) Unwrap() error { return o.error }

// IsOver reports whether an error is so marked.
func IsOver(err error) bool { return errors.As(err, new(over)) }

// Unfinished is an error of Prepare: the budget ended before it had done its work, or is too short for it.
type Unfinished struct {
	What string // about the budget: "ended before …", "is too short for …"
	Hint string // used if it is not known how long the work takes
	// How long Prepare takes, and a sample; 0: unknown.
	Whole, Each time.Duration
}

func (u *Unfinished) Error() string { return "the time " + u.What }

// Status is the exit code of the user's command, which gorun passes on.
type Status int

func (s Status) Error() string { return fmt.Sprintf("the command ended with exit code %d", int(s)) }

// Place is where samples are taken.
type Place int

// The places.
const (
	Here    Place = iota // in this process, or in a fresh child of gorun
	Started              // in processes that the sampler starts
	Lasting              // in a process that keeps running, which the sampler did not start
)

// Environment is the environment in which a sampler is opened.
type Environment struct {
	Machine     *topology.Machine // nil in a fresh child
	Self        launch.Self       // gorun, to be started again in an environment
	Environ     []string          // the environment
	Files       input.Opener      // opens what the user named
	Seed        uint64
	Units       func() map[string]string // of the run's own figures, by column, as far as they are known
	PassThrough bool                     // the started command has this process's input, output and signals
	// Signals ends at a signal that ends a run, also if PassThrough is set: the context of Sample does not end then.
	Signals context.Context
}

// Once makes the plain command run its one cell once, and pass input, output and signals to what the cell starts, unless flags make
// it a matrix. No machine is read for that before it is needed: Resolve gets none when neither CPUs are given nor one Needs it.
type Once struct {
	Unless string // a flag that lists settings to compare, for hints
	// Several reports whether flags make it a matrix, given the text of each.
	Several func(text func(flag string) string) bool
	// Needs reports whether the one cell needs a machine, given the text of each flag.
	Needs func(text func(flag string) string) bool
}

// Definition defines an experiment: a row of the table of experiments.
type Definition[C any] struct {
	Text
	Traits
	New func() Flags[C] // fresh flags
	// Open opens a sampler for cells that its flags resolved.
	Open func(Environment, []C) (Sampler[C], error)
	// Decode reads what a cell does from JSON. Define sets it.
	Decode func([]byte) (C, error)
	// Explain adds those findings and warnings to a result that need more than its samples (see View.Derived). The samples
	// include invalid ones, whose only use is the reason why they are invalid. nil: none.
	Explain func(run *result.Run, cells []C)
	// Candidates returns what may confirm the cause of a cell's time on a machine (see Machine.Candidates). nil: the samples have no
	// account of their time.
	Candidates func(m Machine, cell C, pinned string) []Candidate[C]
}

// Traits are what a Definition has whatever the type of its cells, in addition to its texts.
type Traits struct {
	Sampling    Sampling // defaults of a plain run
	Place       Place
	SharedFlags []string // flags that are the same for all cells of a matrix, or make no sense in one
	RowHint     string   // hint how to reduce flags that give several rows to one row
	Compared    string   // the column that a matrix compares; "": wall time
	// AlsoJudged are the columns that are judged on the same samples in addition to Compared: CPU time, if a sample is a fixed
	// amount of work. For a sample of fixed duration, CPU time is meaningless.
	AlsoJudged column.List
	Second     column.List    // judged in a second family (see result.Figure), by a matrix only
	Once       *Once          // nil: a plain run takes samples
	Scaling    matrix.Scaling // flags whose numbers are tried in order; none: all are sampled
	Picture    *Picture       // nil: there is none
	View       *View          // nil: a run is shown with the names of its options and its columns
	Columns    column.List
	// Count adds the figures of a sample to the state of its run, which progress and metrics show. nil: they show the common
	// figures.
	Count func(state *result.State, sample *result.Sample)
}

// Sampling is the default extent of a plain run.
type Sampling struct {
	Samples int
	Warmup  int
	Budget  float64 // seconds; 0: no limit
	Fixed   bool    // the experiment has its own flags for the number of samples
	// Compares: a plain run may have several cells that are judged, so it has --margin, and --precision unless Fixed.
	Compares bool
	Usage    map[string]string // of flags of the run, by name, if the experiment has its own text
}

// Experiment is a Definition whose cells have lost their type, for the driver, the formats and the command line. Its Decode
// and Explain are never nil.
type Experiment = Definition[any]

// Define makes an Experiment of a definition. Type assertions of an experiment's types are only here.
func Define[C any](d Definition[C]) Experiment {
	typed := func(cells []any) []C {
		out := make([]C, len(cells))
		for i, cell := range cells {
			out[i] = cell.(C)
		}
		return out
	}
	x := Experiment{
		Text: d.Text, Traits: d.Traits,
		New: func() Flags[any] { return flags[C]{d.New()} },
		Open: func(s Environment, cells []any) (Sampler[any], error) {
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
	if d.Candidates != nil {
		x.Candidates = func(m Machine, cell any, pinned string) (candidates []Candidate[any]) {
			for _, c := range d.Candidates(m, cell.(C), pinned) {
				candidates = append(candidates, Candidate[any]{c.Do, c.Candidate})
			}
			return candidates
		}
	}
	return x
}

// JudgedColumns returns the additional figures that are judged if cells are compared by datum, which is none for a datum other than
// the experiment's own.
func (x Definition[C]) JudgedColumns(datum string) (figures []result.JudgedFigure) {
	if datum != x.Compared {
		return nil
	}
	for _, c := range x.AlsoJudged {
		figures = append(figures, result.JudgedFigure{Column: c.Name, Label: c.Label})
	}
	return figures
}

// flags holds an experiment's flags, without their type.
type flags[C any] struct{ Flags[C] }

func (f flags[C]) Resolve(m Machine) (Resolution[any], error) {
	r, err := f.Flags.Resolve(m)
	out := Resolution[any]{Resolved: r.Resolved}
	for _, c := range r.Cells {
		out.Cells = append(out.Cells, Cell[any]{Do: c.Do, Row: c.Row})
	}
	return out, err
}

// Arguments passes the arguments other than flags to flags that accept them.
func Arguments[C any](f Flags[C], args []string) (taken bool, err error) {
	taker, ok := unwrapped(f).(interface{ Arguments([]string) error })
	if !ok {
		return false, nil
	}
	return true, taker.Arguments(args)
}

// Validate returns an error for flags that no machine can satisfy, before a machine is read, where they have such a check.
func Validate[C any](f Flags[C]) error {
	if v, ok := unwrapped(f).(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

func unwrapped(f any) any {
	if wrapped, ok := f.(interface{ unwrap() any }); ok {
		return wrapped.unwrap()
	}
	return f
}

func (f flags[C]) unwrap() any { return f.Flags }

// sampler holds an experiment's sampler, without its type.
type sampler[C any] struct{ Sampler[C] }

func (s sampler[C]) Sample(ctx context.Context, cell any) (result.Sample, error) {
	return s.Sampler.Sample(ctx, cell.(C))
}

// Before implements Hooked; it does nothing for a sampler that does not.
func (s sampler[C]) Before(ctx context.Context, cell any) error {
	if of, ok := s.Sampler.(Hooked[C]); ok {
		return of.Before(ctx, cell.(C))
	}
	return nil
}

// After implements Hooked.
func (s sampler[C]) After(ctx context.Context, cell any) error {
	if of, ok := s.Sampler.(Hooked[C]); ok {
		return of.After(ctx, cell.(C))
	}
	return nil
}

// Part returns an optional part of a sampler: Live, Preparer, Ender.
func Part[P any](s Sampler[any]) (part P, ok bool) {
	part, ok = unwrapped(s).(P)
	return part, ok
}

func (s sampler[C]) unwrap() any { return s.Sampler }

// Find returns the experiment with this name.
func Find(experiments []Experiment, name string) (Experiment, error) {
	for _, x := range experiments {
		if x.Name == name {
			return x, nil
		}
	}
	return Experiment{}, fmt.Errorf("there is no experiment %q", name)
}
