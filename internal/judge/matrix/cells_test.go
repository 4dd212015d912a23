package matrix_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/base/hint"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

// primes are flags as gorun primes has them.
var primes = []matrix.Flag{
	{Name: "limit", Default: "200000"},
	{Name: "workers", Default: "0"},
	{Name: "dispatch", Default: "goroutine"},
	{Name: "serial", Switch: true, Default: "false"},
	{Name: "lock-thread", Switch: true, Default: "false"},
	{Name: "pin-cpus", List: true},
	{Name: "pin-thread", Switch: true, Default: "false"},
	{Name: "nice"},
	{Name: "method", Default: "brute"},
	{Name: "split", Default: "contiguous"},
}

func axis(flag string, values ...string) matrix.Axis { return matrix.Axis{Flag: flag, Values: values} }

// spec is one nameless group of the axes.
func spec(axes ...matrix.Axis) matrix.Spec {
	return matrix.Override(matrix.Spec{Experiment: "primes"}, axes)
}

func names(cells []result.Cell) []string {
	var names []string
	for _, c := range cells {
		names = append(names, c.Name)
	}
	return names
}

func TestCellsOfGroups(t *testing.T) {
	s := matrix.Spec{Experiment: "primes", Groups: []matrix.Group{
		{Name: "floating", Comment: "anywhere", Axes: []matrix.Axis{axis("workers", "2", "4"), axis("nice", "5")}},
		{Name: "one", Axes: []matrix.Axis{axis("nice", "5")}},
		{Name: "default", Axes: []matrix.Axis{axis("nice", "5"), axis("workers", "0")}}, // not the cell of the group one
		{Name: "it's pinned", Axes: []matrix.Axis{axis("nice", "5"), axis("pin-cpus", "none", "0-3:1/2,8", "it's;x")}},
	}}
	s.Baseline = matrix.Conditions{"group": "one"}
	cells, baseline, err := s.Cells(primes)
	require.NoError(t, err)
	assert.Equal(t, 2, baseline)
	assert.Equal(t, []string{
		"floating --workers 2", "floating --workers 4", "one", "default",
		"it's pinned --pin-cpus none", "it's pinned --pin-cpus 0-3:1/2,8", `it's pinned --pin-cpus 'it'\''s;x'`,
	}, names(cells), "nice does not differ; what a shell would change is quoted")
	assert.Equal(t, "floating", cells[1].Group)
	assert.Equal(t, "anywhere", cells[1].Comment)
	assert.Equal(t, result.Argv{"primes", "--nice=5"}, cells[2].Command)
	assert.Equal(t, result.Argv{"primes", "--pin-cpus=none", "--nice=5"}, cells[4].Command)

	s.Baseline = nil
	_, baseline, err = s.Cells(primes)
	require.NoError(t, err)
	assert.Zero(t, baseline, "the first, unless one is named")
}

// A text with commas is read as on the command line, an element of a list as it is written; conditions may name
// parameters, and are printed as they are read.
func TestCellsWithCommas(t *testing.T) {
	read := func(text string) []string {
		s, err := matrix.ReadSpec(strings.NewReader("experiment: primes\n" + text))
		require.NoError(t, err)
		cells, _, err := s.Cells(primes)
		require.NoError(t, err)
		return names(cells)
	}
	two := []string{"--method 1,2", "--method 3"}
	assert.Equal(t, two, read(`flags: {method: '1\,2,3'}`))
	assert.Equal(t, two, read(`flags: {method: ['1,2', 3]}`))
	assert.Equal(t, two, read("flags: {method: ['1,2', 3, '4,x=5']}\nexclude: [{method: '4\\,x=5'}]"))

	s := matrix.Spec{Groups: []matrix.Group{
		{Name: "a", Parameters: map[string]string{"p": "1,x=2", "workers": "7"}, Axes: []matrix.Axis{axis("workers", "1")}},
		{Name: "b", Parameters: map[string]string{"p": "3"}, Axes: []matrix.Axis{axis("workers", "1")}},
		{Name: "c", Axes: []matrix.Axis{axis("workers", "2")}},
	}}
	exclude := func(text string) ([]string, error) {
		conditions, err := matrix.ParseConditions(text)
		require.NoError(t, err)
		s.Exclude = []matrix.Conditions{conditions}
		cells, _, err := s.Cells(primes)
		return names(cells), err
	}
	kept, err := exclude(`p=1\,x=2`)
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "c"}, kept)
	_, err = exclude("workers=7")
	require.ErrorContains(t, err, "no cell has workers=7", "the flag of this name, not the parameter")
	_, err = exclude(`p=1\,x=3`)
	require.ErrorContains(t, err, `no cell has p=1\,x=3`)
	assert.Contains(t, hint.Of(err), `p is '1\,x=2', 3, ''`)
}

