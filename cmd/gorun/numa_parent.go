package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"gorun/internal/guardian"
	"gorun/internal/linux"
	"gorun/internal/load"
	"gorun/internal/matrix"
	"gorun/internal/measure"
	"gorun/internal/numa"
	"gorun/internal/result"
)

// rowsOfCells are the rows that are measured, in the order of the cells.
func rowsOfCells(run *result.Run) []result.NumaRow {
	return slices.DeleteFunc(slices.Clone(run.NumaRows), func(row result.NumaRow) bool { return row.Unsupported != "" })
}

// numaParent takes the samples, each by a process of its own, beside the load.
type numaParent struct {
	o         *numaOptions
	m         machine
	s         *session
	rows      []result.NumaRow // of the cells
	board     *matrix.Board    // of the turns that the rows take; nil: they take none
	balancing *guardian.Sysctl
	fleet     *load.Fleet
}

// arrange decides on the order of the samples.
func (p *numaParent) arrange() (err error) {
	m := p.s.run.Matrix
	switch {
	case m == nil || p.o.loadOnly:
	case p.o.blocks:
		m.Order = result.Order{
			Design:     result.Rows,
			Method:     "row by row: what drifts meanwhile falls on the rows, so none is judged",
			BlockCells: 1,
		}
	default:
		if p.board, err = matrix.NewBoard(p.s.run); err == nil {
			m.Order = p.board.Order()
		}
	}
	return err
}

// hold takes NUMA balancing, where a row is to change it.
func (p *numaParent) hold() (err error) {
	if !slices.ContainsFunc(p.rows, func(row result.NumaRow) bool { return row.NUMABalancing != numa.Keep }) ||
		!p.o.changed("numa-balancing") {
		return nil
	}
	p.balancing, err = guardian.New(p.o.env.self.In(p.o.env.environ())).Hold(linux.NUMABalancingSysctl)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // such a kernel has it off, and rows that have it on are not measured
	}
	if err == nil {
		p.s.closers = append(p.s.closers, p.balancing.Restore)
	}
	return err
}

// startLoad starts a burner on each CPU.
func (p *numaParent) startLoad(ctx context.Context) (err error) {
	if p.o.load == 0 {
		return nil
	}
	p.fleet, err = load.Start(context.WithoutCancel(ctx), p.o.env.self.In(p.o.env.environ()),
		load.PerCPU(p.m.cpus, p.o.load, p.o.nice, p.o.sampling.seed))
	if err != nil {
		return err
	}
	p.s.closers = append(p.s.closers, func() error {
		_, err := p.fleet.Stop()
		return err
	})
	return nil
}

// lostRow are the figures of a sample that could not be taken.
type lostRow struct {
	Row int `json:"row"`
}

// take measures a row once.
func (p *numaParent) take(ctx context.Context, cell int) (result.Sample, error) {
	row := p.rows[cell]
	if p.balancing != nil && row.NUMABalancing != numa.Keep {
		if err := p.balancing.Set(row.NUMABalancing); err != nil {
			return result.Sample{}, err
		}
	}
	request := numa.Request{
		Row: row, CPUs: p.m.cpus.String(), Accesses: p.o.accesses, Repetitions: p.o.repetitions, Seed: p.o.sampling.seed,
		Settle: p.o.settle.Seconds(), Timeline: p.o.output.out != "",
	}
	if p.o.changed("nice") {
		request.Nice = &p.o.nice
	}
	finish := p.s.watcher.Watch()
	before, err := p.readLoad()
	if err != nil {
		return result.Sample{}, err
	}
	var answer probed
	self := p.o.env.self.In(measure.Environment(p.o.env.environ()))
	used, err := self.Ask(ctx, []string{probeCommand}, request, &answer)
	if err != nil {
		quality := result.Quality{Verdict: result.Invalid, Reasons: []string{err.Error()}}
		return result.Sample{Values: result.FiguresOf(&lostRow{row.Row}), Quality: quality}, nil
	}
	sample := answer.Sample
	sample.Doubts = answer.Doubts
	p.use(&sample, used)
	if err := p.putLoad(&sample, before); err != nil {
		return result.Sample{}, err
	}
	finish(&sample)
	return sample, nil
}

// use puts what the probe's process used on its sample.
func (p *numaParent) use(s *result.Sample, used *syscall.Rusage) {
	if used == nil {
		return
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e9 }
	s.UserSeconds, s.SystemSeconds = seconds(used.Utime), seconds(used.Stime)
	count := func(n int64) *uint64 { c := uint64(n); return &c }
	sig := &s.Quality.Signals
	sig.VoluntarySwitches, sig.InvoluntarySwitches = count(int64(used.Nvcsw)), count(int64(used.Nivcsw))
	sig.MinorFaults, sig.MajorFaults = count(int64(used.Minflt)), count(int64(used.Majflt))
}

func (p *numaParent) readLoad() (load.Reading, error) {
	if p.fleet == nil {
		return load.Reading{}, nil
	}
	return p.fleet.Read()
}

