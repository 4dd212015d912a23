package matrix_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// design returns a run without samples whose cells have these values of a flag; the first is the baseline.
func design(flag string, values ...string) *result.Run {
	run := &result.Run{
		Experiment: "primes", Seed: 7,
		Matrix: &result.Matrix{Alpha: 0.05, Margin: 0.02, Precision: 0.02, Warmup: 1},
	}
	for _, value := range values {
		run.Cells = append(run.Cells, result.Cell{
			Name: "--" + flag + " " + value, Flags: map[string]string{flag: value},
			CPUs:    map[string]result.CPUs{"cpus": {List: "0-1", Count: 2, Relation: "same-core"}},
			Command: []string{"primes", "--" + flag + "=" + value},
		})
	}
	return run
}

// workers returns a design of n cells: workers=0 (the baseline), workers=1, …
func workers(cells int) *result.Run {
	values := make([]string, cells)
	for i := range values {
		values[i] = fmt.Sprint(i)
	}
	return design("workers", values...)
}

// fake takes samples without a process. The same work in the same round takes the same time, independent of the cells'
// names and numbers.
type fake struct {
	session uint64             // two of them differ in their noise
	scale   float64            // of all times; 0 is 1
	ratios  map[string]float64 // to the baseline, by a cell's content; 1 where it is absent
	spoil   func(s *result.Sample, cell string)
}

func (f fake) take(run *result.Run, slot result.Slot) result.Sample {
	cell := fmt.Sprint("candidate ", slot.Cell-len(run.Cells))
	if slot.Cell < len(run.Cells) {
		cell = matrix.Canonical(run.Cells[slot.Cell])
	}
	hash := fnv.New64a()
	fmt.Fprint(hash, cell, slot.Control, slot.Block)
	noise := rand.New(rand.NewPCG(hash.Sum64()+f.session, uint64(slot.Round)))
	slot.Elapsed = 0.1 * float64(run.Taken()+1)
	s := result.Sample{
		Index: run.Index(&result.Sample{Slot: &slot}), Slot: &slot, Seconds: 0.1 * math.Exp(0.004*noise.NormFloat64()),
		Quality: result.Quality{Grade: result.Valid},
	}
	for _, ratio := range []float64{f.scale, f.ratios[cell]} {
		if ratio != 0 {
			s.Seconds *= ratio
		}
	}
	if f.spoil != nil {
		f.spoil(&s, cell)
	}
	return s
}

// step takes the next sample.
func (f fake) step(judging *matrix.Judging, run *result.Run) error {
	s := f.take(run, judging.Next())
	judging.Check(&s)
	run.Samples.Append(&s)
	return judging.Add(s)
}

func newJudging(t require.TestingT, run *result.Run) *matrix.Judging {
	judging, err := matrix.NewJudging(run, column.Common())
	require.NoError(t, err)
	return judging
}

// play takes samples until the judging is done or has this number of rounds, and judges them.
func (f fake) play(t require.TestingT, run *result.Run, rounds int) *matrix.Judging {
	judging := newJudging(t, run)
	for !judging.Done() && judging.Rounds() < rounds {
		require.NoError(t, f.step(judging, run))
	}
	judging.Judge()
	return judging
}

