package stats

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// straight returns a history in which each change follows the one before it.
func straight(changes int) [][]int {
	parents := make([][]int, changes)
	for i := 1; i < changes; i++ {
		parents[i] = []int{i - 1}
	}
	return parents
}

// searched is how a search in a synthetic history ended.
type searched struct {
	named  int // the change; −1: none
	builds int
}

// searchIn looks for the change from which on the noise is multiplied by a ratio. Each stage has this many seconds of samples.
func searchIn(t testing.TB, seed uint64, n *noise, changes, planted int, ratio, budget float64) searched {
	t.Helper()
	s, err := NewSearch(design(seed, 0), straight(changes), 0, changes-1)
	require.NoError(t, err)
	built := map[int]bool{}
	left, stage := budget, 0
	for !s.Done() {
		if now := len(s.Stages()); now != stage {
			left, stage = budget, now
		}
		if left <= 0 {
			require.NoError(t, s.Expire())
			continue
		}
		var seconds []float64
		for _, of := range s.Next() {
			if of < 0 {
				of = s.stage().Good
			}
			built[of] = true
			took := n.next()
			if of >= planted {
				took *= ratio
			}
			seconds, left = append(seconds, took), left-took
		}
		require.NoError(t, s.Add(seconds))
	}
	found := searched{-1, len(built)}
	if last := s.Stages()[len(s.Stages())-1]; last.Last && last.Goes == Worse && len(s.Left()) == 1 {
		found.named = last.Bad
	}
	return found
}

// On recorded noise, a search rarely names a wrong change, and finds the right one where a comparison of two commands finds the difference.
func TestSearchOperating(t *testing.T) {
	withReplays(t, 2, 200, func(t *testing.T, replays int) {
		const changes, ratio, budget = 65, 1.05, 60 // seconds: the default of a comparison; a stage of a search has three times as much
		directory, pattern := "../../testdata/noise", "*.csv"
		if other := os.Getenv("GORUN_NOISE"); other != "" {
			directory = other
		}
		paths, err := filepath.Glob(filepath.Join(directory, pattern))
		require.NoError(t, err)
		for _, path := range paths {
			name := strings.TrimSuffix(filepath.Base(path), ".csv")
			if strings.HasPrefix(name, "nice") || strings.Contains(name, ".ab2.") { // their samples are not of equal work
				continue
			}
			var seconds []float64
			for _, s := range recordingAt(t, path) {
				seconds = append(seconds, s.wall)
			}
			compared := count(replays, func(k int) bool {
				r := newRace(t, design(uint64(k), 2))
				run(t, r, start([][]float64{seconds}, k, replays), []float64{1, ratio}, budget)
				return r.Verdicts(0)[1].Kind == Slower
			})
			right, wrong, builds := 0, 0, 0
			for k := range replays {
				planted := 1 + rand.New(rand.NewPCG(uint64(k), 1)).IntN(changes-1)
				found := searchIn(t, uint64(k), start([][]float64{seconds}, k, replays), changes, planted, ratio, 3*budget)
				switch {
				case found.named == planted && found.builds <= 8:
					right++
				case found.named >= 0 && found.named != planted:
					wrong++
				}
				builds = max(builds, found.builds)
			}
			t.Logf("%-16s ab %3d%%  found %3d%%  wrong %3d%%  builds %d", name, 100*compared/replays, 100*right/replays, 100*wrong/replays, builds)
			assert.LessOrEqual(t, wrong*100, 5*replays, name)
			if replays >= 100 && compared*100 >= 98*replays { // a few replays have no power to speak of
				assert.GreaterOrEqual(t, right*100, 90*replays, name)
			}
		}
	})
}

// stage gives rounds without noise to a search until it does the next stage. times are those of the changes.
func stage(t *testing.T, s *Search, times []float64) Stage {
	t.Helper()
	stages := len(s.Stages())
	random := rand.New(rand.NewPCG(uint64(stages), 2))
	for !s.Done() && len(s.Stages()) == stages {
		if s.stage().Rounds == 100 {
			require.NoError(t, s.Expire())
			break
		}
		var seconds []float64
		for _, of := range s.Next() {
			if of < 0 {
				of = s.stage().Good
			}
			seconds = append(seconds, times[of]*(1+0.01*random.Float64()))
		}
		require.NoError(t, s.Add(seconds))
	}
	return s.Stages()[stages-1]
}

