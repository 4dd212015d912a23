package report

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/experiment"
	"gorun/internal/files/input"
	"gorun/internal/publish/document"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/rendertest"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
	"gorun/internal/work/bind"
	"gorun/internal/work/c2c"
	"gorun/internal/work/command"
	"gorun/internal/work/contend"
	"gorun/internal/work/futex"
	"gorun/internal/work/memory"
	"gorun/internal/work/migrate"
	"gorun/internal/work/numa"
	"gorun/internal/work/pair"
	"gorun/internal/work/primes"
)

// experiments are those that gorun has.
var experiments = render.Views{
	primes.Experiment, contend.Experiment, c2c.Experiment, numa.Experiment, command.Experiment,
	pair.Experiment, bind.Experiment, futex.Experiment, migrate.Experiment, memory.Experiment,
}

const runsDir = "../../../testdata/runs"

// shown is one way to show a run; its name is that of a member of the archives in testdata/runs.
type shown struct {
	name   string
	format string
	opts   term.Options
}

var views = [...]shown{
	{"table", "table", term.Options{}},
	{"table.120", "table", term.Options{Width: 120}},
	{"terminal", "table", term.Options{Terminal: true, Colour: true, Width: 100}},
	{"csv", "csv", term.Options{}},
	{"benchfmt", "benchfmt", term.Options{}},
	{"markdown", "markdown", term.Options{}},
}

// wide are the recorded runs that are also shown at other widths than the default.
var wide = []string{"compare", "contend", "exec-placements", "matrix", "numa", "primes-workers"}

// recorded is an archive: the journal of a real run, and its expected views; and that run as `gorun report` reads it.
type recorded struct {
	name, path string
	archive    *txtar.Archive
	in         Input
}

// recordedRuns reads the recordings once, and no test changes them.
var recordedRuns = sync.OnceValue(func() (runs []recorded) {
	paths, _ := filepath.Glob(filepath.Join(runsDir, "*.txtar"))
	for _, path := range paths {
		var err error
		r := recorded{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path}
		if r.archive, err = txtar.ParseFile(path); err == nil {
			r.in, err = readAs(r.journal())
		}
		if err != nil {
			panic(fmt.Sprintf("%s: %v", path, err))
		}
		runs = append(runs, r)
	}
	return runs
})

// eachRun runs a test of each recorded run.
func eachRun(t *testing.T, test func(t *testing.T, r recorded)) {
	t.Parallel()
	for _, r := range recordedRuns() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			test(t, r)
		})
	}
}

func runOf(t testing.TB, name string) recorded {
	t.Helper()
	all := recordedRuns()
	i := slices.IndexFunc(all, func(r recorded) bool { return r.name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return all[i]
}

// copyOf returns a copy of a recorded run, which a test may change.
func copyOf(t testing.TB, name string) *result.Run {
	t.Helper()
	text, err := json.Marshal(runOf(t, name).in.Run)
	require.NoError(t, err)
	run := new(result.Run)
	require.NoError(t, json.Unmarshal(text, run))
	return run
}

// member returns the text of a member, and whether it exists.
func (r recorded) member(name string) (string, bool) {
	i := slices.IndexFunc(r.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return "", false
	}
	return string(r.archive.Files[i].Data), true
}

// journal returns the text of a run's journal.
func (r recorded) journal() string {
	text, _ := r.member("run.jsonl")
	return text
}

// readAs reads a journal's text as `gorun report` reads its file.
func readAs(journal string) (in Input, err error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return in, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.jsonl")
	if err := os.WriteFile(path, []byte(journal), 0o600); err != nil {
		return in, err
	}
	inputs, err := ReadAll(context.Background(), input.Opener{}, []string{path}, experiments)
	if err != nil {
		return in, err
	}
	in = inputs[0]
	in.File = filepath.Base(path)
	return in, nil
}

func readText(t testing.TB, journal string) Input {
	t.Helper()
	in, err := readAs(journal)
	require.NoError(t, err)
	return in
}

func show(t testing.TB, run *result.Run, v shown) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, document.Show(&out, experiments.Run(run), v.format, v.opts))
	return out.String()
}

