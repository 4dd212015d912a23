// Package bisect finds the revisions of `gorun bisect`, and builds them in worktrees of their own.
package bisect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/guard/checkout"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

// Source finds the revisions between a good and a bad one.
type Source struct {
	good, bad, build string
	bench, pkg       string
	allParents       bool

	folder *checkout.Folder
	built  map[string]built // by commit
}

// built is the folder in which the command of a revision runs, or why there is none.
type built struct {
	dir string
	err error
}

// Register implements experiment.Source.
func (s *Source) Register(set *experiment.FlagSet) {
	set.StringVar(&s.good, "good", "", "the `revision` that is not worse")
	set.StringVar(&s.bad, "bad", "HEAD", "the `revision` that is worse")
	set.StringVar(&s.build, "build", "", "build each revision that is tried by this `command`, by sh -c in its own worktree")
	set.StringVar(&s.bench, "bench", "", "compare this Go benchmark of PACKAGE by ns/op: a `regex`, as -bench of go test; of several,\nthe last")
	set.BoolVar(&s.allParents, "all-parents", false, "look into merged branches too, not only along the first parents")
	set.WordsOrFiles("good", checkout.Revisions)
	set.WordsOrFiles("bad", checkout.Revisions)
	set.Group("Revisions")
}

// Open implements experiment.Source.
func (s *Source) Open(ctx context.Context, o experiment.Opening) (f experiment.Found, err error) {
	s.folder, s.built = checkout.In(o.Self, o.Environ), map[string]built{}
	switch f.Args = o.Args; {
	case s.good == "":
		return f, hint.Usage(hint.With(errors.New("--good was not given"), "name a revision that is not worse: --good v1.2"))
	case s.bench != "" && (s.build != "" || len(o.Values("metric")) > 0):
		return f, hint.Usagef("--bench builds a test binary and compares ns/op: it excludes --build and --metric")
	case s.bench != "" && len(o.Args) > 1:
		return f, hint.Usage(hint.Flag("bench", s.bench, hint.With(errors.New("one package is compared"), "give flags before the package")))
	case s.bench != "":
		s.pkg, f.Args = append(o.Args, ".")[0], benchmark(s.bench)
		f.Has = []string{"metric", "better"}
	case len(o.Args) == 0:
		return f, hint.Usage(hint.With(errors.New("no command was given"), "gorun bisect --good REVISION -- COMMAND"))
	}
	good, err := s.commit(ctx, "good", s.good)
	if err != nil {
		return f, err
	}
	bad, err := s.commit(ctx, "bad", s.bad)
	if err != nil {
		return f, err
	}
	if good == bad {
		return f, hint.Usagef("--good %s and --bad %s are the same commit", s.good, s.bad)
	}
	revisions, err := s.history(ctx, good, bad)
	if err != nil {
		return f, err
	}
	at := map[string]int{}
	for i, r := range revisions {
		at[r.commit] = i
		parents := []int{}
		for _, parent := range r.parents {
			parents = append(parents, at[parent])
		}
		f.History = append(f.History, parents)
		axes := []matrix.Axis{{Flag: revisionFlag, Values: []string{r.commit}}}
		if s.bench != "" {
			axes = append(axes, matrix.Axis{Flag: "metric", Values: []string{nsPerOp}}, matrix.Axis{Flag: "better", Values: []string{"lower"}})
		}
		f.Groups = append(f.Groups, matrix.Group{Name: short(r.commit), Comment: r.subject, Axes: axes})
	}
	f.Baseline = matrix.Conditions{revisionFlag: good}
	f.FirstColumns = []result.FlagColumn{{Title: revisionFlag, Flag: revisionFlag, Style: result.FlagStyles[0]}}
	if o.Dry {
		return f, nil
	}
	return f, s.folder.Make(ctx, os.TempDir(), "gorun-bisect", true)
}

// revisionFlag is that of a cell (see package command).
const revisionFlag = "revision"

// commit returns the commit that a flag names.
func (s *Source) commit(ctx context.Context, flag, text string) (string, error) {
	commit, err := s.folder.Find(ctx, text)
	if err == nil && commit == "" {
		err = hint.Usage(hint.Flag(flag, text, s.folder.Unknown(ctx, flag, "it is not a revision of git")))
	}
	return commit, err
}

// revision is a commit of the history.
type revision struct {
	commit, subject string
	parents         []string // that are in the history
}

