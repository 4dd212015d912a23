package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gorun/internal/hint"
	"gorun/internal/matrix"
	"gorun/internal/measure"
	"gorun/internal/metrics"
	"gorun/internal/render"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// session is one run of an experiment: what is opened around it, in order, and closed again whatever happens.
type session struct {
	env     env
	run     *result.Run
	live    func() result.Live
	watcher *measure.Watcher
	journal *result.Journal
	resumed bool // the run is the journal's, and has its samples
	ended   int  // samples that the journal had when it ended; -1: it did not end
	server  *metrics.Server
	pusher  *metrics.Pusher
	closers []func() error // undone last to first
	tally   tally
}

// start opens every output, so that what cannot be written is an error before anything is measured.
func (s *session) start(out outputFlags, m metricsFlags, work func() result.Live, info metrics.Info) error {
	if err := s.startMetrics(m, work, info); err != nil {
		return err
	}
	if err := s.openJournal(out.out, false); err != nil {
		return err
	}
	return s.journal.Write(result.Line{Header: s.run})
}

// startMetrics lets Prometheus see the run; work tells what its workers do.
func (s *session) startMetrics(m metricsFlags, work func() result.Live, info metrics.Info) error {
	s.tally.begin(s.env.now)
	s.live = func() result.Live { return s.tally.over(work) }
	exporter := metrics.NewExporter(s.live, info)
	var err error
	if m.listen != "" {
		s.server, err = exporter.Serve(m.listen, m.webConfig)
		switch {
		case errors.Is(err, metrics.ErrAddress):
			return usageError{fmt.Errorf("--metrics-listen: %w", err)}
		case errors.Is(err, metrics.ErrWebConfig):
			return usageError{fmt.Errorf("--metrics-web-config: %w", err)}
		case err != nil:
			return err
		}
		s.closers = append(s.closers, s.server.Close)
		fmt.Fprintf(s.env.stderr, "gorun: metrics at %s\n", s.server.URL())
	}
	if m.textfile != "" {
		textfile, err := exporter.OpenTextfile(m.textfile)
		if err != nil {
			return err
		}
		s.closers = append(s.closers, textfile.Close)
	}
	if m.push != "" {
		if s.pusher, err = exporter.NewPusher(m.push, s.run.Host.Hostname); err != nil {
			return usageError{err}
		}
		s.closers = append(s.closers, s.pusher.Close)
		if m.pushEvery > 0 {
			s.pusher.Every(m.pushEvery)
		}
	}
	return nil
}

// openJournal opens the file that --out names. With resume, the run that is recorded there goes on, if it is the one
// that was asked for; a file that is missing or empty is a run that has not begun.
func (s *session) openJournal(path string, resume bool) (err error) {
	if path == "" {
		return nil
	}
	if resume {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return s.resumeJournal(path)
		}
	}
	if s.journal, err = result.CreateJournal(path); err != nil {
		if errors.Is(err, result.ErrExists) {
			err = hint.With(err, "give --out another name, or remove the file")
		}
		return err
	}
	s.closers = append(s.closers, s.journal.Close)
	return nil
}

// resumeJournal takes the recorded run's place.
func (s *session) resumeJournal(path string) error {
	journal, recording, err := result.OpenJournal(path)
	if err != nil {
		return err
	}
	if differences := matrix.Resumable(recording.Run, s.run); len(differences) > 0 {
		words := make([]string, len(differences))
		for i, d := range differences {
			words[i] = fmt.Sprintf("%s was %s and is %s", d.What, d.A, d.B)
		}
		err := fmt.Errorf("%s holds another run: %s", path, strings.Join(words, "; "))
		return errors.Join(hint.With(err, "begin a new journal; gorun compare sets the two side by side"), journal.Close())
	}
	s.journal, s.resumed = journal, true
	s.closers = append(s.closers, journal.Close)
	s.run = recording.Run
	s.ended = -1
	if recording.Ended {
		s.ended = len(s.run.Samples)
	}
	return nil
}

