package gobench

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/experiment"
	"gorun/internal/guardian"
	"gorun/internal/hint"
	"gorun/internal/launch"
	"gorun/internal/result"
)

// Source builds the test binaries and finds their benchmarks.
type Source struct {
	base      string
	bench     string
	tags      string
	cpu       string
	benchtime string

	setting    experiment.Setting
	folder     *guardian.Folder
	sides      []side // the base first, if there is one
	benchmarks []benchmark
	warnings   []result.Warning
}

// side is a revision.
type side struct {
	name     string            // of its cells; "": there is one side
	dir      string            // where packages are named from; "": the working directory
	binaries map[string]binary // by the folder of the package, relative to dir
	packages []string          // the keys, in order
}

// binary is a test binary.
type binary struct {
	pkg  string // its import path
	path string
	dir  string // of the package
	sum  string // the beginning of its SHA-256
}

// benchmark is a benchmark that all sides have.
type benchmark struct {
	folder  string // of its package, relative to the side's
	pkg     string
	name    string
	procs   int // of --cpu; 0: it was not given
	repeats int // in each sample
}

// workTree is the name of the side that is not the base.
const workTree = "work tree"

// Register adds the flags that are the same for all cells.
func (s *Source) Register(set *experiment.FlagSet) {
	set.StringVar(&s.base, "base", "", "compare with this `revision` of git, or folder, or test binary")
	set.StringVar(&s.bench, "bench", ".", "run the benchmarks that match this `regex`, as -bench of go test")
	set.StringVar(&s.tags, "tags", "", "build `tags`, as of go build")
	set.StringVar(&s.cpu, "cpu", "", "run each benchmark with these `values` of GOMAXPROCS, by commas, as -cpu of go test")
	set.StringVar(&s.benchtime, "benchtime", "75ms", "length of a piece of a benchmark: a `time`, or a number of iterations as 100x")
	set.Group("Benchmarks")
}

// Open builds the test binaries, and finds the benchmarks that all sides have.
func (s *Source) Open(ctx context.Context, setting experiment.Setting, args []string, recorded *result.Run) (f experiment.Found, err error) {
	s.setting = setting
	target, times, err := s.validate()
	if err != nil {
		return f, hint.Usage(err)
	}
	if err := s.prepare(ctx, args); err != nil {
		return f, err
	}
	if err := s.find(ctx); err != nil {
		return f, err
	}
	if err := s.pilot(ctx, target, times, recorded); err != nil {
		return f, err
	}
	f.Flag, f.Budget = revisionFlag, max(leastBudget, time.Duration(len(s.benchmarks))*budgetEach)
	title := func(title, flag string) {
		f.Columns = append(f.Columns, result.Column{Title: title, Flag: flag, Style: result.ColumnStyles[0]})
	}
	if s.several() {
		title("package", packageFlag)
	}
	title("benchmark", benchmarkFlag)
	if s.cpu != "" {
		title("cpu", procsFlag)
	}
	if len(s.sides) > 1 {
		title("revision", revisionFlag)
		for _, side := range s.sides {
			f.Programs = append(f.Programs, side.name)
		}
	}
	return f, nil
}

// A run is given time for each of its benchmarks: 25 rounds of three pieces take 8 s.
const (
	leastBudget = time.Minute
	budgetEach  = 20 * time.Second
)

// Close removes the temporary folder.
func (s *Source) Close() error {
	if s.folder == nil {
		return nil
	}
	return s.folder.Remove()
}

// validate returns the length of a piece: a time, or a number of iterations.
func (s *Source) validate() (piece time.Duration, iterations int, err error) {
	if _, err := regexp.Compile(s.bench); err != nil {
		return 0, 0, hint.Flag("bench", s.bench, err)
	}
	for _, text := range s.procs() {
		if n, err := strconv.Atoi(text); err != nil || n < 1 {
			return 0, 0, hint.Flag("cpu", s.cpu, fmt.Errorf("%q is not a number of at least 1", text))
		}
	}
	if text, isCount := strings.CutSuffix(s.benchtime, "x"); isCount {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return 0, 0, hint.Flag("benchtime", s.benchtime, errors.New("it is not a number of iterations of at least 1x"))
		}
		return 0, n, nil
	}
	piece, err = time.ParseDuration(s.benchtime)
	if err != nil || piece <= 0 {
		return 0, 0, hint.Flag("benchtime", s.benchtime, errors.New("a time such as 75ms is needed, or a number of iterations such as 100x"))
	}
	return piece, 0, nil
}