var (
	drawingTag = regexp.MustCompile(`(?s)<svg.*?</svg>`)
	cellBorder = regexp.MustCompile(`</t[hd]><t[hd][^>]*>`)
	htmlTag    = regexp.MustCompile(`<[^>]*>`)
	blankLines = regexp.MustCompile(`\n(\s*\n)+`)
)

// pageOf is the page of some runs as text: a line for each row of a table, and the hash of each drawing.
func pageOf(t testing.TB, inputs ...Input) string {
	t.Helper()
	page := drawingTag.ReplaceAllStringFunc(body(written(t, inputs...)), func(svg string) string {
		return fmt.Sprintf("drawing %.8x\n", sha256.Sum256([]byte(svg)))
	})
	page = strings.ReplaceAll(page, "<br>", "; ") // within a cell
	page = htmlTag.ReplaceAllString(cellBorder.ReplaceAllString(page, " | "), "")
	return strings.TrimLeft(blankLines.ReplaceAllString(html.UnescapeString(page), "\n"), "\n")
}

// Every recorded run has the views in its archive. `make record` takes the runs again. A run that was printed by --format json and
// read back has the same.
func TestViews(t *testing.T) {
	eachRun(t, func(t *testing.T, r recorded) {
		got := &txtar.Archive{Comment: r.archive.Comment}
		for _, file := range r.archive.Files {
			if strings.HasSuffix(file.Name, ".jsonl") {
				got.Files = append(got.Files, file)
			}
		}
		add := func(name, text string) {
			got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text)})
		}
		document := show(t, r.in.Run, shown{format: "json"})
		back := readText(t, document).Run
		assert.JSONEq(t, document, show(t, back, shown{format: "json"}))
		for _, v := range views {
			if v.opts.Width > 0 && !slices.Contains(wide, r.name) {
				continue
			}
			add(v.name, show(t, r.in.Run, v))
			assert.Equal(t, show(t, r.in.Run, v), show(t, back, v), v.name)
		}
		add("report", pageOf(t, r.in))
		if text, ok := r.member("before.jsonl"); ok {
			before := readText(t, text)
			for _, v := range views[:3] {
				add("compare."+v.name, compared(t, comparisonOf(t, before, r.in), "table", v.opts))
			}
			add("compare.report", pageOf(t, before, r.in))
		}
		if *update {
			require.NoError(t, os.WriteFile(r.path, txtar.Format(got), 0o644))
			return
		}
		// The text after reading it back: a line that looks like a member's header would end the previous member.
		got = txtar.Parse(txtar.Format(got))
		var want, have []string
		for _, file := range r.archive.Files {
			want = append(want, file.Name)
		}
		for _, file := range got.Files {
			have = append(have, file.Name)
		}
		require.Equal(t, want, have, "write the members: go test ./internal/publish/report -run TestViews -update")
		for i, file := range got.Files {
			assert.Equal(t, string(r.archive.Files[i].Data), string(file.Data), "%s: %s", r.path, file.Name)
		}
	})
}

// The archives are small enough to read, and each run can be recorded again.
func TestRecordedRuns(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(runsDir, "runs.txt"))
	require.NoError(t, err)
	commands := map[string]string{}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 2 && !strings.HasPrefix(line, "#") {
			_, command, _ := strings.Cut(line, fields[1])
			commands[fields[0]] = strings.TrimSpace(command)
		}
	}
	lines := 0
	for _, r := range recordedRuns() {
		command, _, _ := strings.Cut(string(r.archive.Comment), "\n")
		assert.Equal(t, commands[r.name], command, "%s is of the row in runs.txt", r.path)
		delete(commands, r.name)
		lines += strings.Count(string(txtar.Format(r.archive)), "\n")
	}
	assert.Empty(t, commands, "record them: testdata/runs/record NAME")
	assert.Less(t, lines, 11_500)
}

