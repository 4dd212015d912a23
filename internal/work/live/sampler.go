package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/guard/guardian"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/place/subject"
	"gorun/internal/publish/metrics"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

// sampler switches the program, and measures it block by block.
type sampler struct {
	experiment.Environment
	*Source
	cells    []Cell
	settings []subject.Setting // distinct ones
	random   *rand.Rand

	switcher   *subject.Switcher // nil before Prepare and after the end
	guardian   *guardian.Guardian
	switchedAt time.Duration // CLOCK_MONOTONIC, when the program was switched
	load       *load
	endpoint   *metrics.Endpoint
	procs      int // GOMAXPROCS of gorun before; 0: unchanged

	follows       bool          // the program is one of Go whose GOMAXPROCS follows its CPUs, and its endpoint has it
	afterFollowed time.Duration // the washout after GOMAXPROCS has followed

	begun time.Duration // when Prepare began

	// What the pilot has seen, and with it the length of its slices.
	answers  []float64     // seconds that the endpoint took to answer
	switched time.Duration // the longest switch
	cost     time.Duration // the least CPU time of one
	counting time.Duration // the least CPU time of reading the counts of all threads
	slice    time.Duration

	unit  *string // of the first judged figure in the pilot
	moves []moves // of each --metric

	counted int // the most costly counts that are read

	apart  bool // the server of --with-pid has CPUs of its own
	blocks int  // that were measured
	longs  []longBlock
	over   error // why no further sample can be taken
}

func newSampler(e experiment.Environment, source *Source, cells []Cell) *sampler {
	s := &sampler{Environment: e, Source: source, cells: cells, random: rand.New(rand.NewPCG(e.Seed, 1<<62)), moves: make([]moves, len(source.metrics)), counted: migrations}
	for _, c := range cells {
		if !slices.ContainsFunc(s.settings, func(o subject.Setting) bool { return o.String() == c.Setting.String() }) {
			s.settings = append(s.settings, c.Setting)
		}
	}
	return s
}

// leastProcs is GOMAXPROCS of gorun during a run. The thread that keeps the time sleeps in the kernel without telling the Go scheduler.
const leastProcs = 4

// Prepare implements experiment.Preparer: the program is saved, the load starts, and a pilot finds how long the program takes to settle.
func (s *sampler) Prepare(ctx context.Context) (warnings []result.Warning, err error) {
	s.begun = now().at
	s.procs = runtime.GOMAXPROCS(max(leastProcs, runtime.GOMAXPROCS(0)))
	if s.url != "" {
		if s.endpoint, err = metrics.NewEndpoint(s.url, s.selectors()...); err != nil {
			return nil, hint.Flag("metric-url", s.url, err)
		}
		for range 2 { // once, it may have been slow by chance
			if err := s.try(ctx); err != nil && ctx.Err() != nil {
				return nil, &experiment.Unfinished{What: "ended before --metric-url had answered", Hint: longer}
			} else if err != nil {
				return nil, fmt.Errorf("--metric-url: %w", err)
			}
		}
		if err := s.slowEndpoint(); err != nil {
			return nil, err
		}
	}
	switcher, err := subject.NewSwitcher(s.program, s.settings)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", s.program.Who, err)
	}
	if err := s.hold(switcher); err != nil {
		return nil, err
	}
	if len(s.loadArgv) > 0 && !s.perBlock {
		if s.load, err = startLoad(s.Environment, s.loadArgv, s.log); err != nil {
			return nil, fmt.Errorf("--load: %w", err)
		}
		if err := s.load.awaitFirst(ctx, s.metrics); err != nil {
			return nil, err
		}
	}
	if s.server != nil {
		s.apart, warnings = s.server.Place(s.server.Among)
	}
	if s.perBlock {
		return warnings, s.tryLoad(ctx)
	}
	found, err := s.pilot(ctx)
	if state := s.switcher.State(); err == nil && state.Longest < s.longest() { // the pilot found longer blocks
		state.Longest = s.longest()
		err = s.guardian.HoldState(state)
	}
	return append(warnings, found...), err
}

// Identify implements experiment.Identified: those of the load, and the program of the first process, which may be another one since the
// unit was started again.
func (s *sampler) Identify(ctx context.Context, prepared bool) ([]result.File, []result.Warning, error) {
	if prepared {
		return nil, nil, nil
	}
	pids, err := s.program.Processes()
	if err != nil {
		return nil, nil, fmt.Errorf("%v: %w", s.program.Who, err)
	}
	exe := fmt.Sprintf("/proc/%d/exe", pids[0])
	return launch.Files(ctx, s.Environ, [][]string{s.loadArgv}, result.File{Name: s.program.Who.String(), Path: exe, Program: true})
}

