package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/machine/topology"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/sample/measure"
	"gorun/internal/sample/take"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// Visitor visits this machine.
type Visitor struct {
	Root      fs.FS // rooted at /
	Machine   *topology.Machine
	Host      result.Host
	Tool      result.Tool
	Settings  map[string]string
	Dir, Node string
	Budget    time.Duration
	Seed      uint64
	Now       func() time.Time
	Begins    func(measure string) // is called before each measure; nil: nothing is

	measures []planned // nil: those of the battery
}

// Visited is what a visit found.
type Visited struct {
	Lines []Line // the measures, and those that are missing
	Path  string // of the file
	node  string
	took  time.Duration
	ended bool
}

// samples is the number of samples of each part.
const samples = 5

// errBudget is why a measure is missing that the visit had no time for.
var errBudget = errors.New("the budget ended")

// Visit takes the measures that fit in the budget, in the order of the seed, and writes each to the file. If ctx ends, so does the
// visit, with ctx's error; the file stays as it is.
func (v *Visitor) Visit(ctx context.Context) (*Visited, error) {
	begun := time.Now()
	budget, cancel := context.WithDeadlineCause(ctx, begun.Add(v.Budget), errBudget)
	defer cancel()
	now := v.Now()
	file, err := createFile(v.Dir, v.Node, cmp.Or(v.Host.BootID, "unknown"), now)
	if err != nil {
		return nil, err
	}
	visited := &Visited{Path: file.path + partial, node: v.Node}
	err = file.write(Line{Visit: &Header{
		Schema: Schema, Node: v.Node, Started: stamp(now), Budget: v.Budget.Seconds(), Seed: v.Seed, Tool: v.Tool, Host: v.Host,
		Settings: v.Settings,
	}})
	if err = cmp.Or(err, file.sync()); err != nil {
		file.discard()
		return nil, err
	}
	cpus := v.Machine.Allowed()
	before := runtime.GOMAXPROCS(cpus.Len()) // a quota may have set it lower, and the CPUs that compute together spin until all do
	defer runtime.GOMAXPROCS(before)
	all := v.measures
	if all == nil {
		all = measuresOf(v.Machine, cpus)
	}
	shuffle(all, v.Seed)
	for _, m := range all {
		if v.Begins != nil {
			v.Begins(titleOf(m.name))
		}
		line := v.take(budget, m)
		if ctx.Err() != nil {
			break
		}
		visited.Lines = append(visited.Lines, line)
		if err := file.write(line); err != nil {
			return visited, err
		}
	}
	visited.took = time.Since(begun)
	if ctx.Err() != nil {
		return visited, cmp.Or(file.leave(), ctx.Err())
	}
	if err := file.write(Line{End: &End{Ended: stamp(v.Now()), Seconds: visited.took.Seconds()}}); err != nil {
		return visited, err
	}
	if err := file.finish(); err != nil {
		return visited, err
	}
	visited.Path, visited.ended = file.path, true
	return visited, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// findings are those of the samples of a measure.
type findings struct {
	figures map[int][]float64 // by part
	wrong   []string
	doubts  []string
	failed  string // why the first sample that has no figure has none
}

// take takes a measure. It is missing, without a figure, if the budget ends first, or will certainly end first.
func (v *Visitor) take(ctx context.Context, m planned) Line {
	begun := time.Now()
	found := findings{figures: map[int][]float64{}}
	missing := func(err error) Line {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return Line{Missing: &Missing{Name: m.name, Reason: err.Error(), Wrong: found.wrong}}
	}
	switch {
	case ctx.Err() != nil:
		return missing(nil)
	case m.lack != "":
		return missing(errors.New(m.lack))
	}
	if err := v.sample(ctx, m, &found); err != nil || ctx.Err() != nil {
		return missing(err)
	}
	of := found.measure(m)
	if of == nil {
		return missing(errors.New(cmp.Or(found.failed, "no sample has the figure")))
	}
	of.Seconds = time.Since(begun).Seconds()
	return Line{Measure: of}
}

// sample takes all samples: one of each cell, then the next, so that a short disturbance does not meet all samples of a part.
func (v *Visitor) sample(ctx context.Context, m planned, found *findings) (err error) {
	taker, err := v.open(ctx, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, taker.Close()) }()
	deadline, _ := ctx.Deadline()
	cells := len(taker.Cells)
	var longest time.Duration
	for n := range samples * cells {
		needs, left := longest*time.Duration(samples*cells-n), max(0, time.Until(deadline))
		if needs > left {
			return fmt.Errorf("it needs %s more, and %s of the budget are left", units.Duration(needs.Seconds()), units.Duration(left.Seconds()))
		}
		begun, cell := time.Now(), n%cells
		taker.Watcher, _ = measure.OpenWatcher(v.Root, m.cpus(cell), runtime.GOMAXPROCS(0))
		s, err := taker.Take(ctx, cell)
		if err = errors.Join(err, taker.Watcher.Close()); ctx.Err() != nil {
			return ctx.Err()
		}
		where := ""
		if cells > 1 {
			where = m.parts[cell].words + ": "
		}
		found.add(where, s, m.figures(&s, cell), err)
		longest = max(longest, time.Since(begun))
	}
	return nil
}

// open opens the taker of a measure, without its watcher: each cell has its own, since it has other CPUs.
func (v *Visitor) open(ctx context.Context, m planned) (*take.Taker, error) {
	cells, needs, err := m.cells(v.Machine)
	if err != nil {
		return nil, err
	}
	if _, err := take.Enough(v.Root, needs); err != nil {
		return nil, err
	}
	sampler, err := m.experiment.Open(experiment.Environment{Machine: v.Machine, Seed: workSeed}, cells)
	if err != nil {
		return nil, err
	}
	taker := &take.Taker{Sampler: sampler, Cells: cells}
	if _, err := taker.Prepare(ctx); err != nil {
		return nil, errors.Join(err, taker.Close())
	}
	return taker, nil
}

