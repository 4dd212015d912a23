package matrix_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// accounted gives samples an account: of the 100 ms of each, a noisy half is spent running. A cell's extra time is in one part.
func accounted(spread float64, cell, part string, extra float64) func(*result.Sample, string) {
	return func(s *result.Sample, of string) {
		noise := rand.New(rand.NewPCG(math.Float64bits(s.Seconds), uint64(s.Round)))
		width := 0.002
		if of == cell {
			width *= spread
		}
		some := func(mean float64) float64 { return max(0, mean+width*noise.NormFloat64()) }
		seconds := map[string]float64{"user": some(0.03), "kernel": some(0.02), "waiting": some(0.01), "blocked": some(0.04)}
		if of == cell {
			seconds[part] += extra
		}
		running := seconds["user"] + seconds["kernel"]
		s.Seconds = running + seconds["waiting"] + seconds["blocked"]
		s.UserSeconds, s.SystemSeconds = seconds["user"], seconds["kernel"]
		s.Account = result.AccountOf(s.Seconds, running, seconds["waiting"], seconds["user"], seconds["kernel"])
		faults := uint64(1e6 * seconds["kernel"])
		s.Quality.Signals.MinorFaults = &faults
	}
}

// TestWhy: the part that holds the difference is named, and no other.
func TestWhy(t *testing.T) {
	for part, cause := range map[string]string{"user": "user", "kernel": "kernel", "waiting": "waiting", "blocked": "blocked"} {
		run := workers(3)
		fake{spoil: accounted(1, "workers=1", part, 0.04)}.play(t, run, 40)
		matrix.Explain(run, false)
		assert.Nil(t, run.Cells[0].Why)
		slow := run.Cells[1].Why
		require.NotNil(t, slow)
		assert.Nil(t, run.Cells[2].Why, "only a difference that is claimed is explained unasked")
		matrix.Explain(run, true)
		slow.Asked = true
		assert.Equal(t, slow, run.Cells[1].Why)
		equal := run.Cells[2].Why
		require.NotNil(t, equal)
		assert.Equal(t, cause, slow.Cause)
		assert.Empty(t, equal.Cause)
		assert.InDelta(t, 0.04, slow.Part(cause).Typical, 0.004)
		assert.InDelta(t, 0, slow.Gap, 0.01)
		assert.Equal(t, part == "kernel", slow.Drivers[0].Clear(1), "page faults go with the time in the kernel")
		assert.Len(t, slow.Drivers, 1, "what no sample has is no driver")
		assert.Equal(t, 18, slow.Comparisons, "nine for each cell")
	}
}

// TestWhyOfLooks: what was seen while programs ran is a part of the time, or may explain one.
func TestWhyOfLooks(t *testing.T) {
	for driver, c := range map[string]struct{ part, cause string }{
		"own_throttled_seconds": {"waiting", "waiting"}, "remote_pages": {"user", "user"}, "small_pages": {"kernel", "kernel"},
		"": {"blocked", "others_waiting"},
	} {
		run := workers(2)
		account := accounted(1, "workers=1", c.part, 0.04)
		fake{spoil: func(s *result.Sample, of string) {
			account(s, of)
			memory := result.Memory{Resident: 1000, OtherNodes: 100, Anonymous: 800, Huge: 790}
			s.Looks = &result.Looks{ThrottledSeconds: new(0.0), Memory: &memory}
			s.Account.Saw(0, 0)
			if of == "workers=1" {
				switch driver {
				case "own_throttled_seconds":
					*s.Looks.ThrottledSeconds = 0.035
				case "remote_pages":
					memory.OtherNodes = 900
				case "small_pages":
					memory.Huge = 0
				default:
					s.Account.Saw(0, 0.06)
				}
			}
		}}.play(t, run, 40)
		matrix.Explain(run, false)
		why := run.Cells[1].Why
		require.NotNil(t, why)
		assert.Equal(t, c.cause, why.Cause)
		if driver != "" {
			assert.Contains(t, why.ExplainedBy, driver)
		}
		for _, other := range []string{"own_throttled_seconds", "remote_pages", "small_pages"} {
			require.NotNil(t, why.Part(other))
			assert.Equal(t, other == driver, why.Part(other).Clear(1), other)
		}
	}
}

