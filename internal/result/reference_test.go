package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReferenceCompare(t *testing.T) {
	r := &Reference{Rows: []ReferenceRow{
		{Row: 4, Figures: map[string]float64{"seconds": 10}},
		{Row: 7, Figures: map[string]float64{"seconds": 5}},
		{Row: 8, Figures: map[string]float64{"other": 5}},
	}}
	r.Compare("seconds", func(int) int { return 4 })
	ratio, found := r.Figure(7, ReferenceRatio)
	assert.True(t, found)
	assert.InDelta(t, 0.5, ratio, 1e-9)
	_, found = r.Figure(8, ReferenceRatio)
	assert.False(t, found, "it has no such figure")
	assert.Len(t, r.Columns, 1)

	r = &Reference{Rows: []ReferenceRow{{Row: 1, Figures: map[string]float64{"seconds": 5}}}}
	r.Compare("seconds", func(int) int { return 0 })
	assert.Empty(t, r.Columns, "the text has no row of the baseline")

	_, found = (*Reference)(nil).Figure(0, "seconds")
	assert.False(t, found)
}