// procs returns the values of --cpu.
func (s *Source) procs() []string {
	if s.cpu == "" {
		return nil
	}
	return strings.Split(s.cpu, ",")
}

// prepare makes the sides, with their test binaries.
func (s *Source) prepare(ctx context.Context, args []string) error {
	s.sides = []side{{}}
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
	if !revision && (isFile(s.base) || s.base == "" && len(args) == 1 && isFile(args[0])) {
		return s.given(args)
	}
	if info, err := os.Stat(s.base); s.base != "" && !revision && (err != nil || !info.IsDir()) {
		return hint.Usage(hint.Flag("base", s.base, hint.With(errors.New("it is not a revision of git, nor a folder, nor a test binary"),
			"git log --oneline lists revisions")))
	}
	common := ""
	if revision {
		if common, err = s.git(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir"); err != nil {
			return err
		}
	}
	below, err := filepath.EvalSymlinks(os.TempDir()) // as git writes it
	if err != nil {
		return err
	}
	if s.folder, err = guardian.New(s.setting.Self.In(s.setting.Environ)).MakeFolder(below, "gorun-bench", common); err != nil {
		return err
	}
	if revision {
		if err := s.checkOut(ctx); err != nil {
			return err
		}
	}
	for i := range s.sides {
		if err := s.build(ctx, i, args); err != nil {
			return err
		}
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// isRevision reports whether --base is a revision of git: anything that git knows, except what begins as a path.
func (s *Source) isRevision(ctx context.Context) (bool, error) {
	if s.base == "" || strings.HasPrefix(s.base, ".") || filepath.IsAbs(s.base) {
		return false, nil
	}
	_, err := s.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", s.base+"^{commit}")
	return err == nil, ctx.Err()
}

// git returns what a command of git prints.
func (s *Source) git(ctx context.Context, args ...string) (string, error) {
	out, err := s.call(ctx, "", append([]string{"git"}, args...)...)
	return strings.TrimSpace(string(out)), err
}

// call runs a program, and returns what it writes to stdout. The error has what it wrote to stderr.
func (s *Source) call(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	c := launch.Command{Self: s.setting.Self.In(s.setting.Environ), Argv: argv, Dir: dir, Keep: 64 << 20}
	o, err := launch.Run(ctx, c, launch.Setting{})
	switch {
	case err != nil:
		return nil, err
	case o.ExitCode != 0:
		text := cmp.Or(tail(bytes.TrimSpace(o.Stderr)), fmt.Sprintf("exit code %d", o.ExitCode))
		return nil, fmt.Errorf("%s: %s", strings.Join(argv[:min(2, len(argv))], " "), text)
	}
	return o.Stdout, nil
}

// checkOut makes a worktree of the base.
func (s *Source) checkOut(ctx context.Context) error {
	prefix, err := s.git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return err
	}
	root := filepath.Join(s.folder.Path, "base")
	if _, err := s.git(ctx, "-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "--detach", root, s.base); err != nil {
		return fmt.Errorf("check out %s: %w", s.base, err)
	}
	s.sides[0].dir = filepath.Join(root, prefix)
	if _, err := os.Stat(s.sides[0].dir); err != nil {
		return hint.With(fmt.Errorf("%s has no folder %s", s.base, prefix), "run gorun bench in a folder that both revisions have")
	}
	return nil
}

// given takes test binaries that the user has built. They run in the working directory.
func (s *Source) given(args []string) error {
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
		if b.sum, err = sum(path); err != nil {
			return err
		}
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

// benches matches the beginning of a benchmark.
var benches = regexp.MustCompile(`(?m)^[ \t]*func[ \t]+Benchmark`)

// hasBenchmarks reports whether a package's test files seem to have benchmarks.
func (l listed) hasBenchmarks() bool {
	return slices.ContainsFunc(slices.Concat(l.TestGoFiles, l.XTestGoFiles), func(name string) bool {
		text, err := os.ReadFile(filepath.Join(l.Dir, name))
		return err != nil || benches.Match(text)
	})
}

// build builds the test binaries of a side. A package that the base lacks is left out.
func (s *Source) build(ctx context.Context, i int, args []string) error {
	side := &s.sides[i]
	isBase := len(s.sides) > 1 && i == 0
	dir, err := filepath.Abs(side.dir)
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // as go list shows it
		return err
	}
	argv := []string{"go", "list", "-e", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles,Error"}
	if len(args) == 0 {
		args = []string{"."}
	}
	out, err := s.call(ctx, dir, append(s.tagged(argv), args...)...)
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
		if !l.hasBenchmarks() {
			continue
		}
		folder, err := filepath.Rel(dir, l.Dir)
		if err != nil {
			return err
		}
		b := binary{pkg: l.ImportPath, dir: l.Dir, path: filepath.Join(s.folder.Path, fmt.Sprintf("%d-%d.test", i, len(side.packages)))}
		build := append(s.tagged([]string{"go", "test", "-c", "-trimpath", "-o", b.path}), l.ImportPath)
		if _, err := s.call(ctx, dir, build...); err != nil {
			return fmt.Errorf("%s does not build: %w", cmp.Or(side.name, workTree), err)
		}
		if b.sum, err = sum(b.path); err != nil {
			return err
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

// sum returns the beginning of the SHA-256 of a file, which is enough to know it again.
func sum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return fmt.Sprintf("%x", hash.Sum(nil)[:8]), err
}

// find runs each benchmark of each side once, and keeps those that all sides have.
func (s *Source) find(ctx context.Context) error {
	var all [][]benchmark
	for i, side := range s.sides {
		var of []benchmark
		for _, folder := range side.packages {
			found, err := s.list(ctx, i, folder)
			if err != nil {
				return err
			}
			of = append(of, found...)
		}
		all = append(all, of)
	}
	last := all[len(all)-1]
	for i, of := range all {
		var only []string
		for _, b := range of {
			if !slices.ContainsFunc(all, func(other []benchmark) bool { return !slices.ContainsFunc(other, b.same) }) {
				continue
			}
			only = append(only, s.title(b))
		}
		if len(only) > 0 {
			s.warnings = append(s.warnings, result.Warning{
				Code:    "one-revision",
				Message: fmt.Sprintf("only %s has %s", s.sides[i].name, strings.Join(only, ", ")),
			})
		}
	}
	for _, b := range last {
		if slices.ContainsFunc(all[0], b.same) {
			s.benchmarks = append(s.benchmarks, b)
		}
	}
	if len(s.benchmarks) == 0 {
		err := errors.New("there is no benchmark to compare")
		if len(s.warnings) > 0 {
			err = fmt.Errorf("%w: %s", err, s.warnings[0].Message)
		}
		return hint.With(err, "name packages, such as ./..., and look at --bench")
	}
	return nil
}

// same reports whether both are the same benchmark, of any side.
func (b benchmark) same(other benchmark) bool {
	return b.folder == other.folder && b.name == other.name && b.procs == other.procs
}

// list runs the benchmarks of a package once.
func (s *Source) list(ctx context.Context, i int, folder string) (found []benchmark, err error) {
	side, of := s.sides[i], s.sides[i].binaries[folder]
	o, err := s.execute(ctx, of, "-test.bench="+s.bench, "-test.benchtime=1x")
	if err != nil {
		return nil, err
	}
	lines, failed := parse(o.Stdout)
	if o.ExitCode != 0 && len(failed) == 0 {
		return nil, hint.With(fmt.Errorf("the benchmarks of %s, %s: %s", of.pkg, cmp.Or(side.name, workTree), ended(o)), "--bench leaves benchmarks out")
	}
	for _, text := range failed {
		s.warnings = append(s.warnings, result.Warning{
			Code: "benchmark-failed", Message: fmt.Sprintf("%s, %s: %s", of.pkg, cmp.Or(side.name, workTree), text),
		})
	}
	for _, l := range lines {
		b := benchmark{folder: folder, pkg: of.pkg, name: l.Benchmark}
		if s.cpu != "" {
			b.procs = l.Procs
		}
		if !slices.ContainsFunc(found, b.same) {
			found = append(found, b)
		}
	}
	return found, nil
}

// execute runs a test binary in its package's folder.
func (s *Source) execute(ctx context.Context, of binary, args ...string) (launch.Outcome, error) {
	argv := append([]string{of.path, "-test.run=^$", "-test.v", "-test.timeout=0"}, args...)
	if s.cpu != "" && !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-test.cpu=") }) {
		argv = append(argv, "-test.cpu="+s.cpu)
	}
	c := launch.Command{Self: s.setting.Self.In(s.setting.Environ), Argv: argv, Dir: of.dir, Keep: keptOutput}
	return launch.Run(ctx, c, launch.Setting{})
}

// pilot finds the number of iterations of each benchmark's pieces, or takes it from the run that is to be continued.
func (s *Source) pilot(ctx context.Context, piece time.Duration, iterations int, recorded *result.Run) error {
	for i := range s.benchmarks {
		b := &s.benchmarks[i]
		if b.repeats = iterations; iterations > 0 {
			continue
		}
		if b.repeats = s.recorded(*b, recorded); b.repeats > 0 {
			continue
		}
		of := s.sides[0].binaries[b.folder]
		args := []string{"-test.bench=" + exact(b.name), fmt.Sprintf("-test.benchtime=%v", piece)}
		if b.procs > 0 {
			args = append(args, fmt.Sprintf("-test.cpu=%d", b.procs))
		}
		o, err := s.execute(ctx, of, args...)
		if err != nil {
			return err
		}
		l, err := only(o, b.name)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", b.name, of.pkg, err)
		}
		b.repeats = int(max(1, min(1e9, math.Round(piece.Seconds()*1e9/l.NS))))
	}
	return nil
}

// recorded returns the iterations that a run had of a benchmark; 0: it had none.
func (s *Source) recorded(b benchmark, run *result.Run) int {
	if run == nil {
		return 0
	}
	for _, cell := range run.Cells {
		procs := ""
		if b.procs > 0 {
			procs = strconv.Itoa(b.procs)
		}
		if cell.Flags[packageFlag] == b.pkg && cell.Flags[benchmarkFlag] == b.name && cell.Flags[procsFlag] == procs {
			return cell.Repeats
		}
	}
	return 0
}

// several reports whether there are benchmarks of several packages.
func (s *Source) several() bool {
	return slices.ContainsFunc(s.benchmarks, func(b benchmark) bool { return b.folder != s.benchmarks[0].folder })
}

// title returns the name of a benchmark's row.
func (s *Source) title(b benchmark) string {
	title := b.name
	if b.procs > 0 {
		title += "-" + strconv.Itoa(b.procs)
	}
	for _, side := range s.sides {
		if len(side.packages) > 1 {
			return b.pkg + " " + title
		}
	}
	return title
}

// side returns the one with this name.
func (s *Source) side(name string) side {
	i := slices.IndexFunc(s.sides, func(of side) bool { return of.name == name })
	return s.sides[max(0, i)]
}

// repeat returns the command that measures one benchmark again.
func (s *Source) repeat(b benchmark, given []string) []string {
	argv := []string{"bench"}
	if s.base != "" {
		argv = append(argv, "--base="+s.base)
	}
	argv = append(argv, "--bench="+exact(b.name))
	if b.procs > 0 {
		argv = append(argv, fmt.Sprintf("--cpu=%d", b.procs))
	}
	argv = append(argv, given...)
	if b.folder == "" {
		return append(argv, s.sides[len(s.sides)-1].binaries[""].path)
	}
	if b.folder != "." && !strings.HasPrefix(b.folder, "..") {
		return append(argv, "./"+filepath.ToSlash(b.folder))
	}
	return append(argv, b.folder)
}