// measure takes the samples, with a progress line while it lasts.
func (s *session) measure(ctx context.Context, f samplingFlags, duration time.Duration, quiet bool, p term.Progress,
	body measure.Body,
) error {
	p.Live = s.live
	if !quiet {
		defer p.Start(s.env.stderr, s.env.progress)()
	}
	loop := measure.Loop{
		Samples: f.samples, Warmup: f.warmup, Budget: f.budget, Duration: duration,
		Now: s.env.now,
		Watch: func() func(*result.Sample) {
			finish := s.watcher.Watch()
			return func(sample *result.Sample) {
				finish(sample)
				s.tally.add(*sample)
			}
		},
		Keep: func(sample result.Sample) error { return s.journal.Write(result.Line{Sample: &sample}) },
	}
	course := result.Course{Budget: f.budget.Seconds(), Duration: duration.Seconds()}
	if duration == 0 {
		course.Samples = f.samples + f.warmup
	}
	s.tally.plan(course, 0)
	out, err := loop.Run(ctx, body)
	s.run.Samples = append(s.run.Samples, out.Samples...)
	s.run.Warmups = out.Warmups
	s.run.Warnings = append(s.run.Warnings, out.Warnings...)
	s.run.Partial = out.Partial
	return err
}

// takeTurns takes the samples that the board asks for, and judges them. How the cells stand is on the terminal, unless it
// is to be quiet, and in the metrics.
func (s *session) takeTurns(ctx context.Context, board *matrix.Board, quiet bool,
	take func(context.Context, result.Slot) (result.Sample, error),
) (err error) {
	draw := s.tally.stand
	if !quiet && s.env.progress.Terminal {
		scoreboard := term.Scoreboard{W: s.env.stderr, Opts: s.env.progress}
		defer scoreboard.Erase()
		draw = func(standing result.Standing) {
			s.tally.stand(standing)
			scoreboard.Draw(standing)
		}
	}
	runner := matrix.Runner{
		Board: board, Draw: draw, Now: s.env.now, Take: take,
		Keep: func(sample result.Sample) error {
			s.tally.add(sample)
			return s.journal.Write(result.Line{Sample: &sample})
		},
	}
	s.run.Partial, err = runner.Run(ctx)
	s.tally.stand(board.Standing())
	board.Judge()
	return err
}

// finish shows the result, stores the footer, and lets the metrics linger.
func (s *session) finish(ctx context.Context, out outputFlags, m metricsFlags, strict bool) error {
	s.tally.end()
	if s.pusher != nil {
		if err := s.pusher.Push(context.WithoutCancel(ctx)); err != nil {
			s.run.Warnings = append(s.run.Warnings, result.WarningOf("metrics-push", "the Pushgateway has no metrics", err))
		}
	}
	if err := s.writeFooter(); err != nil {
		return err
	}
	if err := s.show(out); err != nil {
		return err
	}
	if s.run.Partial {
		return errInterrupted
	}
	if s.server != nil && m.linger > 0 {
		s.server.Linger(ctx, m.linger)
	}
	doubtful := func(sample result.Sample) bool {
		return !sample.Partial && sample.Quality.Verdict != result.Valid // --duration cuts the last one
	}
	if strict && slices.ContainsFunc(s.run.Samples, doubtful) {
		return errDoubtful
	}
	return nil
}

// show writes the result, where it is to be seen.
func (s *session) show(out outputFlags) error {
	if out.format == "" {
		return nil
	}
	format, err := render.Lookup(out.format)
	if err != nil {
		return err
	}
	return format.Write(s.env.stdout, s.run, s.env.show)
}

// writeFooter stores what was derived, unless the journal has it from before.
func (s *session) writeFooter() error {
	if s.resumed && s.ended == len(s.run.Samples) {
		return nil
	}
	return s.journal.Write(result.Line{Footer: &result.Footer{
		Samples: len(s.run.Samples), Summary: s.run.Summary, Cells: s.run.Cells, Findings: s.run.Findings,
		Warnings: s.run.Warnings, Partial: s.run.Partial,
	}})
}

// close undoes what was opened. An error of the run goes first; what could not be undone is never silent.
func (s *session) close(err *error) {
	for _, undo := range slices.Backward(s.closers) {
		*err = errors.Join(*err, undo())
	}
	s.closers = nil
}
