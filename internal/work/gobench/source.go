package gobench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/lazy"
	"gorun/internal/base/shell"
	"gorun/internal/experiment"
	"gorun/internal/guard/checkout"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

// Source builds the test binaries and finds their benchmarks.
type Source struct {
	Own []string // arguments of the test binaries, after --

	base      string
	bench     string
	tags      string
	cpu       string
	benchtime string
	layouts   int
	vary      []string // NAME=A,B

	procs []int // the values of --cpu

	ldflags    []string // the user's own, of the linker
	setting    experiment.Opening
	folder     *checkout.Folder
	sides      []side // the base first, if there is one
	benchmarks []benchmark
	lost       []loss
	warnings   []result.Warning
}

// side is a revision.
type side struct {
	name     string            // of its cells; "": there is one side
	dir      string            // where packages are named from; "": the working directory
	root     string            // of the checkout of a revision; "": it is none
	environ  []string          // variables for the programs that build it, in addition to gorun's
	lacks    string            // what to do if it does not build, because of what it lacks; "": nothing is known to be lacking
	binaries map[string]binary // by the folder of the package, relative to dir
	packages []string          // the keys, in order
}

func (s side) place() checkout.Place { return checkout.Place{Dir: s.dir, Environ: s.environ} }

// binary is a test binary.
type binary struct {
	pkg  string // its import path
	path string
	dir  string // of the package

	tests []string // the paths of the package's test files
}

// benchmark is a benchmark that all sides have.
type benchmark struct {
	folder  string // of its package, relative to the side's
	pkg     string
	name    string
	procs   int // of --cpu; 0: it was not given
	repeats int // in each sample
	limit   time.Duration
	by      *result.JudgedFigure  // its own unit by which it is judged in place of ns/op; nil: it has ns/op
	judged  []result.JudgedFigure // of its other own units
}

// workTree is the name of the side that is not the base.
const workTree = "work tree"

// Register adds the flags that are the same for all cells.
func (s *Source) Register(set *experiment.FlagSet) {
	set.StringVar(&s.base, "base", "", "compare with this `revision` of git, or folder, or test binary")
	set.WordsOrFiles("base", checkout.Revisions)
	set.StringVar(&s.bench, "bench", ".", "run the benchmarks that match this `regex`, as -bench of go test")
	set.StringVar(&s.tags, "tags", "", "build `tags`, as of go build")
	set.StringVar(&s.cpu, "cpu", "", "run each benchmark with these `values` of GOMAXPROCS, by commas, as -cpu of go test")
	set.StringVar(&s.benchtime, "benchtime", "75ms", "length of a piece: a `time`, or a number of iterations as 100x")
	set.IntVar(&s.layouts, "layouts", 1, "link each test binary this `often`, with its functions in another order, and compare\n"+
		"both sides in one order in each round: a verdict is then about the code, not about one order")
	experiment.Bound(set, &s.layouts, "layouts", 1, mostLayouts)
	set.Group("Benchmarks")
	set.Rare("tags", "cpu", "layouts")
	set.StringArrayVar(&s.vary, "vary", nil, "compare these `values` of a flag, as gomaxprocs=1,2 (repeatable;\n"+matrix.CommaUsage+")")
}

// Open builds the test binaries, and finds the benchmarks that all sides have.
func (s *Source) Open(ctx context.Context, o experiment.Opening) (f experiment.Found, err error) {
	s.setting = o
	for _, text := range s.vary {
		if err := o.Vary(text); err != nil {
			return f, hint.Flag("vary", text, err)
		}
	}
	target, times, err := s.validate()
	if err != nil {
		return f, hint.Usage(err)
	}
	if err := s.prepare(ctx, o.Args); err != nil {
		return f, err
	}
	if err := s.find(ctx); err != nil {
		return f, err
	}
	if err := s.pilot(ctx, target, times, o.Recorded); err != nil {
		return f, err
	}
	s.warnings = append(s.warnings, s.losses()...)
	if err := s.nothing(); err != nil {
		return f, err
	}
	if len(s.benchmarks) == 0 {
		return experiment.Found{Alone: s.warnings}, nil
	}
	f.Rows, f.Layouts = true, s.layouts
	f.Within = max(leastBudget, time.Duration(len(s.benchmarks))*budgetEach)
	f.Few = hint.With(errors.New("there is one program, in one setting: nothing to compare"),
		"--base HEAD compares with the last commit, --vary gomaxprocs=1,2 settings")
	if len(s.Own) > 0 {
		f.Common = map[string]string{"arguments": shell.Join(s.Own)}
	}
	title := func(title, flag string) {
		f.FirstColumns = append(f.FirstColumns, result.FlagColumn{Title: title, Flag: flag, Style: result.FlagStyles[0]})
	}
	if slices.ContainsFunc(s.benchmarks, func(b benchmark) bool { return b.folder != s.benchmarks[0].folder }) {
		title("package", packageFlag)
	}
	title("benchmark", benchmarkFlag)
	if s.cpu != "" {
		title("cpu", procsFlag)
	}
	if len(s.sides) > 1 {
		title("revision", revisionFlag)
		for _, side := range s.sides {
			f.Groups = append(f.Groups, matrix.Group{Name: side.name, Axes: []matrix.Axis{{Flag: revisionFlag, Values: []string{side.name}}}})
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
	for _, element := range slices.Concat(split(s.bench)...) {
		if _, err := regexp.Compile(element); err != nil {
			return 0, 0, hint.Flag("bench", s.bench, err)
		}
	}
	for _, arg := range s.Own {
		if set := sets().FindStringSubmatch(arg); set != nil {
			return 0, 0, hint.With(fmt.Errorf("%s after --: gorun sets this flag of the test binaries itself", arg), cmp.Or(instead[set[1]], "leave it out"))
		}
	}
	if s.cpu != "" {
		for text := range strings.SplitSeq(s.cpu, ",") {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return 0, 0, hint.Flag("cpu", s.cpu, fmt.Errorf("%q is not a number of at least 1", text))
			}
			if !slices.Contains(s.procs, n) {
				s.procs = append(s.procs, n)
			}
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

// sets matches the flags of a test binary that gorun sets.
var sets = lazy.Regexp(`^--?test\.(bench|benchtime|benchmem|count|cpu|fuzz|list|run|skip|timeout|v)(=|$)`)

// instead says what to give instead of such a flag.
var instead = map[string]string{
	"bench": "--bench chooses benchmarks", "skip": "--bench chooses benchmarks", "benchtime": "give --benchtime to gorun bench",
	"count": "--samples is the number of samples", "cpu": "give --cpu to gorun bench",
}

// title returns the name of a benchmark's row.
func (s *Source) title(b benchmark) string {
	title := b.name
	if b.procs > 0 {
		title += "-" + strconv.Itoa(b.procs)
	}
	for _, side := range s.sides {
		if slices.ContainsFunc(side.packages, func(folder string) bool { return folder != b.folder }) {
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
	if s.layouts > 1 {
		argv = append(argv, fmt.Sprintf("--layouts=%d", s.layouts))
	}
	if b.procs > 0 {
		argv = append(argv, fmt.Sprintf("--cpu=%d", b.procs))
	}
	argv = append(argv, given...)
	folder := b.folder
	switch {
	case folder == "":
		folder = s.sides[len(s.sides)-1].binaries[""].path
	case folder != "." && !strings.HasPrefix(folder, ".."):
		folder = "./" + filepath.ToSlash(folder)
	}
	argv = append(argv, folder)
	if len(s.Own) > 0 {
		argv = append(append(argv, "--"), s.Own...)
	}
	return argv
}
