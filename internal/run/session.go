package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/experiment"
	"gorun/internal/files/output"
	"gorun/internal/judge/journal"
	"gorun/internal/judge/matrix"
	"gorun/internal/publish/document"
	"gorun/internal/publish/metrics"
	"gorun/internal/record/result"
	"gorun/internal/show/apply"
)

// session holds what is opened before the samples and always closed after them.
type session struct {
	env      Env
	files    output.Opener
	run      *result.Run
	live     func() result.State
	journal  *journal.Writer
	resumed  *journal.Recording // the run is the journal's, and has its samples; nil: it begins
	changed  []result.File      // while the run was stopped, for the next sample
	begun    bool               // the journal has a header
	unkept   error              // of the journal, which ends the run
	server   *metrics.Server
	textfile func() error   // writes the last metrics; nil: there is no textfile
	exports  []func() error // write the result into the files that flags name
	closers  []func() error
	state    liveState
}

// close closes what was opened, in reverse order. It always reports a failure.
func (s *session) close(err *error) {
	var failed error
	for _, undo := range slices.Backward(s.closers) {
		failed = errors.Join(failed, undo())
	}
	s.closers = nil
	*err = worseOutcome(*err, failed)
}

// worseOutcome adds an error to the outcome of a run. It replaces an outcome that is not a failure, such as an interrupt.
func worseOutcome(ended, failed error) error {
	switch {
	case failed == nil:
		return ended
	case errors.Is(ended, ErrInterrupted), errors.Is(ended, ErrDoubtful), errors.Is(ended, output.ErrNoReader),
		errors.As(ended, new(experiment.Status)):
		return failed
	}
	return errors.Join(ended, failed)
}

func (s *session) onClose(undo func() error) { s.closers = append(s.closers, undo) }

// openMetrics exports the run to Prometheus; work returns the live figures of its workers.
func (s *session) openMetrics(ctx context.Context, m metricsFlags, work func() result.State, info metrics.Info) error {
	s.live = func() result.State { return s.state.combined(work) }
	exporter := metrics.NewExporter(s.live, info)
	var err error
	if m.listen != "" {
		if s.server, err = exporter.Serve(m.listen); err != nil {
			return fmt.Errorf("--metrics-listen: %w", err)
		}
		s.onClose(s.server.Close)
		fmt.Fprintf(s.env.Stderr, "gorun: metrics at %s\n", s.server.URL())
		if !s.server.Local() {
			s.env.warn(result.Warning{Message: "other machines can read the metrics, without TLS or a password"})
		}
	}
	if m.textfile != "" {
		file, err := s.files.Open(ctx, m.textfileOutput())
		if err != nil {
			return err
		}
		s.textfile = exporter.KeepTextfile(file)
		s.onClose(func() error {
			_ = s.textfile() // finish warns; the error is what ended the run
			return nil
		})
	}
	return nil
}

// openExport checks that a file can be written, before anything is measured, and has the result written into it at the end.
func (s *session) openExport(
	ctx context.Context, n output.Named, write func(w io.Writer, run *result.Run) error,
) error {
	if n.Path == "" {
		return nil
	}
	file, err := s.files.Open(ctx, n)
	if err != nil {
		return err
	}
	s.onClose(file.Close)
	s.exports = append(s.exports, func() error { return file.Write(func(w io.Writer) error { return write(w, s.run) }) })
	return nil
}

// openJournal opens the file that --out names. With --resume, the recorded run continues if it is the requested one. A missing or
// empty file is a run that has not begun.
func (s *session) openJournal(ctx context.Context, o *Options) error {
	n := o.journal()
	if n.Path == "" {
		return nil
	}
	if o.resume && !s.files.IsStdout(n) {
		if info, err := os.Stat(n.Path); err == nil && info.Size() > 0 {
			return s.continueJournal(o)
		}
	}
	err := s.createJournal(ctx, n)
	if o.resumes && errors.Is(err, journal.ErrExists) {
		err = hint.With(err, "add --resume to continue it, or give --out another name")
	}
	return err
}

// createJournal begins a new journal.
func (s *session) createJournal(ctx context.Context, n output.Named) error {
	file, err := s.files.Append(ctx, n)
	if err != nil {
		return err
	}
	if s.journal, err = journal.Create(file); err != nil {
		if errors.Is(err, journal.ErrExists) {
			err = hint.With(journal.ErrExists, "give --out another name, or remove the file")
		}
		return hint.Flag("out", n.Path, err)
	}
	s.onClose(s.journal.Close)
	return nil
}