// history returns the good commit and those that follow it up to the bad one, each after its parents. What the others follow and is not
// between the ends stands before the good commit, which follows it too: a merged branch may have begun there.
func (s *Source) history(ctx context.Context, good, bad string) ([]revision, error) {
	args := []string{"--topo-order", "--reverse"}
	if !s.allParents {
		args = append(args, "--first-parent")
	}
	between, err := s.log(ctx, append(args, good+".."+bad)...)
	if err != nil {
		return nil, err
	}
	known, older := map[string]bool{good: true}, []string{}
	for i, r := range between {
		if known[r.commit] = true; !s.allParents {
			between[i].parents = r.parents[:min(1, len(r.parents))]
		}
	}
	if !slices.ContainsFunc(between, func(r revision) bool { return slices.Contains(r.parents, good) }) {
		return nil, s.apart()
	}
	for _, r := range between {
		for _, parent := range r.parents {
			if !known[parent] {
				older, known[parent] = append(older, parent), true
			}
		}
	}
	revisions, err := s.log(ctx, append(append([]string{"--no-walk=unsorted"}, older...), good)...)
	if err != nil {
		return nil, err
	}
	for i := range revisions {
		revisions[i].parents = nil
	}
	revisions[len(revisions)-1].parents = older
	return append(revisions, between...), nil
}

// log returns the commits that git log lists.
func (s *Source) log(ctx context.Context, args ...string) (revisions []revision, err error) {
	listed, err := s.folder.Git(ctx, slices.Concat([]string{"-c", "log.showSignature=false", "log", "--no-color", "--format=%H%x09%P%x09%s"}, args, []string{"--"})...)
	for line := range strings.Lines(listed) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		revisions = append(revisions, revision{commit: fields[0], parents: strings.Fields(fields[1]), subject: fields[2]})
	}
	return revisions, err
}

// apart returns the error of ends of which the bad one does not follow the good one.
func (s *Source) apart() error {
	if s.allParents {
		return hint.Usage(hint.Flag("good", s.good, hint.With(fmt.Errorf("%s does not follow it", s.bad),
			"give a revision that is an ancestor of it: git merge-base "+s.good+" "+s.bad)))
	}
	return hint.Usage(hint.Flag("good", s.good, hint.With(fmt.Errorf("%s does not follow it by first parents", s.bad),
		"git log --first-parent --oneline lists them; --all-parents looks into merged branches")))
}

// Close implements experiment.Source: it removes the worktrees.
func (s *Source) Close() error {
	if s.folder == nil {
		return nil
	}
	return s.folder.Remove()
}

// Dir implements command.Revisions.
func (s *Source) Dir(ctx context.Context, revision string) (string, error) {
	of, made := s.built[revision]
	if !made {
		of.dir, of.err = s.make(ctx, revision)
		if ctx.Err() == nil {
			s.built[revision] = of
		}
	}
	return of.dir, of.err
}

// testBinary is the program of --bench, in the folder of its package, so that it finds its files.
const testBinary = "./gorun-bisect.test"

// nsPerOp finds the figure of --bench in what a test binary prints.
const nsPerOp = `(?P<time>[0-9.]+ ns)/op`

// benchmark returns the command that runs one for 100 ms or a little longer.
func benchmark(regex string) []string {
	return []string{testBinary, "-test.run=^$", "-test.bench=" + regex, "-test.benchtime=100ms", "-test.timeout=0"}
}

// buildTest builds the test binary of the package in a worktree, and returns the folder of the package.
func (s *Source) buildTest(ctx context.Context, tree checkout.Tree) (string, error) {
	in := checkout.Place{Dir: tree.Dir}
	dir, err := s.folder.Line(ctx, in, "go", "list", "-f", "{{.Dir}}", s.pkg)
	if err == nil {
		_, err = s.folder.Line(ctx, in, "go", "test", "-c", "-o", filepath.Join(dir, testBinary), s.pkg)
	}
	return dir, err
}

// make builds a revision in a worktree. The folders of all have names of the same length, which programs may be sensitive to.
func (s *Source) make(ctx context.Context, revision string) (string, error) {
	tree, err := s.folder.Add(ctx, revision, filepath.Join(s.folder.Path, fmt.Sprintf("%04d", len(s.built))))
	dir := tree.Dir
	switch {
	case err != nil:
		return "", err
	case s.bench != "":
		dir, err = s.buildTest(ctx, tree)
	case s.build != "":
		err = s.folder.Shell(ctx, checkout.Place{Dir: dir}, s.build)
	}
	if err != nil {
		err = fmt.Errorf("%s does not build: %w", short(revision), err)
		if tree.Lacks != "" {
			err = fmt.Errorf("%w; %s", err, tree.Lacks)
		}
	}
	return dir, err
}

// short returns the name of a commit in tables.
func short(commit string) string { return commit[:12] }
