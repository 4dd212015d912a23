package gobench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/base/lazy"
	"gorun/internal/files/input"
	"gorun/internal/guard/checkout"
)

// prepare makes the sides, with their test binaries.
func (s *Source) prepare(ctx context.Context, args []string) error {
	s.sides, s.folder = []side{{}}, checkout.In(s.setting.Self, s.setting.Environ)
	revision, err := s.isRevision(ctx)
	if err != nil {
		return err
	}
	if s.base != "" {
		s.sides = []side{{name: s.base, dir: s.base}, {name: workTree}}
		if s.base == workTree {
			s.sides[0].name = "base"
		}
	}
	if !revision && (checkout.IsFile(s.base) || s.base == "" && len(args) == 1 && checkout.IsFile(args[0])) {
		if s.layouts > 1 {
			return errGivenLayouts
		}
		return s.given(args)
	}
	if info, err := os.Stat(s.base); s.base != "" && !revision && (err != nil || !info.IsDir()) {
		return hint.Usage(hint.Flag("base", s.base, s.folder.Unknown(ctx, "base", "it is not a revision of git, nor a folder, nor a test binary")))
	}
	where, _ := s.line(ctx, side{}, "go", "env", "-json=false", "GOTMPDIR") // the build reports an error
	if err := s.folder.Make(ctx, cmp.Or(where, os.TempDir()), "gorun-bench", revision); err != nil {
		return err
	}
	if revision {
		if err := s.checkOut(ctx); err != nil {
			return err
		}
	}
	if err := s.readLinkFlags(ctx); err != nil {
		return err
	}
	for i := range s.sides {
		if err := s.build(ctx, i, args); err != nil {
			return err
		}
	}
	return nil
}

// checkOut makes a worktree of the base.
func (s *Source) checkOut(ctx context.Context) error {
	tree, err := s.folder.Add(ctx, s.base, s.folder.Path)
	if err != nil {
		return err
	}
	base := &s.sides[0]
	base.dir, base.root, base.lacks = tree.Dir, tree.Root, tree.Lacks
	return s.useWorkspace(ctx, tree)
}

// isRevision reports whether --base is a revision of git: anything that git knows, except what begins as a path.
func (s *Source) isRevision(ctx context.Context) (bool, error) {
	if s.base == "" || strings.HasPrefix(s.base, ".") || filepath.IsAbs(s.base) {
		return false, nil
	}
	commit, err := s.folder.Find(ctx, s.base)
	return commit != "", err
}

// line returns what a program prints in a side's folder and environment, without the end of the line.
func (s *Source) line(ctx context.Context, of side, argv ...string) (string, error) {
	return s.folder.Line(ctx, of.place(), argv...)
}

// call returns what a program prints in a side's folder and environment.
func (s *Source) call(ctx context.Context, of side, argv ...string) ([]byte, error) {
	return s.folder.Call(ctx, of.place(), argv...)
}

// given takes test binaries that the user has built. They run in the working directory.
func (s *Source) given(args []string) error {
	if s.setting.Dry {
		return hint.Usage(hint.With(errors.New("--dry-run: the benchmarks of a test binary are known only by running it"), "--estimate does that, and prints the plan"))
	}
	paths := args
	if s.base != "" {
		paths = append([]string{s.base}, args...)
	}
	if len(paths) != len(s.sides) {
		return hint.Usage(hint.With(errors.New("--base is a test binary: the only argument is the other one"), "gorun bench --base old.test new.test"))
	}
	for i, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		b := binary{pkg: filepath.Base(path), path: path}
		s.sides[i].binaries, s.sides[i].packages = map[string]binary{"": b}, []string{""}
		if len(s.sides) > 1 {
			s.sides[i].name = paths[i]
		}
	}
	if len(s.sides) > 1 && s.sides[0].name == s.sides[1].name {
		s.sides[1].name += " (2)"
	}
	return nil
}

// listed is a package as go list shows it.
type listed struct {
	Dir, ImportPath           string
	TestGoFiles, XTestGoFiles []string
	Error                     *struct{ Err string }
}

// benches matches the beginning of a benchmark, and its name.
var benches = lazy.Regexp(`(?m)^[ \t]*func[ \t]+(Benchmark[\pL\pN_]*)[ \t]*\(`)

// tests returns the paths of a package's test files.
func (l listed) tests() (paths []string) {
	for _, name := range slices.Concat(l.TestGoFiles, l.XTestGoFiles) {
		paths = append(paths, filepath.Join(l.Dir, name))
	}
	return paths
}

// hasBenchmarks reports whether a package's test files seem to have benchmarks.
func (l listed) hasBenchmarks(ctx context.Context) bool {
	return slices.ContainsFunc(l.tests(), func(path string) bool {
		text, err := input.Opener{}.ReadFile(ctx, path, input.List)
		return err != nil || benches().Match(text)
	})
}

// build builds the test binaries of a side. A package that the base lacks is left out.
func (s *Source) build(ctx context.Context, i int, args []string) error {
	side := &s.sides[i]
	isBase := len(s.sides) > 1 && i == 0
	if _, err := os.Stat(side.dir); isBase && errors.Is(err, fs.ErrNotExist) {
		return nil // the folder is new
	}
	if err := s.hasModule(ctx, *side); err != nil {
		return err
	}
	dir, err := filepath.Abs(side.dir)
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // as go list shows it
		return err
	}
	in := *side
	in.dir = dir
	argv := []string{"go", "list", "-e", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles,Error"}
	if len(args) == 0 {
		args = []string{"."}
	}
	out, err := s.call(ctx, in, append(s.tagged(argv), args...)...)
	if err != nil {
		return err
	}
	side.binaries = map[string]binary{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("read what go list prints: %w", err)
		}
		if len(l.TestGoFiles)+len(l.XTestGoFiles) == 0 || l.Dir == "" {
			if l.Error != nil && !isBase {
				return errors.New(l.Error.Err)
			}
			continue
		}
		if !l.hasBenchmarks(ctx) {
			continue
		}
		folder, err := filepath.Rel(dir, l.Dir)
		if err != nil {
			return err
		}
		b := binary{pkg: l.ImportPath, dir: l.Dir, path: filepath.Join(s.folder.Path, fmt.Sprintf("%d-%d.test", i, len(side.packages))), tests: l.tests()}
		if !s.setting.Dry {
			s.setting.Doing("building " + strings.TrimSpace(side.name+" "+l.ImportPath))
			if err := s.link(ctx, in, b.path, l.ImportPath); err != nil {
				return hint.With(fmt.Errorf("%s does not build: %w", cmp.Or(side.name, workTree), err), cmp.Or(hint.Of(err), side.lacks))
			}
		}
		side.binaries[folder], side.packages = b, append(side.packages, folder)
	}
	return nil
}

// tagged adds the build tags to a command of go.
func (s *Source) tagged(argv []string) []string {
	if s.tags == "" {
		return argv
	}
	return append(argv, "-tags="+s.tags)
}