// continueJournal continues the run in the journal, if it is the requested one.
func (s *session) continueJournal(o *Options) error {
	opened, err := o.journal().Extend()
	if err != nil {
		return hint.Flag("out", o.out, err)
	}
	file, recording, err := journal.Open(opened, s.env.Views.Known)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	var differs []string
	for _, d := range matrix.Resumable(recording.Run, s.run) {
		differs = append(differs, fmt.Sprintf("the journal has %s; this command has %s", strings.TrimSpace(d.What+" "+d.A), d.B))
	}
	if len(differs) > 0 {
		err = fmt.Errorf("--out: %s holds another run: %s", o.out, strings.Join(differs, "; "))
		return errors.Join(hint.With(err, "give --out another name"), file.Close())
	}
	s.journal, s.resumed, s.begun = file, recording, true
	s.onClose(s.journal.Close)
	end := matrix.Resumed(recording.Run.Matrix, s.run.Matrix.Ends())
	s.run = recording.Run
	s.run.Findings = []result.Finding{} // it is explained again
	if s.run.Matrix.Ends() == end || recording.Judging == nil {
		return nil
	}
	if err := recording.Judging.GoOn(end); err != nil {
		return err
	}
	return o.journal().Failed(s.journal.Write(result.Line{End: &end}))
}

// keep stores a sample. It reports whether the run can continue: a sample that cannot be stored ends it.
func (s *session) keep(sample result.Sample) bool {
	sample.Files, s.changed = s.changed, nil
	s.run.Take(sample)
	s.state.add(sample)
	s.unkept = s.journal.Write(result.Line{Sample: &sample})
	return s.unkept == nil
}

// finish stores the footer, shows the result, draws it, and keeps serving the metrics if requested. If one output
// fails, the others are still written.
func (s *session) finish(ctx context.Context, o *Options) error {
	s.state.end()
	if s.textfile != nil {
		if err := s.textfile(); err != nil {
			s.run.Warnings = append(s.run.Warnings,
				result.WarningOf("metrics-textfile", "the textfile does not have the last metrics", err))
		}
	}
	unkept := s.endJournal(o)
	s.env.Views.Derive(s.run)
	if o.why != "" {
		matrix.ExplainAll(s.run)
	}
	if s.run.Gate = o.failOn.Gate(s.run); s.run.Gate != nil {
		fmt.Fprintln(s.env.Stderr, hint.Line(s.run.Gate.String()))
	}
	err := s.showResult(o)
	if err != nil && unkept == nil && s.journal.Regular() {
		err = hint.With(err, fmt.Sprintf("the result is in the journal: gorun report %s -o report.html", shell.Join([]string{o.out})))
	}
	err = worseOutcome(err, unkept)
	for _, export := range s.exports {
		err = worseOutcome(err, export())
	}
	if err != nil {
		return err
	}
	if s.server != nil && o.linger > 0 && !s.run.Partial {
		s.server.Linger(ctx, o.linger)
	}
	return nil
}

// showResult shows the result, or with --apply only how to apply what it recommends.
func (s *session) showResult(o *Options) error {
	if o.apply == "" {
		return s.show(o.format)
	}
	use, words := apply.Recommended(s.run)
	if use == nil {
		fmt.Fprintf(s.env.Stderr, "gorun: %s\n", hint.Printable(words))
		return nil
	}
	return apply.Print(s.env.Stdout, s.env.Stderr, o.apply, words, use.Lines, s.env.Views.Of(s.run.Experiment).Placed(s.run))
}

// show writes the result in the format with this name; "": not at all.
func (s *session) show(name string) error {
	if name == "" {
		return nil
	}
	return document.Show(s.env.Stdout, s.env.Views.Run(s.run), name, s.env.Show)
}

// endJournal writes the footer, if every sample before it could be stored.
func (s *session) endJournal(o *Options) error {
	err := s.unkept
	if err == nil {
		err = s.writeFooter()
	}
	if err == nil {
		return s.journal.Lost()
	}
	err = o.journal().Failed(err)
	if o.resumes && s.run.Matrix != nil && s.journal.Regular() {
		return hint.With(err, "once it can be written, the same command with --resume continues after its last sample")
	}
	return hint.With(err, "the journal is incomplete; all samples are in the result that was shown")
}

// writeFooter stores the derived results, unless the journal already has them.
func (s *session) writeFooter() error {
	if s.resumed != nil && s.resumed.Footed == s.run.Taken() {
		return nil // a torn line after it stays, and is left out
	}
	return s.journal.Write(result.Line{Footer: &result.Footer{
		Samples: s.run.Taken(), Summary: s.run.Summary, Cells: s.run.Cells, Findings: s.run.Findings,
		Warnings: s.run.Warnings, Partial: s.run.Partial, Overhead: s.run.Overhead,
	}})
}

// newRun begins a result. Its command includes the seed, so that it repeats the order of the samples.
func newRun(e Env, experiment string, o *Options) *result.Run {
	command := CommandLine(e.Args)
	if o.drawn {
		command = withFlags(command, "--seed="+strconv.FormatUint(o.seed, 10))
	}
	return &result.Run{
		Schema: result.Schema, Tool: e.Tool, Experiment: experiment, Seed: o.seed, Command: command,
		Started: e.Now().UTC().Format(time.RFC3339Nano), Asked: o.asked,
		Findings: []result.Finding{}, Warnings: []result.Warning{},
	}
}
