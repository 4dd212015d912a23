package stats

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// climb makes a search in order among steps that do twice the work, as package matrix does: each step has a judge of its own, and the next
// begins when it is claimed to scale. ratios are the true ratios of the times of each step; draw returns the noise of a sample, as a
// factor of its time, of the cell that does more or of another. It returns the kinds of the steps that were tried.
func climb(t testing.TB, seed uint64, rounds int, ratios []float64, draw func(more bool) float64) (kinds []Kind) {
	t.Helper()
	for i, ratio := range ratios {
		d := design(seed+uint64(i), 2)
		d.Comparisons, d.Step = 4, &Step{Work: 2, Count: len(ratios)} // by wall time and CPU time
		r := newRace(t, d)
		for !r.Done() && r.Rounds() < rounds {
			round := r.Next()
			var seconds []float64
			for _, cell := range round[0] {
				s := draw(cell == 1)
				if cell == 1 {
					s *= ratio
				}
				seconds = append(seconds, s)
			}
			require.NoError(t, r.Add(round, seconds))
		}
		kind := r.Found()[1].Kind
		assert.Equal(t, r.Scales(), kind == Scales)
		if kinds = append(kinds, kind); kind != Scales {
			return kinds
		}
	}
	return kinds
}

// wrongStep returns the kind of the first claim of a search that is wrong; "": none is. At the threshold itself, both claims count.
func wrongStep(kinds []Kind, ratios []float64) Kind {
	scale := (&Step{Work: 2}).scale(0.02)
	for i, kind := range kinds {
		if kind == Scales && ratios[i] >= scale || kind == Stops && ratios[i] <= scale {
			return kind
		}
	}
	return ""
}

// Of the searches among numbers that do not scale, that just do not, and that do, few claim something wrong, in either family: on recorded
// noise, and where the cell that does more has 1, 2 and 5 times the spread of the other, also with a long tail.
func TestStepsAreSeldomWrong(t *testing.T) {
	withReplays(t, 2, 400, func(t *testing.T, replays int) {
		const rounds = 100
		scale := (&Step{Work: 2}).scale(0.02)
		programs := map[string][]float64{
			"equal":               {2, 2, 2, 2},
			"just not scaling":    {scale, scale, scale, scale},
			"scaling":             {1, 1, 1, 1},
			"just scaling":        {scale * 0.99, scale * 0.99, scale * 0.99, scale * 0.99},
			"scaling, up to then": {1, 1, scale, scale},
		}
		type source func(replay int) func(more bool) float64
		noises := map[string]source{}
		paths, err := filepath.Glob("../../testdata/noise/*.seq?.*.csv")
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			trace := traces(t, filepath.Base(path))
			noises[filepath.Base(path)] = func(replay int) func(bool) float64 {
				n := start(trace, replay, replays)
				return func(bool) float64 { return n.next() }
			}
		}
		for _, shape := range samplers {
			for _, spread := range []float64{1, 2, 5} {
				times := func(r *rand.Rand) float64 { return spread * shape.draw(r) }
				middle := 0.0 // of the cell that does more, against the other: its ratio is the true one there
				if !shape.symmetric {
					middle = centre(times, shape.draw)
				}
				noises[shape.name+", spread "+strconv.Itoa(int(spread))] = func(replay int) func(bool) float64 {
					source := rand.New(rand.NewPCG(uint64(replay), 5))
					return func(more bool) float64 {
						x := shape.draw(source)
						if more {
							x = times(source) - middle
						}
						return math.Exp(max(-300, min(300, 0.02*x)))
					}
				}
			}
		}
		for program, ratios := range programs {
			wrong := map[Kind]int{}
			for name, noise := range noises {
				own := map[Kind]int{}
				for replay := range replays {
					own[wrongStep(climb(t, uint64(replay), rounds, ratios, noise(replay)), ratios)]++
				}
				for _, kind := range [...]Kind{Scales, Stops} {
					wrong[kind] += own[kind]
					assert.LessOrEqual(t, own[kind], most(replays), "%s, %s: %s", program, name, kind)
				}
				t.Logf("%-20s %-22s of %d searches, %d claim wrongly that a step scales, %d that it does not", program, name, replays, own[Scales], own[Stops])
			}
			for _, n := range wrong {
				assert.LessOrEqual(t, n*100, 5*replays*len(noises), program)
			}
		}
	})
}

// Steps are decided in few rounds where the answer is clear, and the search ends where it does not scale.
func TestClimb(t *testing.T) {
	of := func(ratios ...float64) []Kind {
		source := rand.New(rand.NewPCG(1, 1))
		return climb(t, 1, 12, ratios, func(bool) float64 { return math.Exp(0.01 * source.NormFloat64()) })
	}
	assert.Equal(t, []Kind{Scales, Scales, Scales}, of(1, 1.2, 1.8))
	assert.Equal(t, []Kind{Scales, Stops}, of(1.05, 2.2, 1))
	assert.Equal(t, []Kind{CantTell}, of(1.96))
}

// The ends of a step's interval: what scales is tested at the whole error of a step, what does not at that of a step among all.
func TestStepLimits(t *testing.T) {
	limits := func(step *Step) (lower, upper float64) {
		d := design(1, 2)
		d.Comparisons, d.Step = 4, step
		of := newRace(t, d).comparisons[1].typical
		return of.lower.limit, of.upper.limit
	}
	lower, upper := limits(nil)
	stops, scales := limits(&Step{Work: 2, Count: 5})
	assert.InEpsilon(t, 5*lower, stops, 1e-12)
	assert.InEpsilon(t, upper, scales, 1e-12)
	assert.InEpsilon(t, 2*4/(0.8*0.05), scales, 1e-12)
}

// The words of a step give the ratio of the throughputs. Those of a step that is open also say what more rounds would decide.
func TestStepWords(t *testing.T) {
	v := Verdict{Kind: Scales, Typical: Effect{Ratio: 1.25, Lo: 1, Hi: 1.6}, Rounds: 9, Margin: 0.02, Step: 0.001, Scale: 2 / 1.02}
	assert.Equal(t, "scales: 1.25–2.00 × as much, 9 rounds", v.String())
	assert.InEpsilon(t, 1.6, v.Shown(v.Typical).Ratio, 1e-12)
}