// longest is the longest time for which the program keeps a setting.
func (s *sampler) longest() time.Duration {
	return brief + s.mostSwitch() + s.washout + s.afterFollowed + s.block + s.longLength()
}

// selectors returns what is needed of the endpoint's page.
func (s *sampler) selectors() []metrics.Selector {
	all := []metrics.Selector{goProcs}
	for _, m := range s.metrics {
		if m.series != nil {
			all = append(all, *m.series)
		}
	}
	return all
}

// tryLoad runs a load of blocks once: it must end well and print the figures.
func (s *sampler) tryLoad(ctx context.Context) error {
	figures := &Figures{}
	b, err := s.measure(ctx, nil, 0, figures)
	for _, m := range s.metrics {
		if err == nil && m.whole != nil {
			_, _, err = s.figure(m, b, figures)
		}
	}
	if asked := s.askTypes(); err == nil && asked != nil {
		return asked
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return &experiment.Unfinished{
			What: "ended before --load did" + written(append(b.outcome.Stdout, b.outcome.Stderr...)),
			Hint: longer + "; a load that runs until it is ended needs no --load-per-block",
		}
	case err != nil:
		return fmt.Errorf("--load: %w", err)
	}
	return nil
}

const longer = "give a longer --budget"

// hold saves the program, in a file and in a guardian, before it is switched.
func (s *sampler) hold(switcher *subject.Switcher) error {
	g, state := guardian.New(s.Self), switcher.State()
	state.Longest = s.longest()
	if err := g.HoldState(state); err != nil {
		return fmt.Errorf("%v: %w", s.program.Who, err)
	}
	switcher.Learned = func() error { return g.HoldState(state) }
	s.switcher, s.guardian, s.switchedAt = switcher, g, linux.Monotonic()
	return nil
}

