package contend

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
)

func TestInvalidRowsAreNotOnCurves(t *testing.T) {
	run := &result.Run{Experiment: "contend", Samples: append(row(0, 1, 0, ByTime, 1, 30), row(1, 2, 0, ByTime, 1, 147)...)}
	_, drawn := drawCurves(run)
	assert.True(t, drawn)
	run.Samples[1].Quality.Grade = result.Invalid
	_, drawn = drawCurves(run)
	assert.False(t, drawn)
}
