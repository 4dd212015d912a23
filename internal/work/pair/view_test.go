package pair

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
)

// The judged CPU time is the sum of both processes over the loops of one.
func TestCPUPerLoop(t *testing.T) {
	s := result.Sample{UserSeconds: 0.5, SystemSeconds: 0.25, Values: result.FiguresOf(&Figures{Loops: 1000})}
	figure, known := cpuPerLoop.Number(&s)
	assert.True(t, known)
	assert.InDelta(t, 0.75e9/1000, figure, 1e-9)
	_, known = cpuPerLoop.Number(&result.Sample{UserSeconds: 1})
	assert.False(t, known, "a sample without loops")
}