// putLoad puts on a sample what the load was meanwhile.
func (p *numaParent) putLoad(s *result.Sample, before load.Reading) error {
	if p.fleet == nil {
		return nil
	}
	after, err := p.fleet.Read()
	if err != nil {
		return err
	}
	loads := p.fleet.Achieved(before, after)
	shares := map[int]float64{} // part of the time that the probe was on each CPU
	v, ok := result.Typed[result.Numa](s)
	if ok {
		for text, part := range v.CPUShare {
			cpu, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			shares[cpu] = part * min(1, s.CPUSeconds()/loads[0].Seconds)
		}
	}
	told := result.NumaLoad{Requested: p.o.load}
	for _, l := range loads {
		s.LoadSeconds += l.Percent / 100 * l.Seconds
		told.CPUs = append(told.CPUs, result.NumaLoadCPU{
			CPU: l.CPU, Achieved: l.Percent, Expected: load.Expected(l.Asked, shares[l.CPU]),
		})
	}
	for _, d := range load.Deviations(loads, shares) {
		s.Doubts = append(s.Doubts, result.Doubt{Verdict: result.Suspect, Reason: d.String()})
	}
	if ok {
		loaded := *v
		loaded.Load = &told
		s.Values = result.FiguresOf(&loaded)
	} else {
		s.Values = result.FiguresOf(&result.Load{Load: &told})
	}
	return nil
}

// course is what is planned.
func (p *numaParent) course() result.Course {
	switch f := p.o.sampling; {
	case p.o.loadOnly:
		return result.Course{Duration: p.o.duration.Seconds()}
	case p.board != nil:
		return result.Course{Samples: p.o.rounds() * p.board.Round(), Budget: f.budget.Seconds()}
	default:
		return result.Course{Samples: f.samples * len(p.s.run.Cells), Budget: f.budget.Seconds()}
	}
}

// sample takes all samples: in turns, judged as a matrix is, or row by row.
func (p *numaParent) sample(ctx context.Context) error {
	for range p.o.sampling.warmup {
		if _, err := p.take(ctx, 0); err != nil || ctx.Err() != nil {
			p.s.run.Partial = true
			return err
		}
	}
	if p.board == nil {
		return p.inBlocks(ctx, func(sample result.Sample) error {
			p.s.tally.add(sample)
			return p.s.journal.Write(result.Line{Sample: &sample})
		})
	}
	return p.s.takeTurns(ctx, p.board, p.o.output.quiet,
		func(ctx context.Context, slot result.Slot) (result.Sample, error) { return p.take(ctx, slot.Cell) })
}

// inBlocks takes all samples of a row before those of the next. What drifts meanwhile falls on the rows, so none is judged.
func (p *numaParent) inBlocks(ctx context.Context, keep func(result.Sample) error) error {
	run := p.s.run
	begun := p.o.env.now()
	for cell := range run.Cells {
		var own []result.Sample
		for round := range p.o.sampling.samples {
			elapsed := p.o.env.now().Sub(begun)
			if p.o.sampling.budget > 0 && round > 0 && elapsed > p.o.sampling.budget*time.Duration(cell+1)/time.Duration(len(run.Cells)) {
				break // each row has its part of the budget
			}
			sample, err := p.take(ctx, cell)
			if ctx.Err() != nil {
				run.Partial = true
				return nil
			}
			if err != nil {
				return err
			}
			sample.Index = len(run.Samples)
			sample.Slot = &result.Slot{Cell: cell, Round: round, Elapsed: p.o.env.now().Sub(begun).Seconds()}
			if err := keep(sample); err != nil {
				return err
			}
			run.Samples, own = append(run.Samples, sample), append(own, sample)
		}
		run.Cells[cell].Summary = result.Summarise(own)
	}
	return nil
}

// watchLoad has the load run alone, a sample a second.
func (p *numaParent) watchLoad(ctx context.Context) error {
	if p.o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.o.duration)
		defer cancel()
	}
	p.s.run.Experiment, p.s.run.Matrix, p.s.run.Cells, p.s.run.NumaRows = "load", nil, nil, nil
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ended := false; !ended; {
		finish := p.s.watcher.Watch()
		before, err := p.fleet.Read()
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ended = true
		}
		sample := result.Sample{Index: len(p.s.run.Samples), Placement: result.Placement{
			Requested: fmt.Sprintf("a burner pinned to each of CPUs %s", p.m.cpus), Verified: true, Checked: p.m.cpus.Len(),
		}}
		if err := p.putLoad(&sample, before); err != nil {
			return err
		}
		finish(&sample)
		sample.Seconds = sample.Quality.Signals.WatchedSeconds
		if ended && sample.Seconds < 0.5 && len(p.s.run.Samples) > 0 {
			break // too short to tell anything
		}
		p.s.tally.add(sample)
		if err := p.s.journal.Write(result.Line{Sample: &sample}); err != nil {
			return err
		}
		p.s.run.Samples = append(p.s.run.Samples, sample)
	}
	return nil
}

// explain adds what the rows' samples tell beyond their verdicts.
func (p *numaParent) explain() {
	run := p.s.run
	if p.board != nil && !run.Partial && !p.board.Done() {
		message := fmt.Sprintf("the budget ended after %d of %d samples of each row", p.board.Rounds(), p.o.rounds())
		if p.o.rounds() == 0 {
			message = fmt.Sprintf("the budget ended after %d samples of each row, before all could be told", p.board.Rounds())
		}
		run.Warnings = append(run.Warnings, result.Warning{
			Code:    "budget",
			Message: message,
			Hint:    "give --samples for a fixed number, or a longer --budget",
		})
	}
	for _, sample := range run.Samples { // all are seen alike
		if v, ok := result.Typed[result.Numa](&sample); ok && v.Migrations != nil && v.Migrations.Worse != nil {
			run.Warnings = append(run.Warnings, *v.Migrations.Worse)
			break
		}
	}
	for cell := range run.Cells {
		var own []result.Sample
		for _, sample := range run.Samples {
			if sample.Cell == cell && !sample.Control {
				own = append(own, sample)
			}
		}
		if finding, ok := numa.CostFinding(run.Cells[cell].Name, own); ok {
			run.Findings = append(run.Findings, finding)
		}
	}
}