// TestWhyOfMoves: a thread that moves is blocked, but not for long.
func TestWhyOfMoves(t *testing.T) {
	for moves, explained := range map[uint64][]string{500: {"same_llc_moves"}, 100: nil} {
		run := workers(2)
		account := accounted(1, "workers=1", "blocked", 0.04)
		fake{spoil: func(s *result.Sample, of string) {
			account(s, of)
			s.Counters = &result.Counters{SameLLCMoves: new(uint64(0))}
			if of == "workers=1" {
				*s.Counters.SameLLCMoves = moves
			}
		}}.play(t, run, 40)
		matrix.Explain(run, false)
		assert.Equal(t, "blocked", run.Cells[1].Why.Cause)
		assert.Equal(t, explained, run.Cells[1].Why.ExplainedBy, "%d moves", moves)
	}
}

// TestWhyOfEvents: events of the CPU that a cell has more of are drivers, with the words that the user's rights ask for. What no sample has is
// missing, and no hypothesis.
func TestWhyOfEvents(t *testing.T) {
	for _, userOnly := range []bool{false, true} {
		run := workers(2)
		account := accounted(1, "workers=1", "user", 0.04)
		fake{spoil: func(s *result.Sample, of string) {
			account(s, of)
			more := uint64(1)
			if of == "workers=1" {
				more = 2
			}
			s.Counters = &result.Counters{
				Cycles: new(1e8 * more), Instructions: new(2e8 * more), CacheMisses: new(1e5 * more), CountedSeconds: 0.05 * float64(more),
				SameLLCMoves: new(uint64(2)), UserOnly: userOnly,
			}
			s.Quality.Signals.Migrations = new(uint64(2))
			s.Counters.Lacking("tlb_misses", errors.New("refused"))
			s.Counters.Lacking("joules", errors.New("refused"))
		}}.play(t, run, 40)
		matrix.Explain(run, false)
		why := run.Cells[1].Why
		require.NotNil(t, why)
		assert.Equal(t, "user", why.Cause)
		assert.Equal(t, []string{"instructions"}, why.ExplainedBy, "there are as many misses an instruction")
		instructions := why.Part("instructions")
		assert.InDelta(t, 2e8, instructions.Typical, 1)
		label, kernel := "instructions", true
		if userOnly {
			label, kernel = "instructions, in user mode", false
		}
		assert.Equal(t, label, instructions.Label)
		assert.Equal(t, kernel, slices.Contains(instructions.Of, "kernel"))
		assert.Equal(t, userOnly, why.Part("counted_mhz") == nil, "of user mode, only the cycles are known and not the time")
		assert.NotNil(t, why.Part("same_llc_moves"))
		assert.Nil(t, why.Part("migrations"), "their relation is known")
		var missing []string
		for _, m := range why.Missing {
			missing = append(missing, fmt.Sprintf("%s: %s, %v rounds", m.Label, m.Why, m.Rounds == why.Rounds))
		}
		assert.Equal(t, []string{"branch misses: , true rounds", "TLB misses: refused, true rounds", "energy of the machine: refused, true rounds"}, missing)
		drivers := len(why.Drivers)
		assert.Equal(t, 8+drivers, why.Comparisons)
	}
}

// An event that was not counted for all of the time of a sample leaves out its block, and the others keep theirs.
func TestWhyOfMultiplexedEvents(t *testing.T) {
	run := workers(2)
	account := accounted(1, "workers=1", "user", 0.04)
	fake{spoil: func(s *result.Sample, of string) {
		account(s, of)
		s.Counters = &result.Counters{Cycles: new(uint64(1e8)), Instructions: new(uint64(2e8)), CountedSeconds: 0.05}
		if of == "workers=1" && s.Round%2 == 0 {
			s.Counters.Instructions = nil
			s.Counters.Lacking("instructions", errors.New("counted for 40% of the time only"))
		}
		if s.Round > 3 {
			s.Counters.TLBMisses = new(uint64(1e3))
		}
	}}.play(t, run, 60)
	matrix.Explain(run, true)
	why := run.Cells[1].Why
	missing := why.Missing[slices.IndexFunc(why.Missing, func(m result.Missing) bool { return m.Label == "instructions" })]
	assert.Equal(t, why.Rounds/2, missing.Rounds)
	assert.Equal(t, "counted for 40% of the time only", missing.Why)
	assert.Nil(t, why.Part("tlb_misses"), "the first block decides what is judged")
	assert.Zero(t, why.Part("instructions").Typical)
	assert.NotNil(t, why.Part("instructions").Lo)
}

