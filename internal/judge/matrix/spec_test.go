package matrix_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

func TestReadSpec(t *testing.T) {
	s, err := matrix.ReadSpec(strings.NewReader(`
groups:
  - name: floating
    comment: >
      goes
      anywhere
    flags: {workers: [0x10, 1e3, 5_0], nice: -5}
  - {name: "é, pinned", flags: {pin-cpus: ["0,2", share:1/2, 3, ""], limit: 7, lock-thread: [true, False]}}
flags: {limit: 200000, dispatch: goroutine}
experiment: primes
title: "two: ways"
budget: 30m
samples: 7
warmup: 0
precision: 2%
margin: 0.01
seed: 0xFFFFFFFFFFFFFFFF
exclude:
  - {group: floating, workers: 0x10}
  - lock-thread: true
baseline: {workers: 1e3}
contrasts: {group: floating}
columns:
  - {title: F1, flag: lock-thread, style: truth}
  - {title: N, flag: nice, unset: default}
`))
	require.NoError(t, err)
	assert.Equal(t, matrix.Spec{
		Experiment: "primes", Title: "two: ways",
		Groups: []matrix.Group{
			{Name: "floating", Comment: "goes anywhere", Axes: []matrix.Axis{
				axis("limit", "200000"), axis("dispatch", "goroutine"), axis("workers", "0x10", "1e3", "5_0"), axis("nice", "-5"),
			}},
			{Name: "é, pinned", Axes: []matrix.Axis{
				axis("limit", "7"), axis("dispatch", "goroutine"), axis("pin-cpus", "0,2", "share:1/2", "3", ""),
				axis("lock-thread", "true", "False"),
			}},
		},
		Exclude:  []matrix.Conditions{{"group": "floating", "workers": "0x10"}, {"lock-thread": "true"}},
		Baseline: matrix.Conditions{"workers": "1e3"}, Contrasts: matrix.Conditions{"group": "floating"},
		Columns: []result.FlagColumn{
			{Title: "F1", Flag: "lock-thread", Style: "truth"}, {Title: "N", Flag: "nice", Style: "value", Unset: "default"},
		},
		Budget: 30 * time.Minute, Samples: new(7), Warmup: new(0),
		Precision: new(0.02), Margin: new(0.01), Seed: new(uint64(0xFFFFFFFFFFFFFFFF)),
	}, s)
}

// A file may start from a preset and give only the differences.
func TestReadSpecLikeAPreset(t *testing.T) {
	s, err := matrix.ReadSpec(strings.NewReader("like: classic\ntitle: mine\nflags: {limit: 7, split: dynamic}\n"))
	require.NoError(t, err)
	classic, err := matrix.Preset("classic")
	require.NoError(t, err)
	classic.Title = "mine"
	assert.Equal(t, matrix.Override(classic, []matrix.Axis{axis("limit", "7"), axis("split", "dynamic")}), s)

	s, err = matrix.ReadSpec(strings.NewReader("like: classic\nflags: {nice: 1}\ngroups: [{name: a, flags: {nice: 2}}]\n"))
	require.NoError(t, err)
	assert.Equal(t, []matrix.Group{{Name: "a", Axes: []matrix.Axis{axis("nice", "2")}}}, s.Groups)

	_, err = matrix.ReadSpec(strings.NewReader("title: mine\nlike: classic\n"))
	require.ErrorContains(t, err, "line 2: like: it must come first")
	_, err = matrix.ReadSpec(strings.NewReader("like: nosuch\n"))
	require.EqualError(t, err, `line 1: like: there is no preset "nosuch"`)
	assert.Contains(t, hint.Of(err), "classic")
}

// bomb is a file of aliases of aliases: a billion values if they were followed.
var bomb = "experiment: primes\nflags:\n  a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n" + `
  b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
  c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
  d: [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
`