// newSearch returns a search, without a limit of its stages.
func newSearch(t *testing.T, parents [][]int, good, bad int) *Search {
	t.Helper()
	s, err := NewSearch(design(1, 0), parents, good, bad)
	require.NoError(t, err)
	return s
}

// goes returns what a search did after each of its stages.
func goes(s *Search) (all []Goes) {
	for _, stage := range s.Stages() {
		all = append(all, stage.Goes)
	}
	return all
}

func TestSearchWalks(t *testing.T) {
	for _, c := range []struct {
		name  string
		times []float64
		goes  []Goes
		left  []int
	}{
		{"found", []float64{1, 1, 1, 2, 2, 2, 2, 2}, []Goes{Worse, Earlier, Later, Later, Worse}, []int{3}},
		{"the first", []float64{1, 2, 2}, []Goes{Worse, Earlier, Worse}, []int{1}},
		{"the only one", []float64{1, 2}, []Goes{Worse, Worse}, []int{1}},
		{"equal ends", []float64{1, 2, 1}, []Goes{NotWorse}, []int{1, 2}},
		{"better", []float64{2, 2, 1}, []Goes{NotWorse}, []int{1, 2}},
		{"better than both ends", []float64{2, 1, 3}, []Goes{Worse, Later, Worse}, []int{2}},
		{"worse than both ends", []float64{2, 4, 3}, []Goes{Worse, Earlier, Worse}, []int{1}},
		{"the larger difference is the later", []float64{1, 1.1, 1.3}, []Goes{Worse, Later, Worse}, []int{2}},
		{"the larger difference is the earlier", []float64{1, 1.2, 1.3}, []Goes{Worse, Earlier, Worse}, []int{1}},
	} {
		s := newSearch(t, straight(len(c.times)), 0, len(c.times)-1)
		for !s.Done() {
			stage(t, s, c.times)
		}
		assert.Equal(t, c.goes, goes(s), c.name)
		assert.Equal(t, c.left, s.Left(), c.name)
	}
}

// Both differences are seen, and the stage says so.
func TestSearchBetween(t *testing.T) {
	s := newSearch(t, straight(3), 0, 2)
	stage(t, s, []float64{1, 1.25, 1.5})
	assert.True(t, stage(t, s, []float64{1, 1.25, 1.5}).Between)
	s = newSearch(t, straight(3), 0, 2)
	stage(t, s, []float64{1, 1, 1.5})
	assert.False(t, stage(t, s, []float64{1, 1, 1.5}).Between)
}

// A middle that is claimed to differ from neither end, although it has the time of both, leads nowhere.
func TestSearchUndecided(t *testing.T) {
	s := newSearch(t, straight(3), 0, 2)
	stage(t, s, []float64{1, 1, 1.5})
	assert.Equal(t, Undecided, stage(t, s, []float64{1, 1, 1}).Goes)
	assert.True(t, s.Done())
	assert.Equal(t, []int{1, 2}, s.Left())

	s = newSearch(t, straight(2), 0, 1)
	stage(t, s, []float64{1, 1.5})
	assert.Equal(t, NotWorse, stage(t, s, []float64{1, 1}).Goes, "the last comparison has its own samples")
	assert.True(t, s.Stages()[1].Last)
}

func TestSearchSkips(t *testing.T) {
	times := []float64{1, 1, 1, 2, 2, 2}
	s := newSearch(t, straight(6), 0, 5)
	stage(t, s, times)
	require.Equal(t, 2, *s.stage().Middle)
	require.NoError(t, s.Skip(2))
	require.Equal(t, 3, *s.stage().Middle, "the next best")
	stage(t, s, times)
	require.Equal(t, 1, *s.stage().Middle)
	stage(t, s, times)
	require.True(t, s.stage().Last)
	assert.Equal(t, 1, s.stage().Good, "not the one before it, which cannot be measured")
	assert.Equal(t, Worse, stage(t, s, times).Goes)
	assert.Equal(t, []int{2, 3}, s.Left())
	assert.True(t, s.Done())

	s = newSearch(t, straight(6), 0, 5)
	require.NoError(t, s.Skip(5))
	assert.True(t, s.Done(), "without an end there is no search")
}