// TestWhySlowsNoVerdict: the same samples without an account get the same verdicts after the same rounds.
func TestWhySlowsNoVerdict(t *testing.T) {
	with, without := workers(3), workers(3)
	account := accounted(1, "workers=1", "waiting", 0.01)
	a := fake{spoil: account}.play(t, with, 60)
	b := fake{spoil: func(s *result.Sample, of string) {
		account(s, of)
		s.Account = nil
	}}.play(t, without, 60)
	assert.Equal(t, b.Rounds(), a.Rounds())
	matrix.Explain(with, true)
	matrix.Explain(without, true)
	for i := range with.Cells {
		assert.Nil(t, without.Cells[i].Why)
		with.Cells[i].Why = nil
	}
	assert.Equal(t, document(t, without.Cells), document(t, with.Cells))
	assert.Equal(t, document(t, without.Matrix), document(t, with.Matrix))
}

// recordedAccounts gives the samples those of recorded noise, one after the other: the wall time, its parts, faults and switches. With a
// spread, the deviations of a cell's parts are that many times those of the baseline, and as often up as down: otherwise the
// typical difference of two cells whose times are skewed would not be 0.
func recordedAccounts(t *testing.T, replay uint64, spread float64) func(*result.Sample, string) {
	paths, err := filepath.Glob("../../../testdata/noise/*.seq?.*.csv")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	f, err := os.Open(paths[replay%uint64(len(paths))])
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	columns := map[string][]float64{}
	for at, name := range rows[0] {
		for _, row := range rows[1:] {
			n, _ := strconv.ParseFloat(row[at], 64) // labels are texts
			columns[name] = append(columns[name], n)
		}
	}
	next, signs := int(replay*137), rand.New(rand.NewPCG(replay, 1))
	return func(s *result.Sample, of string) {
		i := next % len(rows[1:])
		next++
		run, wait := columns["run"][i]/1e9, columns["wait"][i]/1e9
		blocked := max(0, columns["wall"][i]/1e9-run-wait)
		if spread > 1 {
			deviations := 1.0
			if of == "workers=1" {
				deviations = spread
			}
			around := func(x float64, name string) float64 {
				deviation := x - stats.Median(columns[name])/1e9
				return max(0, 0.2+deviations*deviation*float64(2*signs.IntN(2)-1))
			}
			run, wait, blocked = around(run, "run"), around(wait, "wait"), 0.2
		}
		s.Seconds, s.UserSeconds = run+wait+blocked, run
		s.Account = result.AccountOf(s.Seconds, run, wait, run, 0)
		require.NotNil(t, s.Account)
		sig := &s.Quality.Signals
		sig.MinorFaults, sig.InvoluntarySwitches = new(uint64(columns["minf"][i])), new(uint64(columns["niv"][i]))
		sig.VoluntarySwitches, sig.CPUPressureSeconds = new(uint64(columns["nv"][i])), new(columns["psi"][i]/1e6)
	}
}

// TestWhyOfEqualCells: of equal cells, also one with more spread, at most 5% of families leave out 0 in any interval, and at most 5% name
// a cause. In recorded noise, what is true of a sample is true of the next one.
func TestWhyOfEqualCells(t *testing.T) {
	t.Parallel()
	t.Run("few", func(t *testing.T) { testWhyOfEqualCells(t, 40) })
	t.Run("all", func(t *testing.T) {
		tests.Target(t, "ci-long")
		testWhyOfEqualCells(t, 1000)
	})
}

