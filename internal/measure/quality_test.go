package measure

import (
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/result"
)

func TestJudge(t *testing.T) {
	number := func(n float64) *float64 { return &n }
	count := func(n uint64) *uint64 { return &n }
	good := result.Placement{Verified: true}
	const cpus = 4
	for name, tc := range map[string]struct {
		sample  result.Sample
		verdict result.Verdict
		reasons int
	}{
		"calm":           {result.Sample{Placement: good}, result.Valid, 0},
		"not as asked":   {result.Sample{Placement: result.Placement{Mismatches: []string{"worker 3: asked for CPU 1"}}}, result.Invalid, 1},
		"cut short":      {result.Sample{Placement: good, Partial: true}, result.Suspect, 1},
		"a little steal": {signals(good, result.Signals{StealSeconds: number(0.19)}), result.Valid, 0},
		"steal":          {signals(good, result.Signals{StealSeconds: number(0.21)}), result.Suspect, 1},
		"others":         {signals(good, result.Signals{OtherSeconds: number(5)}), result.Suspect, 1},
		"few scrapes":    {result.Sample{Placement: good, ServedSeconds: 0.19}, result.Valid, 0},
		"many scrapes":   {result.Sample{Placement: good, ServedSeconds: 0.21}, result.Suspect, 1},
		"throttled":      {signals(good, result.Signals{ThrottledSeconds: number(0.001)}), result.Suspect, 1},
		"disk":           {signals(good, result.Signals{MajorFaults: count(2)}), result.Suspect, 1},
		"counters at 0": {signals(good, result.Signals{
			StealSeconds: number(0), ThrottledSeconds: number(0), MajorFaults: count(0),
		}), result.Valid, 0},
		"invalid stays invalid": {signals(result.Placement{}, result.Signals{StealSeconds: number(5)}), result.Invalid, 2},
	} {
		tc.sample.Quality.Signals.WatchedSeconds = 2.5
		Judge(&tc.sample, cpus)
		assert.Equal(t, tc.verdict, tc.sample.Quality.Verdict, name)
		assert.Len(t, tc.sample.Quality.Reasons, tc.reasons, name)
		assert.NotNil(t, tc.sample.Quality.Reasons, name)
	}
}

func signals(p result.Placement, s result.Signals) result.Sample {
	return result.Sample{Placement: p, Quality: result.Quality{Signals: s}}
}

// In a short sample two ticks may be rounding, even with a large share.
func TestJudgeKnowsTheTick(t *testing.T) {
	steal := 0.02
	s := signals(result.Placement{Verified: true}, result.Signals{StealSeconds: &steal, WatchedSeconds: 0.05})
	Judge(&s, 1)
	assert.Equal(t, result.Valid, s.Quality.Verdict)
}

func TestGrown(t *testing.T) {
	one, three := uint64(1), uint64(3)
	assert.EqualValues(t, 2, *increase(&one, &three))
	assert.Nil(t, increase(&three, &one), "a counter that decreased gives no value")
	assert.Nil(t, increase(nil, &one))
	assert.Nil(t, increase(&one, nil))
}

// Rounding of ticks must not bias the mean over many samples: negative values are kept.
func TestOtherSecondsKeepTheirSign(t *testing.T) {
	w := &Watcher{root: fstest.MapFS{}, cpus: cpuset.Of(0)}
	of := func(busy float64) reading { return reading{at: time.Unix(0, 0), busy: &busy} }
	var sig result.Signals
	w.fill(&sig, of(4), of(4.25), 0.5)
	require.NotNil(t, sig.OtherSeconds)
	assert.Equal(t, -0.25, *sig.OtherSeconds)
	w.fill(&sig, of(4), of(5), 0.5)
	assert.Equal(t, 0.5, *sig.OtherSeconds)

	s := signals(result.Placement{Verified: true}, sig)
	*s.Quality.Signals.OtherSeconds = -5
	s.Quality.Signals.WatchedSeconds = 1
	Judge(&s, 1)
	assert.Equal(t, result.Valid, s.Quality.Verdict)

	var none result.Signals
	w.fill(&none, of(4), reading{}, 0.5)
	assert.Nil(t, none.OtherSeconds, "a counter that could not be read is no zero")
}

// The watcher measures the work done between its two readings.
func TestWatcher(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	w, _ := OpenWatcher(os.DirFS("/"), allowed, 1)
	defer func() { require.NoError(t, w.Close()) }()
	finish := w.Watch()
	pages := make([]byte, 8<<20)
	for i := 0; i < len(pages); i += 4096 {
		pages[i] = 1
	}
	s := result.Sample{Seconds: 1, Placement: result.Placement{Verified: true}, Values: result.FiguresOf(&struct{ result.OwnProcess }{})}
	finish(&s)
	require.NotNil(t, s.Quality.Signals.MinorFaults)
	assert.Positive(t, *s.Quality.Signals.MinorFaults)
	require.NotNil(t, s.Quality.Signals.StealSeconds)
	require.NotNil(t, s.Quality.Signals.CanarySeconds)
	assert.Positive(t, *s.Quality.Signals.CanarySeconds)
	peak := s.Values.Own().MemoryPeakBytes
	require.NotNil(t, peak)
	assert.Greater(t, *peak, uint64(len(pages)))
}

// Many threads do not get a counter each, and the run has a warning.
func TestWatcherSparesManyThreads(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	w, warnings := OpenWatcher(os.DirFS("/"), allowed, 50_000)
	var codes []string
	for _, warning := range warnings {
		codes = append(codes, warning.Code)
	}
	assert.Subset(t, codes, []string{"no-run-queue", "no-migrations"})
	s := result.Sample{Seconds: 1}
	w.Watch()(&s)
	assert.Nil(t, s.Quality.Signals.Migrations)
}

// A value that could be read neither before nor after a sample gives one reason.
func TestReasonsAreNotRepeated(t *testing.T) {
	doubt := result.Doubt{Verdict: result.Suspect, Reason: "it cannot be read"}
	s := result.Sample{Seconds: 1, Placement: result.Placement{Verified: true}, Doubts: []result.Doubt{doubt, doubt}}
	Judge(&s, 1)
	assert.Equal(t, []string{doubt.Reason}, s.Quality.Reasons)
}
