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

// Each preset has its file, and each file is offered.
func TestPresetsAreTheFiles(t *testing.T) {
	files, err := filepath.Glob("../../testdata/matrix/*.yaml")
	require.NoError(t, err)
	assert.Len(t, files, len(matrix.Presets))
	for _, p := range matrix.Presets {
		assert.NotEmpty(t, p.Usage)
		s, err := matrix.Preset(p.Name)
		require.NoError(t, err, p.Name)
		_, _, err = s.Cells(primes)
		require.NoError(t, err, p.Name)
	}
	_, err = matrix.Preset("../quick")
	require.EqualError(t, err, `there is no preset "../quick"`)
	for _, p := range matrix.Presets {
		assert.Contains(t, hint.Of(err), p.Name)
	}
}

// The rows of the table that gorun grew from: its focuses in their order, its features, its numbers of workers.
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
	assert.Equal(t, []string{"FOCUS", "F1 LK-GR", "F2 LK-CPU", "F3 LK-T", "F4 PRTY", "Workers"}, titles)
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