func document(t require.TestingT, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// invalidate spoils a cell's samples from one round on.
func invalidate(cell string, round int, reason string) func(*result.Sample, string) {
	return func(s *result.Sample, of string) {
		if of == cell && s.Round >= round {
			s.Quality = result.Quality{Grade: result.Invalid, Reasons: []string{reason}}
		}
	}
}

// Slots follow the order of the first round and the seed. A cell is defined by its flags: neither its name nor its number
// changes the order. internal/stats tests what is in a round, and that the order of cells changes no verdict.
func TestBoardFollowsTheSeed(t *testing.T) {
	const cells, rounds = 20, 3
	order := func(seed uint64, change func(*result.Run)) (taken []string) {
		run := workers(cells)
		run.Seed, run.Matrix.Rounds, run.Matrix.Baseline = seed, rounds, 4
		change(run)
		judging := newJudging(t, run)
		var slots []result.Slot
		first := judging.Order()
		assert.Equal(t, stats.BlockCells, first.BlockCells)
		assert.NotEmpty(t, first.Method)
		for round := range rounds {
			require.Equal(t, cells-1+2*3, judging.Round(), "each cell once, and the baseline and its duplicate in each of three blocks")
			require.Equal(t, round, judging.Rounds())
			require.False(t, judging.Done())
			for at := range judging.Round() {
				require.Equal(t, at == 0, judging.Between())
				slot := judging.Next()
				slots = append(slots, slot)
				taken = append(taken, fmt.Sprint(matrix.Canonical(run.Cells[slot.Cell]), slot.Control, slot.Block))
				require.NoError(t, fake{}.step(judging, run))
			}
		}
		require.True(t, judging.Done())
		var want []result.Slot
		for block, numbers := range first.First {
			for _, cell := range numbers {
				if cell == cells {
					want = append(want, result.Slot{Cell: run.Matrix.Baseline, Block: block, Control: true})
				} else {
					want = append(want, result.Slot{Cell: cell, Block: block})
				}
			}
		}
		require.Equal(t, want, slots[:cells-1+2*3])
		return taken
	}
	asIs := func(*result.Run) {}
	taken := order(7, asIs)
	assert.Equal(t, taken, order(7, asIs))
	assert.NotEqual(t, taken, order(8, asIs))
	assert.Equal(t, taken, order(7, func(run *result.Run) {
		slices.Reverse(run.Cells)
		run.Matrix.Baseline = cells - 1 - 4
		for i := range run.Cells {
			run.Cells[i].Name, run.Cells[i].Group = fmt.Sprint("c", i), "renamed"
		}
	}))
}

// Equal flags are equal content in any order, and no value reads as another flag.
func TestCanonical(t *testing.T) {
	content := func(flags map[string]string) string { return matrix.Canonical(result.Cell{Flags: flags}) }
	for range 20 { // a map's order differs from one time to the next
		require.Equal(t, "a=1\x00b=2\x00c=3", content(map[string]string{"c": "3", "a": "1", "b": "2"}))
	}
	assert.NotEqual(t, content(map[string]string{"a": "1", "b": "2"}), content(map[string]string{"a": "1 b=2"}))
}

// Samples read from a journal give the same result as new ones, byte for byte, at every length.
func TestReplay(t *testing.T) {
	f := fake{ratios: map[string]float64{"workers=1": 1.3, "workers=3": 1.1}, spoil: func(s *result.Sample, cell string) {
		s.Answer = &result.Answer{Of: "primes", Is: "303"}
		if cell == "workers=4" && s.Round == 3 {
			s.Answer = &result.Answer{Of: "primes", Is: "302"}
		}
		invalidate("workers=2", 9, "pinned elsewhere")(s, cell)
		s.Quality.Signals = result.Signals{WatchedSeconds: 0.1, StealSeconds: new(0.001), CanarySeconds: new(1e-4)}
		if cell == "workers=3" {
			s.Quality.Signals.StealSeconds = new(0.02)
		}
	}}
	run := workers(5)
	judging := newJudging(t, run)
	kinds := map[stats.Kind]bool{}
	for !judging.Done() && judging.Rounds() < 60 {
		require.NoError(t, f.step(judging, run))
		if n := run.Samples.Len(); n%37 != 0 && !judging.Done() {
			continue
		}
		judging.Judge()
		var recorded result.Run
		require.NoError(t, json.Unmarshal([]byte(document(t, run)), &recorded))
		again := newJudging(t, &recorded)
		for _, s := range recorded.Samples.All() {
			require.NoError(t, again.Add(*s))
		}
		again.Judge()
		require.Equal(t, document(t, run), document(t, recorded))
		require.Equal(t, judging.Interim(), again.Interim())
		require.Equal(t, judging.Next(), again.Next())
		for _, cell := range recorded.Cells[1:] {
			kinds[cell.Verdict.Kind] = true
		}
	}
	for _, kind := range []stats.Kind{stats.Slower, stats.CantTell, stats.Confounded} {
		assert.True(t, kinds[kind], "%s was among them", kind)
	}
}

// An invalid sample costs only its block: not the cell, the baseline or the run. A round that ended with one once
// caused a panic.
func TestInvalidSampleCostsItsBlock(t *testing.T) {
	for _, cell := range []string{"workers=0", "workers=1"} {
		for seed := range uint64(20) { // so that it is the first sample of the round in some runs, and the last in others
			run := workers(3)
			run.Seed, run.Matrix.Rounds = seed, 30
			ratios := map[string]float64{"workers=1": 1.2, "workers=2": 1.1}
			judging := fake{ratios: ratios, spoil: func(s *result.Sample, of string) {
				if s.Round == 1 && !s.Control {
					invalidate(cell, 1, "torn")(s, of)
				}
			}}.play(t, run, 30)
			require.True(t, judging.Done())
			require.Equal(t, 30*4, run.Samples.Len())
			require.NotEmpty(t, judging.Interim().Cells)
			for _, cell := range run.Cells[1:] {
				require.Equal(t, 29, cell.Verdict.Rounds)
				require.Equal(t, stats.Slower, cell.Verdict.Kind, cell.Words)
				require.NotNil(t, cell.Verdict.Total, "the last look is made at the end of the run")
			}
			require.Empty(t, judging.Warnings())
		}
	}
}

// A cell with three consecutive invalid samples is no longer sampled, and its other samples are not judged: too many
// are missing.
func TestInvalidCellIsGivenUp(t *testing.T) {
	ratios := map[string]float64{"workers=2": 1.2}
	torn := workers(4)
	torn.Matrix.Rounds = 30
	judging := fake{ratios: ratios, spoil: invalidate("workers=1", 3, "pinned elsewhere")}.play(t, torn, 30)
	assert.Equal(t, 30*5-24, torn.Samples.Len(), "the cell leaves after round 5")
	cell := torn.Cells[1]
	assert.Equal(t, "can't tell: 3 of 6 samples of the cell are invalid: pinned elsewhere", cell.Words)
	assert.Equal(t, 3, cell.Summary.Samples, "those before it")
	assert.Equal(t, 27, torn.Cells[2].Verdict.Rounds, "its blocks were those with the torn ones")
	assert.Equal(t, stats.Slower, torn.Cells[2].Verdict.Kind)
	interim := judging.Interim()
	assert.Equal(t, torn.Samples.Len()-3, interim.Samples)
	assert.False(t, interim.Cells[1].Open)
	assert.Equal(t, cell.Verdict, &interim.Cells[1].Verdict)
	require.Len(t, judging.Warnings(), 1)
	assert.Equal(t, "cell --workers 1 was given up after 3 invalid samples in a row: pinned elsewhere",
		judging.Warnings()[0].Message)

	// A cell without a valid sample has no times, and is judged by no other figure.
	never := withCPU(workers(4))
	fake{spoil: func(s *result.Sample, cell string) {
		uses(nil)(s, cell)
		invalidate("workers=1", 0, "pinned elsewhere")(s, cell)
	}}.play(t, never, 3)
	assert.Nil(t, never.Cells[1].Summary)
	assert.Empty(t, never.Cells[1].Verdicts)
	assert.NotEmpty(t, never.Cells[2].Verdicts)
	assert.Equal(t, "invalid: pinned elsewhere", never.Cells[1].Words)

	// Where no cell is left, nothing is left to compare.
	none := workers(2)
	judging = fake{spoil: invalidate("workers=1", 0, "pinned elsewhere")}.play(t, none, 9)
	assert.True(t, judging.Done())
	assert.False(t, judging.Compares())
	assert.Equal(t, 3, judging.Rounds())
	assert.False(t, fake{}.play(t, workers(2), 1).Done())
}

// Three invalid samples spoil a cell only if they are more than 2% of its samples.
func TestFewInvalidSamplesAreNoDoubt(t *testing.T) {
	for every, spoilt := range map[int]bool{40: true, 60: false} {
		run := workers(2)
		run.Matrix.Rounds = 200
		fake{ratios: map[string]float64{"workers=1": 1.2}, spoil: func(s *result.Sample, cell string) {
			if s.Round%every == 7 {
				invalidate("workers=1", 0, "torn")(s, cell)
			}
		}}.play(t, run, 200)
		if spoilt {
			assert.Equal(t, "can't tell: 5 of 200 samples of the cell are invalid: torn", run.Cells[1].Words)
		} else {
			assert.Equal(t, stats.Slower, run.Cells[1].Verdict.Kind, run.Cells[1].Words)
		}
	}
}

// A baseline that is given up ends the run in the middle of its round; what was measured stays.
func TestBaselineIsGivenUp(t *testing.T) {
	run := workers(3)
	run.Matrix.Rounds = 60
	judging := fake{ratios: map[string]float64{"workers=1": 1.2}, spoil: invalidate("workers=0", 30, "no such CPU")}.play(t, run, 60)
	require.True(t, judging.Done())
	assert.False(t, judging.Compares())
	assert.Equal(t, 31, judging.Rounds())
	assert.Equal(t, "can't tell: 3 of 63 samples of the baseline are invalid: no such CPU", run.Cells[1].Words)
	assert.Equal(t, 60, run.Cells[0].Summary.Samples)
	assert.Empty(t, judging.Interim().Running)
	assert.Equal(t, result.Slot{}, judging.Next())
}

// Each row of a combination of flags is compared with the same row of the baseline, and all share one error rate.
func TestRowsHaveTheirOwnBaselines(t *testing.T) {
	run := withCPU(workers(6)) // 0 and 3 are the baseline's rows, which differ by far
	for i := range run.Cells {
		run.Cells[i].Against = new(i / 3 * 3)
	}
	run.Matrix.Rounds = 60
	ratios := map[string]float64{"workers=1": 1.2, "workers=2": 1, "workers=3": 5, "workers=4": 5, "workers=5": 4}
	judging := fake{ratios: ratios, spoil: uses(nil)}.play(t, run, 60)
	require.True(t, judging.Done())
	kinds := make([]stats.Kind, 6)
	for i, cell := range run.Cells {
		if cell.Verdict != nil {
			kinds[i] = cell.Verdict.Kind
		}
	}
	assert.Equal(t, []stats.Kind{"", stats.Slower, stats.Same, "", stats.Same, stats.Faster}, kinds)
	require.Len(t, run.Matrix.Controls, 2)
	assert.Equal(t, 3, run.Matrix.Controls[1].Baseline)
	for _, control := range run.Matrix.Controls {
		assert.Contains(t, control.Verdicts, cpuTime)
	}
	assert.Equal(t, stats.Faster, run.Cells[5].Verdicts[cpuTime].Kind)
	assert.Empty(t, run.Matrix.Ranking)
	orders := map[int]bool{}
	for _, s := range run.Samples.All() {
		if s.Round > 0 && s.Block == 0 {
			orders[run.Against(s.Cell)] = true
		}
		require.True(t, run.Samples.Has(func(o *result.Sample) bool {
			return o.Round == s.Round && o.Block == s.Block && o.Cell == run.Against(s.Cell) && !o.Control
		}), "a block has its baseline")
	}
	assert.Len(t, orders, 2, "each row comes first in some rounds")

	// One of six comparisons has the same share of the error rate as in any matrix of six.
	rows := withCPU(workers(6))
	for i := range rows.Cells {
		rows.Cells[i].Against = new(i / 3 * 3)
	}
	assert.Equal(t, newJudging(t, withCPU(workers(6))).ToFirst(), newJudging(t, rows).ToFirst())
	assert.Greater(t, newJudging(t, rows).ToFirst(), newJudging(t, withCPU(workers(2))).ToFirst())
}

// A sample is invalid that has another answer than before, or no time that can be compared.
func TestCheck(t *testing.T) {
	wrong := "can't tell: 3 of 4 samples of the cell are invalid: primes up to 100 are 24 here and were 25 before"
	right := func(s *result.Sample, _ string) { s.Answer = &result.Answer{Of: "primes up to 100", Is: "25"} }
	// later returns right answers, but for another one of workers=1 in samples of this verdict: in the first round, or in all others.
	later := func(is string, first bool, grade result.Grade) func(*result.Sample, string) {
		return func(s *result.Sample, cell string) {
			if right(s, cell); cell == "workers=1" && first == (s.Round == 0) {
				s.Answer.Is, s.Quality = is, result.Quality{Grade: grade, Reasons: []string{"torn"}}
			}
		}
	}
	took := func(seconds float64) func(*result.Sample, string) {
		return func(s *result.Sample, cell string) {
			if cell == "workers=1" && s.Round > 0 {
				s.Seconds = seconds
			}
		}
	}
	for name, c := range map[string]struct {
		spoil func(s *result.Sample, cell string)
		want  string // verdict on workers=1; "": nothing is invalid
	}{
		"no time":          {took(0), "can't tell: 3 of 4 samples of the cell are invalid: the time is 0: only figures above 0 are compared"},
		"an infinite time": {took(math.Inf(1)), "can't tell: 3 of 4 samples of the cell are invalid: the time is not known"},
		"no number":        {took(math.NaN()), "can't tell: 3 of 4 samples of the cell are invalid: the time is not known"},
		"the same":         {right, ""},
		"none":             {func(*result.Sample, string) {}, ""},
		"another question": {func(s *result.Sample, cell string) {
			s.Answer = &result.Answer{Of: "primes of " + cell, Is: cell}
		}, ""},
		"another answer":                   {later("24", false, result.Valid), wrong},
		"of a suspect sample":              {later("24", false, result.Suspect), wrong},
		"an invalid sample's says nothing": {later("0", true, result.Invalid), ""},
	} {
		run := workers(3)
		for newJudging(t, run).Next().Cell != 1 { // workers=1 comes first
			run.Seed++
		}
		fake{spoil: c.spoil}.play(t, run, 4)
		words := run.Cells[1].Words
		if c.want == "" {
			assert.NotContains(t, words, "invalid", name)
		} else {
			assert.Equal(t, c.want, words, name)
		}
		assert.NotContains(t, run.Cells[2].Words, "invalid", name)
	}
}

// Cells leave when they are decided, and the run is done when none is left.
func TestJudge(t *testing.T) {
	run := workers(3)
	judging := fake{ratios: map[string]float64{"workers=1": 1.2}}.play(t, run, 500)
	require.True(t, judging.Done())
	rounds := judging.Rounds()
	assert.Less(t, rounds, 500)
	assert.GreaterOrEqual(t, rounds, matrix.LeastRounds)
	assert.False(t, slices.ContainsFunc(judging.Interim().Cells, func(cell result.InterimCell) bool { return cell.Open }))
	baseline, slower, same := run.Cells[0], run.Cells[1], run.Cells[2]
	assert.Nil(t, baseline.Verdict)
	assert.Equal(t, 2*rounds, baseline.Summary.Samples, "with those of its duplicate")
	assert.InDelta(t, 0.1, baseline.Summary.Seconds.Median, 0.001)
	assert.Equal(t, stats.Slower, slower.Verdict.Kind)
	assert.Equal(t, slower.Verdict.String(), slower.Words)
	assert.Equal(t, slower.Verdict.Rounds, slower.Summary.Samples)
	assert.InDelta(t, 0.12, slower.Summary.Seconds.Median, 0.001)
	assert.Equal(t, "no difference larger than 2%", same.Words)
	require.NotNil(t, run.Matrix.Control)
	assert.Equal(t, stats.Same, run.Matrix.Control.Kind)
	assert.Equal(t, rounds, run.Matrix.Control.Rounds)
}

// Cells leave a search for the best by the rules that the run began with.
func TestBestByOldRules(t *testing.T) {
	rounds := func(rules int) int {
		run := workers(6)
		run.Matrix.Rules, run.Matrix.Enough = rules, result.EnoughBest
		judging := fake{ratios: map[string]float64{"workers=3": 0.5}}.play(t, run, 100)
		require.Equal(t, []int{3}, run.Matrix.Best.Left)
		return judging.Rounds()
	}
	assert.Less(t, rounds(5), rounds(matrix.Rules))
}

func TestInterim(t *testing.T) {
	run := workers(3) // 4 samples a round, 0.1 s each
	run.Matrix.Rounds = 10
	judging := fake{}.play(t, run, 5)
	require.NoError(t, fake{}.step(judging, run))
	s := judging.Interim()
	assert.Equal(t, run.Cells[judging.Next().Cell].Name, s.Running)
	assert.Equal(t, 21, s.Samples)
	assert.Equal(t, 5, s.Rounds)
	assert.Equal(t, 10, s.Planned)
	assert.InDelta(t, 2.1, s.Elapsed, 1e-9)
	assert.InDelta(t, 5*0.4, s.Left, 1e-9)
	assert.Equal(t, 5, s.Control.Rounds)
	require.Len(t, s.Cells, 3)
	baseline, cell := s.Cells[0], s.Cells[1]
	assert.True(t, baseline.Baseline)
	assert.False(t, baseline.Open, "it has no verdict")
	assert.False(t, cell.Baseline)
	assert.True(t, cell.Open)
	assert.Equal(t, 5, cell.Verdict.Rounds)
	assert.Equal(t, "--workers 1", cell.Name)
	assert.InDelta(t, 0.1, cell.Seconds, 0.002)

	assert.Zero(t, newJudging(t, workers(3)).Interim().Cells[1].Seconds)
}

// The remaining time never exceeds the budget, and is not known before there is something to estimate it from.
func TestInterimLeft(t *testing.T) {
	wild := fake{spoil: func(s *result.Sample, _ string) { // too wild for a forecast within few rounds
		if s.Round%2 == 0 {
			s.Seconds *= 1 + float64(s.Cell)
		}
	}}
	for name, c := range map[string]struct {
		f              fake
		budget         float64
		planned, taken int
		want           float64 // seconds; a round takes 0.4
	}{
		"nothing known":            {fake{}, 0, 0, 0, -1},
		"the budget alone":         {fake{}, 60, 0, 0, 60},
		"the plan":                 {fake{}, 0, 20, 5, 15 * 0.4},
		"the plan within a budget": {fake{}, 60, 20, 5, 15 * 0.4},
		"the budget":               {fake{}, 3, 20, 5, 1},
		"a budget that is over":    {fake{}, 1, 20, 5, 0},
		"no forecast":              {wild, 0, 0, 1, -1},
		"no forecast but a budget": {wild, 60, 0, 1, 59.6},
	} {
		run := workers(3)
		run.Matrix.Budget, run.Matrix.Rounds = c.budget, c.planned
		assert.InDelta(t, c.want, c.f.play(t, run, c.taken).Interim().Left, 1e-9, name)
	}

	run := workers(3)
	run.Matrix.Margin = 0.006 // about the noise
	f := fake{ratios: map[string]float64{"workers=1": 1.003}}
	s := f.play(t, run, 16).Interim()
	more := 0.0
	for _, cell := range s.Cells {
		assert.Equal(t, cell.Verdict.MoreRounds > 0, cell.Verdict.MoreSeconds > 0)
		more = max(more, 0.4*float64(cell.Verdict.MoreRounds))
	}
	assert.Positive(t, more)
	assert.InEpsilon(t, more, s.Left, 0.1, "the longest forecast")
}
