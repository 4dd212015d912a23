package matrix_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// laidOut judges runs of two programs whose speeds depend on the layout, each in its own way, and counts the verdicts. effect is
// the deviation of a layout's effect, and code the ratio of the typical layouts.
func laidOut(t *testing.T, cells, layouts, rounds int, effect, code float64) (kinds map[stats.Kind]int, last *result.Run) {
	const runs = 300
	kinds = map[stats.Kind]int{}
	for i := range runs {
		random := rand.New(rand.NewPCG(uint64(i), uint64(layouts)))
		effects := map[string]float64{}
		run := workers(cells)
		for cell := range cells {
			for layout := range layouts {
				effects[fmt.Sprintf("workers=%d %d", cell, layout)] = effect * random.NormFloat64()
			}
		}
		run.Matrix.Layouts, run.Seed = layouts, uint64(i)
		fake{session: uint64(i), spoil: func(s *result.Sample, cell string) {
			s.Seconds *= math.Exp(effects[fmt.Sprint(cell, " ", s.Round%layouts)])
			if cell != "workers=0" {
				s.Seconds *= code
			}
		}}.play(t, run, rounds)
		of := map[stats.Kind]bool{}
		for _, cell := range run.Cells[1:] {
			of[cell.Verdict.Kind] = true
		}
		for kind := range of {
			kinds[kind]++
		}
		last = run
	}
	return kinds, last
}

// A verdict is about the code, and not about the layouts that the run happens to have: of runs that compare equal code, at
// most one in twenty claims a difference, whether layouts matter less than noise, whose deviation is 0.4%, as much, or far more.
func TestLayoutsAreNoClaimAboutTheCode(t *testing.T) {
	t.Parallel()
	const most = 23 // of 300, at a rate of 5%: more have a probability below 2%
	for _, effect := range []float64{0.002, 0.005, 0.02, 0.2} {
		for _, c := range []struct{ cells, layouts, rounds int }{
			{2, 6, 24}, {2, 24, 24}, {4, 8, 24},
		} {
			kinds, _ := laidOut(t, c.cells, c.layouts, c.rounds, effect, 1)
			assert.LessOrEqual(t, kinds[stats.Slower]+kinds[stats.Faster]+kinds[stats.Mixed], most, "effect %v, %+v: %v", effect, c, kinds)
		}
	}
	// Two programs that differ by slightly more than the margin are not claimed to be equal either.
	kinds, _ := laidOut(t, 2, 6, 24, 0.02, 1.021)
	assert.LessOrEqual(t, kinds[stats.Same], most, kinds)
	// The verdict on the layouts alone is a claim about the code only by chance.
	kinds, _ = laidOut(t, 2, 1, 24, 0.02, 1)
	assert.Greater(t, kinds[stats.Slower]+kinds[stats.Faster], 200, kinds)
}

// A difference that all layouts show is found, and each layout's ratio is kept.
func TestLayoutsAgree(t *testing.T) {
	t.Parallel()
	kinds, run := laidOut(t, 2, 8, 24, 0.02, 1.1)
	assert.Greater(t, kinds[stats.Slower], 270, kinds)
	assert.Len(t, run.Cells[1].Layouts, 8)
	assert.Empty(t, run.Cells[0].Layouts)

	_, run = laidOut(t, 2, 4, 24, 0.0, 1.1)
	v := run.Cells[1].Verdict
	assert.Equal(t, stats.CantTell, v.Kind)
	assert.Greater(t, v.Typical.Lo, 1.05, "the interval for these layouts stays")
	assert.True(t, strings.HasPrefix(v.Reason, "for these 4 layouts slower: +"), v.Reason)
	assert.True(t, strings.HasSuffix(v.Reason, "; a verdict on the code needs at least 6 layouts"), v.Reason)
}