// assertFits asserts that no line of a table is wider than the output or ends in blanks, and that colours do not change
// the layout.
func assertFits(t *testing.T, run *result.Run, width int) {
	t.Helper()
	for _, terminal := range []bool{false, true} {
		opts := term.Options{Width: width, Terminal: terminal}
		plain := show(t, run, shown{format: "table", opts: opts})
		assert.NotContains(t, plain, "\x1b")
		for line := range strings.Lines(plain) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "next: ") {
				continue // a command to be copied is never broken
			}
			assert.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), width, "%q", line)
			assert.Equal(t, strings.TrimRight(line, " "), line)
		}
		opts.Colour = true
		assert.Equal(t, plain, text.StripEscape(show(t, run, shown{format: "table", opts: opts})))
	}
}

func TestViewsFit(t *testing.T) {
	eachRun(t, func(t *testing.T, r recorded) {
		for _, width := range []int{40, 80, 97, 200} {
			assertFits(t, r.in.Run, width)
		}
	})
}

// The first reason why samples are suspect is there once, and --verbose has all. What is shown around the result is dim.
func TestViewsSayReasonsOnce(t *testing.T) {
	eachRun(t, func(t *testing.T, r recorded) {
		run := r.in.Run
		of := func(opts term.Options) string { return unbroken(show(t, run, shown{format: "table", opts: opts})) }
		for i, reason := range view.ByGrade(run.Samples)[result.Suspect].Reasons {
			first := strings.HasSuffix(view.Doubtful(run.Samples), reason.Text)
			assert.True(t, !first || strings.Count(of(term.Options{}), reason.Text) == 1, reason.Text)
			assert.True(t, i >= 4 || strings.Contains(of(term.Options{Verbose: true}), reason.Text), reason.Text)
		}
		assert.Regexp(t, `\n\x1b\[2mgorun `, show(t, run, shown{format: "table", opts: term.Options{Colour: true}}))
	})
}

// A journal that was cut off at any place after its header is shown up to there, and as incomplete. Without its footer, its samples
// give its cells the same verdicts.
func TestViewsOfCutJournals(t *testing.T) {
	eachRun(t, func(t *testing.T, r recorded) {
		journal := r.journal()
		header := strings.IndexByte(journal, '\n') + 1
		whole := len(journal)
		footer := strings.LastIndexByte(journal[:whole-1], '\n') + 1
		for _, cut := range []int{header, (header + whole) / 2, footer, whole - 20} {
			in := readText(t, journal[:cut])
			if cut >= footer {
				assert.Equal(t, r.in.Run.Cells, in.Run.Cells)
			}
			if cut > footer {
				assert.Equal(t, "torn-line", in.Run.Warnings[len(in.Run.Warnings)-1].Code)
			}
			assert.False(t, in.Ended)
			assert.True(t, in.Run.Partial)
			assert.Contains(t, unbroken(show(t, in.Run, views[0])), "interrupted: what is shown was measured")
			for _, format := range document.For[render.Run]().Names() {
				assert.NotRegexp(t, `NaN|%!`, show(t, in.Run, shown{format: format}))
			}
			assert.Contains(t, pageOf(t, in), "This run has not ended")
		}
	})
}

// unbroken returns a text without colours and line breaks.
func unbroken(page string) string { return strings.Join(strings.Fields(text.StripEscape(page)), " ") }

// Each drawing applies to a recorded run, has a text for each of its elements, and does not change the run.
func TestFiguresOfRecordedRuns(t *testing.T) {
	t.Parallel()
	drawn := map[string]int{} // 0: no run had it
	for _, r := range recordedRuns() {
		before := show(t, r.in.Run, shown{format: "json"})
		for _, f := range figuresOf(r.in.Run, experiments) {
			drawn[f.Anchor] += 0
			if figure, ok := f.Draw(r.in.Run); ok {
				drawn[f.Anchor]++
				rendertest.Drawing(t, figure)
			}
		}
		assert.Equal(t, before, show(t, r.in.Run, shown{format: "json"}), "%s is as it was", r.name)
	}
	for anchor, runs := range drawn {
		assert.Positive(t, runs, "%s: a run that it shows is to be recorded", anchor)
	}
}

