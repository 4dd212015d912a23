package view

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/packed"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
)

func TestMediansAreOfGoodSamples(t *testing.T) {
	var samples []result.Sample
	for i, wall := range []float64{2.81, 2.75, 2.93, 3.41, 2.79} {
		samples = append(samples, result.Sample{Index: i, Seconds: wall})
	}
	samples[2].Quality.Grade = result.Suspect
	samples[3].Quality.Grade = result.Invalid
	kept := Summarised(packed.Of(samples...))
	require.Equal(t, 4, kept.Len(), "the invalid sample is out")
	wall, ok := SpreadOf(kept, column.Wall)
	require.True(t, ok)
	assert.Equal(t, table.Spread{Median: 2.8, Least: 2.75, Most: 2.93, Unit: column.Seconds}, wall)
	assert.Equal(t, 2.79, result.Typical(kept).Seconds)

	partial := packed.Of(result.Sample{Partial: true})
	assert.Equal(t, partial, Summarised(partial), "without a good sample, what there is")
	assert.Nil(t, result.Typical(result.Samples{}))
	_, ok = SpreadOf(kept, column.Workers[0])
	assert.False(t, ok)
}