// doubtsKept limits the number of doubts of a measure that are kept.
const doubtsKept = 8

// add adds a sample. where begins its doubts.
func (f *findings) add(where string, s result.Sample, figures map[int]float64, err error) {
	for _, d := range s.Doubts {
		if d.Wrong {
			f.wrong = once(f.wrong, d.Reason)
		}
	}
	reasons := s.Quality.Reasons
	if err != nil {
		reasons, figures = []string{err.Error()}, nil
	}
	if s.Quality.Grade == result.Invalid {
		figures = nil
	}
	if len(figures) == 0 && len(reasons) > 0 {
		f.failed = cmp.Or(f.failed, where+reasons[0])
	}
	for _, reason := range reasons {
		if !slices.Contains(f.wrong, reason) && len(f.doubts) < doubtsKept {
			f.doubts = once(f.doubts, where+reason)
		}
	}
	for part, figure := range figures {
		f.figures[part] = append(f.figures[part], figure)
	}
}

func once(all []string, text string) []string {
	if slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

// measure returns the best figure of the worst part; nil if no part has one.
func (f *findings) measure(m planned) *Measure {
	best, worse := slices.Min[[]float64], func(a, b float64) bool { return a > b }
	if m.rate {
		best, worse = slices.Max[[]float64], func(a, b float64) bool { return a < b }
	}
	var worst *Measure
	for i, part := range m.parts {
		if figures := f.figures[i]; len(figures) > 0 && (worst == nil || worse(best(figures), worst.Figure)) {
			worst = &Measure{Figure: best(figures), Samples: figures, Part: part.words}
		}
	}
	if worst == nil {
		return nil
	}
	worst.Name, worst.Unit, worst.Better, worst.Parts = m.name, string(m.unit), m.better(), len(f.figures)
	worst.Wrong, worst.Doubts = f.wrong, f.doubts
	return worst
}

// Wrong returns the results that were computed wrongly.
func (v *Visited) Wrong() (wrong []string) {
	for _, line := range v.Lines {
		switch {
		case line.Measure != nil:
			wrong = append(wrong, line.Measure.Wrong...)
		case line.Missing != nil:
			wrong = append(wrong, line.Missing.Wrong...)
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// Err returns an error if a CPU computed a wrong result, or if nothing was measured.
func (v *Visited) Err() error {
	if wrong := v.Wrong(); len(wrong) > 0 {
		text := wrong[0]
		if len(wrong) > 1 {
			text += fmt.Sprintf(", and %d more wrong results", len(wrong)-1)
		}
		return hint.With(errors.New(text), "run nothing on this machine until its processor and memory are checked")
	}
	if len(v.measures()) > 0 {
		return nil
	}
	return hint.With(errors.New("nothing was measured"), "give a longer --budget, or read the reasons in the table")
}

func (v *Visited) measures() (all []Measure) {
	for _, line := range v.Lines {
		if line.Measure != nil {
			all = append(all, *line.Measure)
		}
	}
	return all
}

// answer says what CPUs computed wrongly, and what was measured.
func (v *Visited) answer() (statements []view.Statement) {
	if wrong := v.Wrong(); len(wrong) > 0 {
		statements = append(statements, view.Statement{Text: "Wrong results: " + strings.Join(wrong, "; ") + "."})
	}
	text := fmt.Sprintf("%s of node %s in %s:", units.Things(len(v.measures()), "measure"), v.node, units.Duration(v.took.Seconds()))
	if !v.ended {
		text = "Not ended: " + text
	}
	return append(statements, view.Statement{Text: text})
}

// tables are the measures, what is missing, and what was disturbed.
func (v *Visited) tables() []table.Table {
	var missing []Missing
	var disturbed []Measure
	for _, line := range v.Lines {
		switch {
		case line.Missing != nil:
			missing = append(missing, *line.Missing)
		case line.Measure != nil && len(line.Measure.Doubts) > 0:
			disturbed = append(disturbed, *line.Measure)
		}
	}
	return []table.Table{
		table.Of(v.measures()).
			With("measure", func(m Measure) table.Value { return table.Text(m.Name) }).
			With("of", func(m Measure) table.Value { return table.Text(titleOf(m.Name)) }).
			With("figure", func(m Measure) table.Value { return table.Number{X: m.Figure, Unit: column.Unit(m.Unit)} }).
			With("worst part", func(m Measure) table.Value { return table.Text(m.Part) }).
			With("parts", func(m Measure) table.Value { return table.Count(m.Parts) }).
			Table("measures", "Measures"),
		table.Of(missing).
			With("measure", func(m Missing) table.Value { return table.Text(m.Name) }).
			With("reason", func(m Missing) table.Value { return table.Phrases{{Text: m.Reason}} }).
			Table("missing", "Missing"),
		table.Of(disturbed).
			With("measure", func(m Measure) table.Value { return table.Text(m.Name) }).
			With("by", func(m Measure) table.Value { return table.Phrases{{Text: m.Doubts[0]}} }).
			Table("disturbed", "Disturbed"),
	}
}

// Page implements document.Document. The path is not broken into lines, so that it can be copied.
func (v *Visited) Page(bool) view.Page {
	path := func(term.Options) string { return "  " + v.Path + "\n" }
	return view.Page{Answer: v.answer(), Copied: path, Tables: v.tables()}
}