func TestReadSpecErrors(t *testing.T) {
	const head = "experiment: primes\n"
	for text, want := range map[string]string{
		"":                                 "it is empty",
		"---\n":                            "line 2: the file: expected keys with values, got nothing",
		"primes":                           `line 1: the file: expected keys with values, got "primes"`,
		"flags: {workers: [1, 2]}":         "line 1: no experiment is named",
		head + "---\nexperiment: x\n":      "line 2: a second document begins: a file has one matrix",
		head + "---\n]":                    "near line 2: did not find expected node content",
		head + "experiment: x\n":           `line 2: the file: "experiment" is already given on line 1`,
		head + "grops: []\n":               `line 2: the file: unknown key "grops"`,
		head + "<<: {title: x}\n":          "line 2: the file: expected a value",
		head + "title:\n":                  "line 2: title: expected a value, got nothing",
		head + "title: ''\n":               "line 2: title: it is empty",
		head + "title: !!binary aGk=\n":    "line 2: title: expected a value",
		head + "title: \"\\e[31m\"\n":      `line 2: title: "\x1b[31m" cannot be printed on one line`,
		head + "title: a\x00b\n":           "control characters are not allowed",
		head + "title: {x: [}\n":           "near line 1: did not find expected node content",
		head + "title: \xff\n":             "invalid",
		head + "budget: 30\n":              `line 2: budget: "30" is not a time above 0`,
		head + "budget: 0s\n":              `line 2: budget: "0s" is not a time above 0`,
		head + "samples: 0\n":              `line 2: samples: "0" is not a whole number of at least 1`,
		head + "warmup: -1\n":              `line 2: warmup: "-1" is not a whole number of at least 0`,
		head + "seed: -1\n":                `line 2: seed: "-1" is not a whole number below 2^64`,
		head + "margin: 100%\n":            `line 2: margin: "100%" is not a fraction between 0 and 1`,
		head + "flags: 5\n":                `line 2: flags: expected keys with values, got "5"`,
		head + "flags: {workers: []}\n":    "line 2: workers: expected a list, got an empty list",
		head + "flags:\n  workers:\n":      "line 3: workers: expected a value, got nothing",
		head + "flags: {workers: [[1]]}":   "line 2: workers: expected a value, got a list",
		head + "flags: {a: [1], a: 2}\n":   `line 2: flags: "a" is already given on line 2`,
		head + "groups:\n - flags: {}\n":   "line 3: a group has no name",
		head + "groups:\n - nmae: x\n":     `line 3: groups: unknown key "nmae"`,
		head + "exclude: [{}]\n":           "line 2: exclude: no condition is given",
		head + "exclude: {group: a}\n":     "line 2: exclude: expected a list, got keys with values",
		head + "columns: [{title: x}]\n":   "line 2: a column needs a title and a flag",
		head + "columns: [{flag: x}]\n":    "line 2: a column needs a title and a flag",
		head + "columns: [{style: bar}]":   `line 2: style: unknown style "bar"; there are value, truth, cpus`,
		head + "flags: &f {a: *f}\n":       "line 2: a: expected a list, got an alias",
		bomb:                               "line 5: b: expected a value, got an alias",
		head + strings.Repeat("[", 20_000): "line 2: ",

		head + "flags: " + strings.Repeat("{a: ", 12_000):        "exceeded max depth",
		head + "groups:\n" + strings.Repeat(" - {name: x}\n", 2): `line 4: two groups have the name "x"`,
		head + "# " + strings.Repeat("x", 64<<10):                "it is longer than 64 KiB",
	} {
		_, err := matrix.ReadSpec(strings.NewReader(text))
		shown := text[:min(len(text), 60)]
		require.ErrorContains(t, err, want, "%q", shown)
		assert.NotContains(t, err.Error(), "\n", "%q", shown)
		assert.False(t, strings.HasPrefix(err.Error(), "yaml"), "%q: %v", shown, err)
	}

	_, err := matrix.ReadSpec(strings.NewReader(head + "grops: []\n"))
	assert.Contains(t, hint.Of(err), "groups, exclude, baseline, contrasts, columns")
	_, err = matrix.ReadSpec(strings.NewReader(head + "margin: 2\n"))
	assert.Contains(t, hint.Of(err), "2% or 0.02")
	broken := errors.New("broken")
	_, err = matrix.ReadSpec(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
}

// FuzzReadSpec checks that any text is a spec or an error of one line, and that any spec has valid cells or such an
// error.
func FuzzReadSpec(f *testing.F) {
	files, err := filepath.Glob("presets/*.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Add(bomb)
	f.Add("experiment: primes\nflags: {workers: [1, 2], pin-cpus: [all, ''], nice: 0}\nexclude: [{nice: 0, workers: 2}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := matrix.ReadSpec(strings.NewReader(text))
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		cells, baseline, err := s.Cells(primes)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Less(t, baseline, len(cells))
		require.LessOrEqual(t, len(cells), matrix.MaxCells)
		seen := map[string]bool{}
		for _, c := range cells {
			require.False(t, seen[c.Name], c.Name)
			seen[c.Name] = true
			require.Equal(t, c.Flags, flagsOf(c.Command))
		}
	})
}
