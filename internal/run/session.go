package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gorun/internal/hint"
	"gorun/internal/matrix"
	"gorun/internal/metrics"
	"gorun/internal/result"
)

// session is what is opened around the samples, and closed again whatever happens.
type session struct {
	env      Env
	run      *result.Run
	live     func() result.Live
	journal  *result.Journal
	resumed  bool // the run is the journal's, and has its samples
	ended    int  // samples that the journal had when it ended; -1: it did not end
	server   *metrics.Server
	pusher   *metrics.Pusher
	textfile *metrics.Textfile
	draw     func() error // the picture
	closers  []func() error
	tally    tally
}

// close undoes what was opened, last to first. An error of the run goes first; what could not be undone is never silent.
func (s *session) close(err *error) {
	for _, undo := range slices.Backward(s.closers) {
		*err = errors.Join(*err, undo())
	}
	s.closers = nil
}

func (s *session) onClose(undo func() error) { s.closers = append(s.closers, undo) }

// openMetrics lets Prometheus see the run; work returns what its workers do.
func (s *session) openMetrics(m metricsFlags, work func() result.Live, info metrics.Info) error {
	s.live = func() result.Live { return s.tally.over(work) }
	exporter := metrics.NewExporter(s.live, info)
	var err error
	if m.listen != "" {
		s.server, err = exporter.Serve(m.listen, m.webConfig)
		switch {
		case errors.Is(err, metrics.ErrAddress):
			return hint.Flag("metrics-listen", m.listen, err)
		case errors.Is(err, metrics.ErrWebConfig):
			return hint.Flag("metrics-web-config", m.webConfig, err)
		case err != nil:
			return fmt.Errorf("--metrics-listen: %w", err)
		}
		s.onClose(s.server.Close)
		fmt.Fprintf(s.env.Stderr, "gorun: metrics at %s\n", s.server.URL())
	}
	if m.textfile != "" {
		if s.textfile, err = exporter.OpenTextfile(m.textfile); err != nil {
			return hint.Flag("metrics-textfile", m.textfile, err)
		}
		s.onClose(func() error {
			_ = s.textfile.Close() // finish warns; what else ended the run is the error
			return nil
		})
	}
	if m.push != "" {
		if s.pusher, err = exporter.NewPusher(m.push, s.run.Host.Hostname); err != nil {
			// The value is not repeated: what is no URL may hold a password all the same.
			return hint.Usage(fmt.Errorf("--metrics-push: %w", err))
		}
		s.onClose(s.pusher.Close)
		if m.pushEvery > 0 {
			s.pusher.Every(m.pushEvery)
		}
	}
	return nil
}

// served returns a function that returns the CPU time, in seconds, that clients of the metrics have cost since.
func (s *session) served() func() float64 {
	if s.server == nil {
		return func() float64 { return 0 }
	}
	before := s.server.CPUSeconds()
	return func() float64 { return s.server.CPUSeconds() - before }
}

// openPicture makes sure that a drawing can be written, before anything is measured. The file takes its name only when
// it is whole.
func (s *session) openPicture(path string, write func(w io.Writer, run *result.Run) error) error {
	s.draw = func() error { return nil }
	if path == "" {
		return nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".gorun-*.svg")
	if err != nil {
		return hint.Flag("svg", path, err)
	}
	s.onClose(func() error {
		if err := os.Remove(file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	s.draw = func() error {
		err := errors.Join(write(file, s.run), file.Chmod(0o644), file.Close())
		if err != nil {
			return err
		}
		return os.Rename(file.Name(), path)
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
			err = hint.With(result.ErrExists, "give --out another name, or remove the file")
		}
		return hint.Flag("out", path, err)
	}
	s.onClose(s.journal.Close)
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
	s.onClose(s.journal.Close)
	s.run = recording.Run
	s.ended = -1
	if recording.Ended {
		s.ended = len(s.run.Samples)
	}
	return nil
}

// keep stores a sample.
func (s *session) keep(sample result.Sample) error {
	s.run.Samples = append(s.run.Samples, sample)
	s.tally.add(sample)
	return s.journal.Write(result.Line{Sample: &sample})
}

// finish shows the result, stores the footer, and lets the metrics linger.
func (s *session) finish(ctx context.Context, o *Options) error {
	s.tally.end()
	if s.textfile != nil {
		if err := s.textfile.Close(); err != nil {
			s.run.Warnings = append(s.run.Warnings,
				result.WarningOf("metrics-textfile", "the textfile does not have the last metrics", err))
		}
	}
	if s.pusher != nil {
		if err := s.pusher.Push(context.WithoutCancel(ctx)); err != nil {
			s.run.Warnings = append(s.run.Warnings, result.WarningOf("metrics-push", "the Pushgateway has no metrics", err))
		}
	}
	if err := s.writeFooter(); err != nil {
		return err
	}
	if err := s.show(o.format); err != nil {
		return err
	}
	if s.server != nil && o.linger > 0 && !s.run.Partial {
		s.server.Linger(ctx, o.linger)
	}
	return nil
}

// show writes the result; in no format, nothing.
func (s *session) show(name string) error {
	if name == "" {
		return nil
	}
	format, err := s.env.Views.Lookup(name)
	if err != nil {
		return err
	}
	return format.Write(s.env.Stdout, s.run, s.env.Show)
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

// newRun begins a result.
func newRun(e Env, experiment string, seed uint64) *result.Run {
	return &result.Run{
		Schema: result.Schema, Tool: e.Tool, Experiment: experiment, Seed: seed, Command: CommandLine(e.Args),
		Started: e.Now().UTC().Format(time.RFC3339Nano),
		Samples: []result.Sample{}, Findings: []result.Finding{}, Warnings: []result.Warning{},
	}
}