func TestCellsErrors(t *testing.T) {
	many := make([]string, matrix.MaxCells+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	two, thousands, eight := axis("workers", "1", "2"), axis("limit", many[:2000]...), many[:8192]
	group := func(name string, axis matrix.Axis) matrix.Group {
		return matrix.Group{Name: name, Axes: []matrix.Axis{axis}}
	}
	with := func(change func(*matrix.Spec), axes ...matrix.Axis) matrix.Spec {
		s := spec(axes...)
		change(&s)
		return s
	}
	exclude := func(flag, value string) matrix.Spec {
		return with(func(s *matrix.Spec) { s.Exclude = []matrix.Conditions{{flag: value}} }, two)
	}
	baseline := func(conditions matrix.Conditions, axis matrix.Axis) matrix.Spec {
		return with(func(s *matrix.Spec) { s.Baseline = conditions }, axis)
	}
	column := func(title, flag, style string) matrix.Spec {
		return with(func(s *matrix.Spec) { s.Columns = []result.FlagColumn{{Title: title, Flag: flag, Style: style}} }, two)
	}
	groups := func(groups ...matrix.Group) matrix.Spec { return matrix.Spec{Experiment: "primes", Groups: groups} }
	for _, c := range []struct {
		spec       matrix.Spec
		want, hint string
	}{
		{spec(axis("workers", "1")), "at least 2 cells, and this one has 1", "several values"},
		{spec(axis("workers", "1"), axis("pin-cpus", "0,1")), "at least 2 cells, and this one has 1", "--pin-cpus '0 1' has several values"},
		{spec(axis("wrokers", "1", "2")), `gorun primes has no flag "wrokers"`, "--limit, --workers,"},
		{spec(axis("workers")), "--workers has no value", ""},
		{spec(axis("pin-cpus", "")), "--pin-cpus has an empty value", ""},
		{spec(axis("workers", "1", "2", "1")), `--workers has the value "1" twice`, ""},
		{spec(axis("serial", "true", "1")), `--serial has the value "true" twice`, ""},
		{spec(axis("serial", "yes")), `--serial is a switch, true or false, and cannot be "yes"`, ""},
		{spec(axis("limit", many...)), "more than 10000 cells", "fewer"},
		{spec(thousands, axis("workers", many[:6]...)), "more than 10000 cells", "fewer"},
		{
			// 2^65 cells, which an int counts as none
			spec(axis("limit", eight...), axis("workers", eight...), axis("nice", eight...), axis("pin-cpus", eight...), axis("dispatch", eight...)),
			"more than 10000 cells", "fewer",
		},
		{spec(thousands, axis("dispatch", strings.Repeat("x", 1<<20))), "the values of all cells would take more than 64 MiB", "shorter"},
		{groups(slices.Repeat([]matrix.Group{group("", thousands)}, 6)...), "more than 10000 cells", "fewer"},
		{groups(group("a", two), group("b", two)), `cells "a --workers 1" and "b --workers 1" have the same flags`, "exclude"},
		{groups(group("a --workers 1", axis("limit", "5")), group("a", two)), `cells have the name "a --workers 1"`, "rename"},
		{exclude("workers", "3"), "exclude: no cell has workers=3", "workers is 1, 2"},
		{exclude("workres", "1"), `exclude: gorun primes has no flag "workres"`, "--workers"},
		{baseline(matrix.Conditions{"serial": "true", "group": "x"}, two), "baseline: no cell has group=x,serial=true", "group is ''; serial is false"},
		{
			baseline(matrix.Conditions{"limit": "x"}, axis("limit", many[:20]...)),
			"baseline: no cell has limit=x", "limit is 0, 1, 2, 3, 4, 5, 6, 7, …",
		},
		{
			baseline(matrix.Conditions{"serial": "false"}, two),
			`baseline: 2 cells have serial=false, the first of them "--workers 1" and "--workers 2"`, "one cell is left",
		},
		{baseline(matrix.Conditions{"serial": "off"}, two), `baseline: --serial is a switch`, ""},
		{column("W", "wrokers", ""), `column "W": gorun primes has no flag "wrokers"`, "--workers"},
		{column("W", "workers", "truth"), `column "W": workers cannot be shown in the style truth`, ""},
		{column("G", "group", "cpus"), `column "G": group cannot be shown in the style cpus`, ""},
	} {
		_, _, err := c.spec.Cells(primes)
		require.ErrorContains(t, err, c.want)
		assert.Contains(t, hint.Of(err), c.hint, c.want)
		assert.Equal(t, c.hint == "", hint.Of(err) == "", c.want)
	}
}

// The cells are all combinations, each once, in counting order; names are unique; a command holds all flags.
func TestCellsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flags := rapid.Permutation(primes).Draw(t, "flags")[:rapid.IntRange(1, 4).Draw(t, "axes")]
		var axes []matrix.Axis
		total := 1
		for _, f := range flags {
			values := rapid.SliceOfNDistinct(rapid.StringMatching(`[-a-z0-9 ';,=$]{1,4}`), 1, 4, rapid.ID).Draw(t, f.Name)
			if f.Switch {
				values = rapid.SampledFrom([][]string{{"true"}, {"false", "true"}, {"true", "false"}}).Draw(t, f.Name)
			}
			axes = append(axes, axis(f.Name, values...))
			total *= len(values)
		}
		cells, _, err := spec(axes...).Cells(primes)
		if total < 2 {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Len(t, cells, total)
		seen := map[string]bool{}
		var last []int
		for _, c := range cells {
			require.False(t, seen[c.Name], c.Name)
			seen[c.Name] = true
			var place []int
			for _, a := range axes {
				place = append(place, slices.Index(a.Values, c.Flags[a.Flag]))
			}
			require.NotContains(t, place, -1)
			require.Negative(t, slices.Compare(last, place), "%v then %v", last, place)
			last = place
			require.Equal(t, c.Flags, flagsOf(c.Command))
		}
	})
}

