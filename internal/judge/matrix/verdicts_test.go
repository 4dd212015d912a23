package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// A baseline that differs from its duplicate hides the differences that are not larger. In older runs it hid all of them.
func TestControlDiffers(t *testing.T) {
	play := func(rules int) (large, small *stats.Verdict, control stats.Verdict) {
		run := workers(3)
		run.Matrix.Rules = rules
		f := fake{ratios: map[string]float64{"workers=1": 1.3, "workers=2": 1.02}, spoil: func(s *result.Sample, _ string) {
			if s.Control {
				s.Seconds *= 1.05
			}
		}}
		f.play(t, run, 100)
		return run.Cells[1].Verdict, run.Cells[2].Verdict, *run.Matrix.Control
	}
	const hidden = "the baseline differs from its own duplicate"
	large, small, control := play(matrix.Rules)
	assert.Equal(t, stats.Slower, control.Kind)
	assert.Equal(t, stats.Slower, large.Kind)
	assert.Less(t, large.Typical.Lo, 1.3/1.03, "the interval has what the control leaves uncertain")
	assert.Equal(t, stats.CantTell, small.Kind)
	assert.Contains(t, small.Reason, hidden)
	large, _, _ = play(6)
	assert.Equal(t, stats.CantTell, large.Kind)
	assert.Contains(t, large.Reason, hidden)
}