func testWhyOfEqualCells(t *testing.T, families uint64) {
	for name, account := range map[string]func(t *testing.T, family uint64, spread float64) func(*result.Sample, string){
		"normal": func(_ *testing.T, _ uint64, spread float64) func(*result.Sample, string) {
			return accounted(spread, "workers=1", "user", 0)
		},
		"counted": func(_ *testing.T, family uint64, spread float64) func(*result.Sample, string) {
			account, events := accounted(spread, "workers=1", "user", 0), rand.New(rand.NewPCG(family, 2))
			return func(s *result.Sample, of string) {
				account(s, of)
				some := func(mean float64) *uint64 { return new(uint64(mean * max(0, 1+0.02*spread*events.NormFloat64()))) }
				s.Counters = &result.Counters{
					Cycles: some(1e8), Instructions: some(2e8), BranchMisses: some(1e5), CacheMisses: some(1e4), TLBMisses: some(1e3),
					Retiring: some(4e8), BadSpeculation: some(1e7), FrontendBound: some(1e8), BackendBound: some(1e8), CountedSeconds: 0.05,
					SameCoreMoves: some(3), SameLLCMoves: some(10), Joules: new(2 + 0.1*events.NormFloat64()),
					IOPressureSeconds: new(0.1 * events.ExpFloat64()), MemoryPressureSeconds: new(0.0),
				}
			}
		},
		"recorded": recordedAccounts,
	} {
		for _, spread := range []float64{1, 2, 5} {
			beyond, named := uint64(0), uint64(0)
			for family := range families {
				run := workers(3)
				run.Seed, run.Matrix.Rounds = family, 40
				fake{session: family << 20, spoil: account(t, family, spread)}.play(t, run, 40)
				matrix.Explain(run, true)
				anyBeyond, anyNamed := false, false
				for _, cell := range run.Cells[1:] {
					for _, p := range append(cell.Why.Parts, cell.Why.Drivers...) {
						anyBeyond = anyBeyond || p.Clear(1) || p.Clear(-1)
					}
					anyNamed = anyNamed || cell.Why.Cause != ""
				}
				if anyBeyond {
					beyond++
				}
				if anyNamed {
					named++
				}
			}
			t.Logf("%s noise, spread %v: of %d families, %d leave out 0, and %d name a cause", name, spread, families, beyond, named)
			assert.LessOrEqual(t, beyond*20, families, "%s noise, spread %v", name, spread)
			assert.LessOrEqual(t, named*20, families, "%s noise, spread %v", name, spread)
		}
	}
}

// TestWhyLeavesOutBlocks: a block with a sample without an account is left out, whichever cell has it.
func TestWhyLeavesOutBlocks(t *testing.T) {
	run := workers(2)
	account := accounted(1, "workers=1", "waiting", 0.04)
	fake{spoil: func(s *result.Sample, of string) {
		account(s, of)
		if s.Control && s.Round%2 == 0 {
			s.Account = nil
		}
	}}.play(t, run, 20)
	matrix.Explain(run, true)
	assert.Equal(t, run.Cells[1].Verdict.Rounds/2, run.Cells[1].Why.Rounds)
}

// Where no sample has an account, --why says so.
func TestWhyWithoutAccounts(t *testing.T) {
	run := workers(2)
	fake{}.play(t, run, 20)
	matrix.ExplainAll(run)
	assert.Nil(t, run.Cells[1].Why)
	require.Len(t, run.Warnings, 1)
	assert.Equal(t, "no-account", run.Warnings[0].Code)
	fake{spoil: accounted(1, "workers=1", "user", 0.04)}.play(t, run, 20)
	run.Warnings = nil
	matrix.ExplainAll(run)
	assert.Empty(t, run.Warnings)
}

// A run may have ended within a block, also before the baseline's duplicate.
func TestWhyOfCutRuns(t *testing.T) {
	run := workers(3)
	fake{spoil: accounted(1, "workers=1", "user", 0.04)}.play(t, run, 40)
	matrix.Explain(run, true)
	for rounds := run.Cells[1].Why.Rounds; run.Cells[1].Why.Rounds > rounds-3; {
		run.Samples = run.Samples.First(run.Samples.Len() - 1)
		matrix.Explain(run, true)
	}
}