// An experiment that draws into a file (--svg) says why it cannot, and that the file cannot be written.
func TestPictures(t *testing.T) {
	for _, c := range []struct {
		run, none string
		draw      func(io.Writer, *result.Run) error
	}{
		{"bind", "no trial has a good sample", bind.Experiment.Picture.Write},
		{"c2c", "this run of gorun c2c has no good sample of a pair", c2c.Experiment.Picture.Write},
		{"contend", "no operation ran on different numbers of CPUs", contend.Experiment.Picture.Write},
		{"numa", "no row has a good sample", numa.Experiment.Picture.Write},
		{"matrix", "no cell has one", experiment.Ratios(primes.Experiment.Shape(false)).Write},
	} {
		run := copyOf(t, c.run)
		require.NoError(t, c.draw(io.Discard, run))
		require.ErrorIs(t, c.draw(rendertest.Broken{}, run), rendertest.ErrBroken)
		run.Samples, run.Matrix = result.Samples{}, nil
		assert.ErrorContains(t, c.draw(io.Discard, run), c.none)
	}
}

// For any texts in a run, also the name of an experiment that is not known, only printable characters reach a terminal, and only text
// reaches a page.
func TestViewsOfHostileRuns(t *testing.T) {
	eachRun(t, func(t *testing.T, r recorded) {
		unknown := rendertest.Soiled(t, r.in.Run)
		known := *unknown
		known.Experiment = r.in.Run.Experiment
		for _, run := range []*result.Run{unknown, &known} {
			for _, v := range views {
				v.opts.Colour = false
				page := show(t, run, v)
				assert.NotRegexp(t, `NaN|%!`, page)
				if v.format == "table" || run.Samples.Len() > 0 {
					assert.Contains(t, page, "title", "the text is there: %s", v.name)
				}
				assertPrintable(t, page)
			}
			in := Input{File: rendertest.Hostile, Run: run}
			page := written(t, in, in)
			rendertest.Page(t, page)
		}
	})
}

// assertPrintable asserts that a text does nothing to a terminal.
func assertPrintable(t testing.TB, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		assert.False(t, strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return !unicode.IsPrint(r) }), "%q", line)
	}
}

// FuzzViews checks that any numbers in the journal of a stranger are shown in every format without a failure, and drawn within the
// bounds of a drawing or not at all.
func FuzzViews(f *testing.F) {
	odd := []float64{0, -1, 1, 1e-9, 5e-324, 1e-300, math.MaxFloat64, -math.MaxFloat64, 7.5, 64, 1 << 16, 1 << 30}
	// Some numbers of a run are changed. Whole numbers stay whole, so that the journal can be read.
	var change func(random *rand.Rand, value any) any
	change = func(random *rand.Rand, value any) any {
		switch value := value.(type) {
		case float64:
			if random.IntN(8) > 0 {
				return value
			}
			if x := odd[random.IntN(len(odd))]; value != math.Trunc(value) || x == math.Trunc(x) && math.Abs(x) <= 1<<30 {
				return x
			}
		case []any:
			for i := range value {
				value[i] = change(random, value[i])
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				if name != "cell" { // which is one of the run's when a journal has been read
					value[name] = change(random, value[name])
				}
			}
		}
		return value
	}
	runs := recordedRuns()
	for i := range runs {
		for seed, width := range []int{80, 40, 9, 7} {
			f.Add(uint(i), uint64(seed), width)
		}
	}
	f.Fuzz(func(t *testing.T, i uint, seed uint64, width int) {
		line, err := json.Marshal(runs[i%uint(len(runs))].in.Run)
		require.NoError(t, err)
		var tree map[string]any
		require.NoError(t, json.Unmarshal(line, &tree))
		random := rand.New(rand.NewPCG(seed, 0))
		for _, part := range []string{"samples", "numa_rows", "caches"} {
			tree[part] = change(random, tree[part])
		}
		line, err = json.Marshal(tree)
		require.NoError(t, err)
		run := new(result.Run)
		if json.Unmarshal(line, run) != nil {
			return // -1 is no count
		}
		for _, format := range document.For[render.Run]().Names() {
			require.NoError(t, document.Show(io.Discard, experiments.Run(run), format, term.Options{Width: width}))
		}
		for _, f := range figuresOf(run, experiments) {
			if figure, ok := f.Draw(run); ok {
				rendertest.Drawing(t, figure)
			}
		}
	})
}
