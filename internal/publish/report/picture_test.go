package report

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
)

// README.md shows a drawing of a report: that of the recorded run "matrix".
func TestPictureOfReadme(t *testing.T) {
	const path = "../../../testdata/golden/ratios.svg"
	run := copyOf(t, "matrix")
	drawings := figuresOf(run, experiments)
	at := slices.IndexFunc(drawings, func(d experiment.Drawing) bool { return d.Anchor == "ratios" })
	figure, ok := drawings[at].Draw(run)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(figure.SVG), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "make update")
	assert.Equal(t, string(want), figure.SVG)
	text, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(text), "(testdata/golden/ratios.svg)")
}
