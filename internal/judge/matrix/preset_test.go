package matrix_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/judge/matrix"
)

// Each preset has a file, and each file is a preset.
func TestPresetsAreTheFiles(t *testing.T) {
	files, err := filepath.Glob("presets/*.yaml")
	require.NoError(t, err)
	assert.Len(t, files, len(matrix.Presets))
	for _, p := range matrix.Presets {
		assert.NotEmpty(t, p.Usage)
		s, err := matrix.Preset(p.Name)
		require.NoError(t, err, p.Name)
		assert.Equal(t, s.Experiment, p.Experiment, p.Name)
		if p.Experiment == "primes" {
			_, _, err = s.Cells(primes)
			require.NoError(t, err, p.Name)
		}
	}
	_, err = matrix.Preset("../quick")
	require.EqualError(t, err, `there is no preset "../quick"`)
	for _, p := range matrix.Presets {
		assert.Contains(t, hint.Of(err), p.Name)
	}
}

// The rows of the original table, in its order. A row with pinned goroutines has them locked unless it says otherwise.
func TestClassic(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/references/goroutines.tsv")
	require.NoError(t, err)
	var want, rows []string
	for line := range strings.Lines(string(text)) {
		if row := strings.Split(line, "\t"); len(row) == 7 && row[0] != "focus" {
			want = append(want, strings.Join(row[1:6], " "))
		}
	}
	require.Len(t, want, 38)
	s, err := matrix.Preset("classic")
	require.NoError(t, err)
	cells, baseline, err := s.Cells(primes)
	require.NoError(t, err)
	pinned := map[string]string{"share:1/65536": "T-1", "share:1/2": "T-8", "all": "T-16"} // on the original's 16 CPUs
	truth := map[bool]string{true: "T", false: "F"}
	for _, c := range cells {
		assert.Equal(t, "200000", c.Flags["limit"])
		assert.NotEmpty(t, c.Comment, c.Name)
		lock, cpus := c.Flags["lock-thread"], c.Flags["pin-cpus"]
		on := cmp.Or(pinned[cpus], map[bool]string{true: "F (1)", false: "F (16)"}[c.Flags["serial"] == "true"])
		rows = append(rows, strings.Join([]string{
			truth[lock == "true" || cpus != "" && lock == ""], on, truth[c.Flags["pin-thread"] == "true"],
			cmp.Or(c.Flags["nice"], "default"), c.Flags["workers"],
		}, " "))
	}
	assert.Equal(t, want, rows)
	assert.Equal(t, "GR ON --workers 50", cells[baseline].Name)
	var titles []string
	for _, c := range s.Columns {
		titles = append(titles, c.Title)
	}
	assert.Equal(t, []string{"FOCUS", "F1 LK-GR", "F2 LK-CPU", "F3 LK-T", "F4 PRTY", "Workers", "Comments"}, titles)

	contrasts, err := s.Contrasted(primes, cells, baseline)
	require.NoError(t, err)
	assert.Len(t, contrasts, 24, "37 cells and their control are compared with the baseline: 62 comparisons in all")
	for _, c := range contrasts {
		assert.Equal(t, "GR ON", cells[c.A].Group)
		assert.NotEqual(t, "GR ON", cells[c.B].Group)
		assert.Equal(t, cells[c.A].Flags["workers"], cells[c.B].Flags["workers"])
		assert.NotEqual(t, baseline, c.A)
	}
}

// Each cell is paired with the reference cell that has the same values of the flags in which reference cells differ.
func TestContrasted(t *testing.T) {
	s := matrix.Spec{Experiment: "primes", Groups: []matrix.Group{
		{Name: "a", Axes: []matrix.Axis{axis("workers", "1", "2", "3"), axis("serial", "false", "true")}},
		{Name: "b", Axes: []matrix.Axis{axis("workers", "2", "3", "4"), axis("nice", "5")}},
	}}
	cells, baseline, err := s.Cells(primes)
	require.NoError(t, err)
	pairs := func(conditions matrix.Conditions) (pairs []string) {
		s.Contrasts = conditions
		contrasts, err := s.Contrasted(primes, cells, baseline)
		require.NoError(t, err)
		for _, c := range contrasts {
			pairs = append(pairs, cells[c.B].Name+" with "+cells[c.A].Name)
		}
		return pairs
	}
	assert.Empty(t, pairs(nil))
	assert.Equal(t, []string{
		"b --workers 2 with a --workers 2 --serial=false", "b --workers 3 with a --workers 3 --serial=false",
	}, pairs(matrix.Conditions{"group": "a"}), "serial is false by default; nobody has 4 workers in a")
	assert.Equal(t, []string{
		"a --workers 2 --serial=false with b --workers 2", "a --workers 2 --serial with b --workers 2",
		"a --workers 3 --serial=false with b --workers 3", "a --workers 3 --serial with b --workers 3",
	}, pairs(matrix.Conditions{"group": "b"}))
	assert.Empty(t, pairs(matrix.Conditions{"group": "a", "workers": "1", "serial": "false"}), "that is the baseline")

	s.Contrasts = matrix.Conditions{"group": "c"}
	_, err = s.Contrasted(primes, cells, baseline)
	require.EqualError(t, err, "contrasts: no cell has group=c")
	s.Exclude = []matrix.Conditions{{"group": "c"}}
	_, err = s.Contrasted(primes, cells, baseline)
	require.NoError(t, err, "what was excluded is not compared with")
	s.Contrasts = matrix.Conditions{"colour": "red"}
	_, err = s.Contrasted(primes, cells, baseline)
	require.ErrorContains(t, err, `contrasts: gorun primes has no flag "colour"`)
}
