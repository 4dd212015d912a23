package run

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"gorun/internal/hint"
	"gorun/internal/journal"
	"gorun/internal/matrix"
	"gorun/internal/output"
	"gorun/internal/render"
	"gorun/internal/result"
	"gorun/internal/shell"
)

// replaceJournal renames the open journal of an earlier run, and begins a new one in its place. Until the new one has a
// header, the renaming can be undone.
func (s *session) replaceJournal(
	ctx context.Context, n output.Named, earlier *result.Journal, run *result.Run, differs string,
) error {
	if earlier.Lost() != nil { // since it was opened
		return hint.With(fmt.Errorf("another gorun has just renamed %s", n.Path), "wait until that one has ended")
	}
	to, undo, err := n.Backup(versionSuffix(run.Tool))
	if err != nil {
		return err
	}
	if differs == "" {
		differs = "as requested by --backup"
	}
	fmt.Fprintf(s.env.Stderr, "gorun: %s is now %s: %s\n", n.Path, to, differs)
	if err := s.createJournal(ctx, n); err != nil {
		return err
	}
	s.run.Earlier = filepath.Base(to)
	s.onClose(func() error {
		if s.begun || s.journal.Lost() != nil {
			return nil
		}
		fmt.Fprintf(s.env.Stderr, "gorun: %s has its old name again: no run took its place\n", n.Path)
		return undo()
	})
	return nil
}

// shortCommit is the number of digits of a commit in a file name, as in Go's pseudo-versions.
const shortCommit = 12

// versionSuffix returns the commit of a gorun, or its version if the commit is not known, for use in a file name.
func versionSuffix(t result.Tool) string {
	commit, change, changed := strings.Cut(t.Commit, "+")
	word := cmp.Or(commit[:min(shortCommit, len(commit))], t.Version, "earlier")
	if changed {
		word += "+" + change
	}
	const most = 40
	word = strings.Map(func(r rune) rune {
		switch {
		case '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', strings.ContainsRune(".+-", r):
			return r
		}
		return '_'
	}, word)
	return word[:min(most, len(word))]
}

// compareEarlier compares the run with the one that had its journal's name before, if a person reads the result;
// otherwise it prints the command that does.
func (s *session) compareEarlier(o *Options) error {
	if s.run.Earlier == "" || s.run.Partial {
		return nil
	}
	path, err := filepath.EvalSymlinks(o.out)
	if err != nil {
		return nil // the journal is missing, which was already reported
	}
	path = filepath.Join(filepath.Dir(path), filepath.Base(s.run.Earlier))
	if o.format != render.ComparisonFormats[0] {
		fmt.Fprintf(s.env.Stderr, "gorun: compare the two runs by: %s\n",
			shell.Join(append(s.env.Self.Argv[:1:1], "compare", path, o.out, "--across", rebuilt)))
		return nil
	}
	fmt.Fprintln(s.env.Stdout)
	comparison, err := s.withEarlier(path, o.out)
	if err != nil {
		_, err = fmt.Fprintf(s.env.Stdout, "The run in %s is not compared: %v\n", path, err)
		return err
	}
	return render.Comparison(s.env.Stdout, comparison, o.format, s.env.Show)
}

// rebuilt names the intended change between the two runs: another binary, perhaps built by another Go.
const rebuilt = "go"

func (s *session) withEarlier(path, out string) (*result.Comparison, error) {
	earlier, err := journal.Read(path, s.env.Views.Known)
	if err = cmp.Or(err, earlier.Unjudged); err != nil {
		return nil, err
	}
	comparison, err := matrix.Compare(matrix.Side{File: path, Run: earlier.Run, Judged: true},
		matrix.Side{File: out, Run: s.run, Judged: true}, s.env.Views.Columns(s.run.Experiment), []string{rebuilt}, true)
	if err == nil {
		comparison.Tool = s.env.Tool
	}
	return comparison, err
}