// A stage in which the good end differs from its duplicate is repeated once. The last one has half of the error for each try.
func TestSearchRepeats(t *testing.T) {
	times := []float64{1, 1, 1.4}
	disturbed := func(s *Search, stages int) {
		for !s.Done() && len(s.Stages()) == stages {
			var seconds []float64
			for _, of := range s.Next() {
				if of < 0 {
					seconds = append(seconds, 1.5)
				} else {
					seconds = append(seconds, times[of])
				}
			}
			require.NoError(t, s.Add(seconds))
		}
	}
	s := newSearch(t, straight(3), 0, 2)
	disturbed(s, 1)
	assert.Equal(t, Worse, stage(t, s, times).Goes)
	disturbed(s, 3)
	assert.Equal(t, Later, stage(t, s, times).Goes)
	require.True(t, s.stage().Last)
	assert.InDelta(t, s.design.Alpha/2, s.judge.design.Alpha, 1e-12)
	disturbed(s, 5)
	require.True(t, s.stage().Last)
	assert.InDelta(t, s.design.Alpha/2, s.judge.design.Alpha, 1e-12)
	assert.Equal(t, Worse, stage(t, s, times).Goes)
	assert.True(t, s.Done())
	assert.Equal(t, []Goes{Again, Worse, Again, Later, Again, Worse}, goes(s))

	s = newSearch(t, straight(3), 0, 2)
	disturbed(s, 1)
	disturbed(s, 2)
	assert.True(t, s.Done())
	assert.Equal(t, []Goes{Again, Undecided}, goes(s))

	s = newSearch(t, straight(2), 0, 1) // a larger difference is known all the same
	times = []float64{1, 9}
	disturbed(s, 1)
	disturbed(s, 2)
	assert.True(t, s.Done())
	assert.Equal(t, []Goes{Worse, Worse}, goes(s))

	s = newSearch(t, straight(2), 0, 1)
	times = []float64{1, 1.4}
	stage(t, s, times)
	disturbed(s, 2)
	disturbed(s, 3)
	assert.True(t, s.Done())
	assert.Equal(t, []Goes{Worse, Again, Undecided}, goes(s))
}

// In a history with merges, a change that is not worse leaves out what it follows, and no more.
func TestSearchMerges(t *testing.T) {
	// 0 is followed by 1, 2, 3 and by 4, 5, 6 on a branch; 7 merges them.
	parents := [][]int{nil, {0}, {1}, {2}, {0}, {4}, {5}, {3, 6}}
	for planted, times := range map[int][]float64{
		2: {1, 1, 2, 2, 1, 1, 1, 2},
		5: {1, 1, 1, 1, 1, 2, 2, 2},
		7: {1, 1, 1, 1, 1, 1, 1, 2},
	} {
		s := newSearch(t, parents, 0, 7)
		for !s.Done() {
			stage(t, s, times)
		}
		assert.Equal(t, []int{planted}, s.Left())
		last := s.Stages()[len(s.Stages())-1]
		assert.Equal(t, []any{true, Worse, parents[planted][0]}, []any{last.Last, last.Goes, last.Good})
	}
}

func TestSearchRefuses(t *testing.T) {
	for _, c := range []struct {
		parents   [][]int
		good, bad int
	}{
		{straight(3), 0, 3}, {straight(3), 1, 1}, {straight(3), 2, 1}, {[][]int{nil, nil}, 0, 1}, {[][]int{{1}, {0}}, 0, 1},
	} {
		_, err := NewSearch(design(1, 0), c.parents, c.good, c.bad)
		assert.Error(t, err)
	}
}