// flagsOf reads a command back.
func flagsOf(command []string) map[string]string {
	flags := map[string]string{}
	for _, argument := range command[1:] {
		name, value, given := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		if !given {
			value = "true"
		}
		flags[name] = value
	}
	return flags
}

func TestParseValues(t *testing.T) {
	workers, serial, pin := primes[1], primes[3], primes[5]
	for _, c := range []struct {
		flag matrix.Flag
		text string
		want []string
	}{
		{workers, "50", []string{"50"}},
		{workers, "50, 500,0x10", []string{"50", "500", "0x10"}},
		{workers, `1\,2,3`, []string{"1,2", "3"}},
		{serial, "true,F,1", []string{"true", "false", "true"}},
		{pin, "0,2-3", []string{"0,2-3"}},
		{pin, " 0,2  all share:1/2 ", []string{"0,2", "all", "share:1/2"}},
	} {
		values, err := matrix.ParseValues(c.flag, c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, values, c.text)
	}
	for _, c := range []struct {
		flag       matrix.Flag
		text, want string
	}{
		{workers, "", "a value is missing"},
		{workers, "50,,500", "a value is missing"},
		{pin, "  ", "a value is missing"},
		{matrix.Flag{Name: "metric", Whole: true}, "", "a value is missing"},
		{serial, "yes", "true or false"},
	} {
		values, err := matrix.ParseValues(c.flag, c.text)
		require.ErrorContains(t, err, c.want, c.text)
		assert.Nil(t, values)
	}
}

func TestOverride(t *testing.T) {
	s := matrix.Spec{Title: "kept", Groups: []matrix.Group{
		{Name: "a", Axes: []matrix.Axis{axis("limit", "5"), axis("workers", "1", "2")}},
		{Name: "b", Axes: []matrix.Axis{axis("workers", "3")}},
	}}
	before := slices.Clone(s.Groups[0].Axes)
	changed := matrix.Override(s, []matrix.Axis{axis("limit", "7", "8"), axis("nice", "1")})
	assert.Equal(t, matrix.Spec{Title: "kept", Groups: []matrix.Group{
		{Name: "a", Axes: []matrix.Axis{axis("limit", "7", "8"), axis("workers", "1", "2"), axis("nice", "1")}},
		{Name: "b", Axes: []matrix.Axis{axis("workers", "3"), axis("limit", "7", "8"), axis("nice", "1")}},
	}}, changed)
	assert.Equal(t, before, s.Groups[0].Axes, "the given spec is not changed")
}

func TestParseFraction(t *testing.T) {
	for text, want := range map[string]float64{"2%": 0.02, "0.02": 0.02, " 2.5 %": 0.025, "1e-3": 0.001, "99%": 0.99} {
		f, err := matrix.ParseFraction(text)
		require.NoError(t, err, text)
		assert.InDelta(t, want, f, 1e-15, text)
	}
	for _, text := range []string{"", "%", "2", "0", "0%", "100%", "-1%", "1.0", "NaN", "inf", "x", "2%%"} {
		_, err := matrix.ParseFraction(text)
		require.Error(t, err, text)
		assert.Contains(t, hint.Of(err), "2% or 0.02")
	}
}
