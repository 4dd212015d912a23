package command

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/child"
	"gorun/internal/experiment"
	"gorun/internal/launch"
	"gorun/internal/result"
)

// sample takes a sample of a shell's script.
func sample(t *testing.T, s *sampler, c Cell, script string) (result.Sample, error) {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	s.Self, s.Environ = child.Self{Path: path, Argv: []string{path}}, os.Environ()
	c.Argv = []string{"sh", "-c", script}
	return s.Sample(t.Context(), c)
}

// A sample has what the command used, and the figure that it prints.
func TestSample(t *testing.T) {
	rate, err := newMetric(`rate: ([0-9.]+)`)
	require.NoError(t, err)
	c := Cell{Metrics: []metric{rate}, Setting: launch.Setting{GOMAXPROCS: 2}}
	for script, want := range map[string]struct {
		figure float64 // 0: none
		doubt  string
	}{
		"echo rate: $GOMAXPROCS.5 a second": {2.5, ""},
		"echo 'rate: 3' >&2":                {3, ""}, // what stdout does not tell is looked for in stderr
		"echo 'rate: 0'":                    {0, "the metric is 0, and only figures above 0 have a ratio"},
		"echo nothing":                      {0, `matches nothing in the output, which ends in "nothing"`},
	} {
		compared := &sampler{}
		s, err := sample(t, compared, c, script)
		require.NoError(t, err)
		v, ok := result.Typed[Figures](&s)
		require.True(t, ok)
		if want.figure > 0 {
			require.NotNil(t, v.Metric, script)
			assert.InDelta(t, want.figure, *v.Metric, 0, script)
		}
		if want.doubt == "" {
			assert.Empty(t, s.Doubts, script)
		} else {
			require.Len(t, s.Doubts, 1, script)
			assert.Equal(t, result.Invalid, s.Doubts[0].Verdict)
			assert.Contains(t, s.Doubts[0].Reason, want.doubt)
		}
		assert.Positive(t, s.Seconds)
		assert.Equal(t, compared.last.WallSeconds, s.Seconds)
		assert.Equal(t, compared.last.UserSeconds, s.UserSeconds)
		assert.True(t, s.Placement.Verified)
		assert.Equal(t, "gomaxprocs 2", s.Placement.Requested)
		assert.Equal(t, compared.last.MinorFaults, *s.Quality.Signals.MinorFaults)
		assert.False(t, s.Partial)
		require.NotNil(t, s.Quality.Signals.StoppedSeconds)
		assert.Zero(t, *s.Quality.Signals.StoppedSeconds)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path, err := os.Executable()
	require.NoError(t, err)
	s, _, err := Measure(ctx, launch.Command{Self: child.Self{Path: path, Argv: []string{path}}, Argv: []string{"sleep", "600"}})
	require.NoError(t, err)
	assert.True(t, s.Partial)
}

// In a comparison, a command that fails gives an invalid sample, unless its exit code is accepted. A single run always gives a
// sample, and gorun exits with the command's exit code.
func TestSampleOfACommandThatFails(t *testing.T) {
	fails := func(c Cell, script string) string {
		s, err := sample(t, &sampler{}, c, script)
		require.NoError(t, err)
		if len(s.Doubts) == 0 {
			return ""
		}
		assert.Equal(t, result.Invalid, s.Doubts[0].Verdict)
		return s.Doubts[0].Reason
	}
	for script, want := range map[string]string{
		"exit 0":                          "",
		"exit 3":                          "the command ended with exit code 3",
		"printf 'a\\n b \\n' >&2; exit 3": "the command ended with exit code 3: a b",
		"kill -9 $$":                      "the command was ended by signal 9",
	} {
		assert.Equal(t, want, fails(Cell{}, script), script)
		assert.Empty(t, fails(Cell{Exits: exits{3, 137}}, script), script)
		assert.Equal(t, want, fails(Cell{Exits: exits{1, 9}}, script), script)
	}
	long := fails(Cell{}, "i=0; while [ $i -lt 1000 ]; do echo $i >&2; i=$((i+1)); done; exit 1")
	assert.True(t, strings.HasSuffix(long, " 998 999"), long)
	assert.NotContains(t, long, " 9 ", "the end is enough")
	assert.Equal(t, "the command took longer than the timeout", fails(Cell{Timeout: time.Nanosecond}, "sleep 600"))

	for passed, status := range map[bool]error{false: nil, true: experiment.Status(9)} {
		seen := &sampler{Setting: experiment.Setting{Passed: passed}}
		s, err := sample(t, seen, Cell{}, "exit 9")
		require.NoError(t, err)
		assert.Equal(t, passed, len(s.Doubts) == 0)
		_, err = seen.End()
		assert.Equal(t, status, err)
	}
}

// A command that cannot be started makes its sample invalid in a comparison, and is an error in a single run.
func TestSampleOfACommandThatNeverRan(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	s := &sampler{Setting: experiment.Setting{Self: child.Self{Path: path, Argv: []string{path}}, Environ: os.Environ()}}
	c := Cell{Argv: []string{"./no-such-command"}}
	got, err := s.Sample(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, result.Invalid, got.Quality.Verdict)
	s.Passed = true
	_, err = s.Sample(t.Context(), c)
	var never *launch.ExitError
	require.ErrorAs(t, err, &never)
	assert.Equal(t, launch.ExitNotFound, never.Code)
}