// try asks the endpoint for the figures once.
func (s *sampler) try(ctx context.Context) error {
	scrape, err := s.endpoint.Scrape(ctx)
	if err != nil {
		return err
	}
	s.noteAnswer(scrape)
	for _, m := range s.metrics {
		if m.series == nil {
			continue
		}
		if m.quantile > 0 {
			_, err = scrape.FindHistogram(*m.series)
		} else {
			_, err = scrape.Find(*m.series)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Times around a block.
const (
	brief      = 10 * time.Millisecond // for which the other setting is given before a block
	settled    = 5 * time.Millisecond  // after which a thread that was missed by a switch shows
	mostSwitch = 50 * time.Millisecond // that a switch may take, also where the washout is shorter
	mostLate   = 0.2                   // of a block, by which its end may be late
	longEvery  = 20                    // blocks, of which one is continued as a long one, after the first verdict can have come
	firstLong  = 30
	longBlocks = 25 // blocks that a long one takes
	leastLong  = 2 * time.Second
	mostLong   = 10 * time.Second
	controller = 1 // real-time priority of the thread that keeps the time, where it may have one
)

// Sample implements experiment.Sampler.
func (s *sampler) Sample(ctx context.Context, c Cell) (result.Sample, error) {
	if s.server == nil {
		return s.sample(ctx, c)
	}
	sample, _, err := s.server.Watch(s.apart, func() (result.Sample, error) { return s.sample(ctx, c) })
	return sample, err
}

// sample measures a block in a setting. Before it, another setting is given briefly, also where the setting stays: so the program has
// been switched the same way before every block.
func (s *sampler) sample(ctx context.Context, c Cell) (sample result.Sample, err error) {
	usedBefore := s.used()
	err = placement.OnThread(func() error {
		if linux.SetSched(0, linux.Sched{Policy: linux.SchedFIFO, Priority: controller}) != nil {
			_ = linux.SetNice(0, linux.MinNice) // without either it is measured how late it was
		}
		return s.take(ctx, c, &sample)
	})
	sample.Unwaited = max(0, s.used()-usedBefore)
	switch {
	case err == nil && s.load != nil && s.load.exited() != nil:
		err = experiment.Over(s.load.exited())
	case errors.Is(err, subject.ErrEnded) && s.program.Group == "":
		err = experiment.Over(fmt.Errorf("%v: %w", s.program.Who, err))
	case err != nil && !experiment.IsOver(err) && ctx.Err() == nil:
		if errors.Is(err, subject.ErrEnded) {
			err = fmt.Errorf("%v: %w", s.program.Who, err)
		}
		s.awaitBack(ctx)
	}
	if experiment.IsOver(err) {
		s.over = err
	}
	return sample, err
}

// used returns the CPU time of the program, of the load and of gorun's other processes, which are no other programs.
func (s *sampler) used() float64 {
	program, _ := s.program.Used() // none: it has ended
	seconds := program.Since(nil)
	pids, _ := linux.Descendants()
	for _, pid := range pids {
		if t, err := linux.ProcessCPUTime(pid); err == nil {
			seconds += t.Seconds()
		}
	}
	return seconds
}

// backPatience is how long a program that was restarted, or an endpoint that does not answer, is awaited: it costs one block then.
const backPatience = 30 * time.Second

func (s *sampler) awaitBack(ctx context.Context) {
	for end := time.Now().Add(backPatience); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		_, err := s.program.Processes()
		if err == nil && s.endpoint != nil {
			err = s.try(ctx)
		}
		if err == nil {
			return
		}
	}
}

// take switches the program and measures a block.
func (s *sampler) take(ctx context.Context, c Cell, sample *result.Sample) error {
	took, threads, err := s.change(ctx, c.Setting)
	if err != nil {
		return err
	}
	figures := &Figures{Threads: threads, SwitchSeconds: took.Seconds()}
	sample.Placement = result.Placement{Requested: c.Setting.String(), Verified: true}
	if took > s.mostSwitch() {
		err := s.slowSwitch(took)
		sample.Doubts = append(sample.Doubts, result.Doubt{Grade: result.Invalid, Reason: err.Error(), Hint: hint.Of(err)})
	}
	begun := linux.Monotonic()
	if err := s.sleep(ctx, begun+min(settled, s.washout)); err != nil {
		return err
	}
	if err := s.readBack(sample); err != nil {
		return err
	}
	if err := s.followed(ctx, c.Setting); err != nil {
		return err
	}
	if err := s.sleep(ctx, max(begun+s.washout, linux.Monotonic()+s.afterFollowed)); err != nil {
		return err
	}
	b, err := s.measure(ctx, nil, s.block, figures)
	if err != nil {
		return err
	}
	if err := s.readBack(sample); err != nil {
		return err
	}
	sample.Seconds = b.seconds()
	if of := figures.RunQueue; of != nil {
		sample.Quality.Signals.RunQueueSeconds = new(*of * sample.Seconds)
	}
	if of := figures.Migrations; of != nil {
		sample.Quality.Signals.Migrations = new(uint64(math.Round(*of * sample.Seconds)))
	}
	if b.late.Seconds() > mostLate*s.block.Seconds() {
		sample.Doubt(result.Invalid, "the block ended %v late", b.late.Round(time.Millisecond))
	}
	s.judge(b, figures, sample)
	if s.blocks++; s.blocks >= firstLong && (s.blocks-firstLong)%longEvery == 0 && !s.perBlock {
		figures.Long, err = s.long(ctx, b, c.Name)
	}
	if s.load != nil {
		s.load.forget(b.from)
	}
	sample.Values = result.FiguresOf(figures)
	if err != nil || s.abortIf.column == "" {
		return err
	}
	holds, err := s.abortIf.holds(sample, s.Units())
	if err == nil && holds {
		err = fmt.Errorf("it was, with %s", c.Name)
	}
	if err != nil {
		return experiment.Over(fmt.Errorf("--abort-if %s: %w", s.abort, err))
	}
	return nil
}

// judge sets the judged figures of a block. One that is missing makes the sample invalid.
func (s *sampler) judge(b block, figures *Figures, sample *result.Sample) {
	for i, m := range s.metrics {
		figure, in, err := s.figure(m, b, figures)
		if err == nil && s.moves[i].rises && s.moves[i].only() { // nobody knows which figure it is
			err = untyped(m)
		}
		if err != nil {
			sample.Doubts = append(sample.Doubts, result.Doubt{Grade: result.Invalid, Reason: err.Error(), Hint: hint.Of(err)})
			continue
		}
		if m.quantile > 0 {
			if sample.Buckets == nil {
				sample.Buckets = map[string]result.Bucket{}
			}
			sample.Buckets[result.MetricColumnOf(i)] = in
		}
		*figures.metrics()[i] = &figure.Value
		if m.lines != nil || m.whole != nil {
			sample.Printed(result.MetricColumnOf(i), figure.Unit)
		}
	}
}

// block is what was read at the two edges of a block.
type block struct {
	from, to edge
	late     time.Duration // by which it ended after it was to
	scrapes  [2]*metrics.Scrape
	counted  counts         // after it
	outcome  launch.Outcome // of a load that ran in it
}

func (b block) seconds() float64 { return (b.to.at - b.from.at).Seconds() }

// measure waits for the length of a block and reads the figures at its edges, those of the program into figures. A block that
// continues another one begins where that ended; nil: it continues none.
func (s *sampler) measure(ctx context.Context, continues *block, length time.Duration, figures *Figures) (b block, err error) {
	var before counts
	if continues != nil {
		before, b.from, b.scrapes[0] = continues.counted, continues.to, continues.scrapes[1]
	} else {
		before = s.count()
		if b.from, b.scrapes[0], err = s.edge(ctx); err != nil {
			return b, err
		}
	}
	if s.perBlock {
		b.outcome, err = launch.Run(ctx, launch.Group{
			Self: s.Self.In(s.Environ), Members: []launch.Member{{Argv: s.loadArgv}}, Keep: keptOutput,
		})
		if err == nil && b.outcome.ExitCode != 0 {
			err = ended(b.outcome.Ending, append(b.outcome.Stdout, b.outcome.Stderr...))
		}
		if err != nil {
			return b, err
		}
	} else if err := s.sleep(ctx, b.from.at+length); err != nil {
		return b, err
	}
	if !s.perBlock {
		b.late = linux.Monotonic() - (b.from.at + length)
	}
	if b.to, b.scrapes[1], err = s.edge(ctx); err != nil {
		return b, err
	}
	b.counted = s.count()
	b.counted.since(before, figures)
	s.noteMoves(b)
	for _, m := range s.metrics { // what writes its lines in pieces has written those of the block
		if m.lines != nil && m.lines.SubexpIndex(timeGroup) >= 0 {
			if _, err := s.load.await(ctx, m.lines, b.to); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}

// keptOutput is the number of bytes kept from the end of the output of a load that runs in a block.
const keptOutput = 1 << 20

// edge returns the time of an edge. Lines that have a figure of the time since the line before make it that of the next such line.
func (s *sampler) edge(ctx context.Context) (e edge, scrape *metrics.Scrape, err error) {
	e = now()
	for _, m := range s.metrics {
		if m.lines != nil && m.lines.NumSubexp() > 0 && m.lines.SubexpIndex(timeGroup) < 0 {
			if e, err = s.load.await(ctx, m.lines, e); err != nil {
				return e, nil, err
			}
		}
	}
	if s.endpoint != nil {
		scrape, err = s.endpoint.Scrape(ctx)
	}
	return e, scrape, err
}

// first returns the first judged figure of a block, in the unit of the run, or else of the first block.
func (s *sampler) first(b block, figures *Figures) (float64, error) {
	figure, _, err := s.figure(s.metrics[0], b, figures)
	if err != nil {
		return 0, err
	}
	unit, known := s.Units()[result.MetricColumnOf(0)]
	if s.unit == nil && !known {
		s.unit = &figure.Unit
	}
	if !known {
		unit = *s.unit
	}
	figure, err = figure.In(unit)
	return figure.Value, err
}

// figure returns a judged figure of a block, and if it is a quantile the bucket in which it lies.
func (s *sampler) figure(m metric, b block, figures *Figures) (figure units.Printed, in result.Bucket, err error) {
	switch {
	case m.own != nil:
		own := m.own.of(figures)
		if own == nil {
			return figure, in, errors.New("this kernel does not count " + m.Label)
		}
		figure.Value = *own
	case m.series != nil:
		for _, scrape := range b.scrapes {
			if took := scrape.Took(); took.Seconds() > mostLate*b.seconds() {
				return figure, in, hint.With(fmt.Errorf("the endpoint took %v to answer", took.Round(time.Millisecond)), s.give(spare*blockFor(took)))
			}
		}
		if m.quantile > 0 {
			figure.Value, in, err = metrics.Quantile(b.scrapes[0], b.scrapes[1], *m.series, m.quantile)
		} else {
			figure.Value, err = metrics.Rate(b.scrapes[0], b.scrapes[1], *m.series, m.as)
		}
	case m.whole != nil:
		var found *units.Printed
		if found, err = m.whole.In(b.outcome.Ending); found != nil {
			figure = *found
		}
	default:
		figure, err = s.load.figure(m.lines, b.from, b.to)
	}
	if err == nil {
		err = checkFigure(m, figure.Value)
	}
	return figure, in, err
}

// End implements experiment.Ender: the program has again what it had.
func (s *sampler) End() (warnings []result.Warning, err error) {
	warnings = append(s.settlesSlowly(), s.untypedWarnings()...)
	notes, err := s.putBack()
	for _, note := range notes {
		warnings = append(warnings, result.Warning{Code: "program-left", Message: note})
	}
	return warnings, errors.Join(s.over, err)
}

// putBack puts back what the program had, once.
func (s *sampler) putBack() (notes []string, err error) {
	if s.load != nil {
		s.load.end()
		s.load = nil
	}
	if s.switcher != nil {
		notes, err = s.guardian.PutBack(s.switcher.State())
		s.switcher = nil
	}
	return notes, err
}

// Close implements experiment.Sampler.
func (s *sampler) Close() error {
	notes, err := s.putBack()
	for _, note := range notes {
		fmt.Fprintln(os.Stderr, "gorun: the program is put back:", hint.Line(note))
	}
	if s.endpoint != nil {
		s.endpoint.Close()
	}
	if s.procs > 0 {
		runtime.GOMAXPROCS(s.procs)
	}
	return err
}
