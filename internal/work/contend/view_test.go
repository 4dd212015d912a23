package contend

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/base/packed"
	"gorun/internal/record/result"
)

func TestInvalidRowsAreNotOnCurves(t *testing.T) {
	samples := append(row(0, 1, 0, ByTime, 1, 30), row(1, 2, 0, ByTime, 1, 147)...)
	run := &result.Run{Experiment: "contend", Samples: packed.Of(samples...)}
	_, drawn := drawCurves(run)
	assert.True(t, drawn)
	samples[1].Quality.Grade = result.Invalid
	run.Samples = packed.Of(samples...)
	_, drawn = drawCurves(run)
	assert.False(t, drawn)
}
