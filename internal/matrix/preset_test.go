package matrix_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/hint"
	"gorun/internal/matrix"
)

// Each preset has a file, and each file is a preset.
func TestPresetsAreTheFiles(t *testing.T) {
	files, err := filepath.Glob("../../testdata/matrix/*.yaml")
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

// The rows of the original table: its focuses in their order, its features, its numbers of workers.
func TestClassic(t *testing.T) {
	s, err := matrix.Preset("classic")
	require.NoError(t, err)
	cells, baseline, err := s.Cells(primes)
	require.NoError(t, err)
	var rows []string
	for _, c := range cells {
		assert.Equal(t, "200000", c.Flags["limit"])
		assert.NotEmpty(t, c.Comment, c.Name)
		value := func(flag, unset string) string {
			if v, given := c.Flags[flag]; given {
				return v
			}
			return unset
		}
		rows = append(rows, strings.Join([]string{
			c.Group, value("serial", "F"), value("lock-thread", "F"), value("pin-cpus", "F"), value("pin-thread", "F"),
			value("nice", "default"), value("workers", ""),
		}, " | "))
	}
	assert.Equal(t, `
No GR | true | F | F | F | default | 50
No GR | true | F | F | F | default | 500
No GR | true | F | F | F | default | 2000
No GR | true | F | F | F | default | 20000
GR ON | F | F | F | F | default | 50
GR ON | F | F | F | F | default | 500
GR ON | F | F | F | F | default | 2000
GR ON | F | F | F | F | default | 20000
GR ON | F | F | F | F | default | 50000
GR ON | F | F | F | F | default | 100000
F1-LK GR | F | true | F | F | default | 50
F1-LK GR | F | true | F | F | default | 500
F1-LK GR | F | true | F | F | default | 2000
F1-LK GR | F | true | F | F | default | 20000
F2-1 CPU | F | false | share:1/65536 | F | default | 50
F2-1 CPU | F | false | share:1/65536 | F | default | 500
F2-1 CPU | F | false | share:1/65536 | F | default | 2000
F2-1 CPU | F | false | share:1/65536 | F | default | 20000
F2-half | F | true | share:1/2 | F | default | 50
F2-half | F | true | share:1/2 | F | default | 500
F2-half | F | true | share:1/2 | F | default | 2000
F2-half | F | true | share:1/2 | F | default | 20000
F2-all | F | true | all | F | default | 50
F2-all | F | true | all | F | default | 500
F2-all | F | true | all | F | default | 2000
F2-all | F | true | all | F | default | 20000
F3-LK T | F | F | F | true | default | 50
F3-LK T | F | F | F | true | default | 500
F3-LK T | F | F | F | true | default | 2000
F3-LK T | F | F | F | true | default | 20000
F4-PRTY | F | F | F | F | 0 | 50
F4-PRTY | F | F | F | F | 0 | 500
F4-PRTY | F | F | F | F | 0 | 2000
F4-PRTY | F | F | F | F | 0 | 20000
F1,2,3,4 | F | true | all | true | 0 | 50
F1,2,3,4 | F | true | all | true | 0 | 500
F1,2,3,4 | F | true | all | true | 0 | 2000
F1,2,3,4 | F | true | all | true | 0 | 20000
`, "\n"+strings.Join(rows, "\n")+"\n")
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

// The preset original has the rows of the classic table, with the original's division, and not its fault.
func TestOriginal(t *testing.T) {
	classic, err := matrix.Preset("classic")
	require.NoError(t, err)
	s, err := matrix.Preset("original")
	require.NoError(t, err)
	assert.Equal(t, matrix.Override(classic, []matrix.Axis{axis("limit", "200000"), axis("method", "modulo")}).Groups, s.Groups)
	assert.Equal(t, classic.Contrasts, s.Contrasts)
	assert.NotEqual(t, classic.Title, s.Title)
	assert.Greater(t, s.Budget, classic.Budget)

	for _, p := range matrix.PresetsOf("primes") {
		s, err := matrix.Preset(p.Name)
		require.NoError(t, err)
		cells, _, err := s.Cells(primes)
		require.NoError(t, err)
		for _, c := range cells {
			assert.NotEqual(t, "original", c.Flags["split"], p.Name)
		}
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

func TestQuickIsQuick(t *testing.T) {
	s, err := matrix.Preset("quick")
	require.NoError(t, err)
	assert.LessOrEqual(t, s.Budget, time.Minute)
	assert.Positive(t, s.Budget)
	cells, baseline, err := s.Cells(primes)
	require.NoError(t, err)
	assert.Zero(t, baseline, "the first row is what the others are compared with")
	assert.LessOrEqual(t, len(cells), 8)
}
