package launch

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/result"
	"gorun/internal/tests/hosts"
)

// measured runs a shell script as a sample.
func measured(t *testing.T, script, metric string) (result.Sample, Outcome) {
	t.Helper()
	r := Request{Command: command(sh(script)...)}
	if metric != "" {
		m, err := ParseMetric(metric)
		require.NoError(t, err)
		r.Metrics = []Metric{m}
	}
	machine := hosts.Machine(t, "qemu-cpu2")
	s, o, err := r.Measure(t.Context(), machine)
	require.NoError(t, err)
	return s, o
}

func TestMeasure(t *testing.T) {
	s, o := measured(t, "echo 'rate: 12.5 a second'", `rate: ([0-9.]+)`)
	assert.Empty(t, Request{}.Failure(o))
	assert.Empty(t, s.Doubts)
	v, ok := result.Typed[result.Exec](&s)
	require.True(t, ok)
	require.NotNil(t, v.Metric)
	assert.InDelta(t, 12.5, *v.Metric, 0)
	assert.Positive(t, s.Seconds)
	assert.Equal(t, o.WallSeconds, s.Seconds)
	assert.Equal(t, o.UserSeconds, s.UserSeconds)
	assert.True(t, s.Placement.Verified)
	assert.Equal(t, "none", s.Placement.Requested)
	assert.Equal(t, o.MinorFaults, *s.Quality.Signals.MinorFaults)
	assert.False(t, s.Partial)
	require.NotNil(t, s.Quality.Signals.StoppedSeconds)
	assert.Zero(t, *s.Quality.Signals.StoppedSeconds)

	s, _ = measured(t, "echo 'rate: 3' >&2", `rate: ([0-9.]+)`)
	v, ok = result.Typed[result.Exec](&s)
	require.True(t, ok)
	assert.InDelta(t, 3, *v.Metric, 0, "what stdout does not tell is looked for in stderr")

	s, _ = measured(t, "echo 'rate: 0'", `rate: ([0-9.]+)`)
	require.Len(t, s.Doubts, 1)
	assert.Equal(t, result.Doubt{
		Verdict: result.Invalid, Reason: "the metric is 0, and only figures above 0 have a ratio",
	}, s.Doubts[0])
	s, _ = measured(t, "echo nothing", `rate: ([0-9.]+)`)
	require.Len(t, s.Doubts, 1)
	assert.Contains(t, s.Doubts[0].Reason, "nothing in the output matches the metric")

	machine := hosts.Machine(t, "qemu-cpu2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, _, err := Request{Command: command("sleep", "600")}.Measure(ctx, machine)
	require.NoError(t, err)
	assert.True(t, s.Partial)
}

func TestFailure(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0":                          "",
		"exit 3":                          "the command ended with exit code 3",
		"printf 'a\\n b \\n' >&2; exit 3": "the command ended with exit code 3: a b",
		"kill -9 $$":                      "the command was ended by signal 9",
	} {
		s, o := measured(t, script, "")
		assert.Equal(t, want, Request{}.Failure(o), script)
		assert.Empty(t, Request{Exits: []int{3, 137}}.Failure(o), script)
		assert.Equal(t, want, Request{Exits: []int{1, 9}}.Failure(o), script)
		assert.Empty(t, s.Doubts, "whether a failure counts is the caller's to say")
	}
	_, o := measured(t, "i=0; while [ $i -lt 1000 ]; do echo $i >&2; i=$((i+1)); done; exit 1", "")
	assert.True(t, strings.HasSuffix(Request{}.Failure(o), " 998 999"), Request{}.Failure(o))
	assert.NotContains(t, Request{}.Failure(o), " 9 ", "the end is enough")

	machine := hosts.Machine(t, "qemu-cpu2")
	c := command("sleep", "600")
	c.Timeout = 1
	_, o, err := Request{Command: c}.Measure(t.Context(), machine)
	require.NoError(t, err)
	assert.Equal(t, "the command took longer than the timeout", Request{}.Failure(o))
}

// The whole of a short shown output is kept, and a reader that exits is noticed.
func TestOutputIsShownAndKept(t *testing.T) {
	from, to, err := os.Pipe()
	require.NoError(t, err)
	c := command(sh("echo seen; echo heard >&2")...)
	c.Stdout = to
	o, err := run(t, c, Setting{})
	require.NoError(t, err)
	require.NoError(t, to.Close())
	var seen bytes.Buffer
	_, err = seen.ReadFrom(from)
	require.NoError(t, err)
	assert.Equal(t, "seen\n", seen.String())
	assert.Equal(t, "seen\n", string(o.Stdout))
	assert.Equal(t, "heard\n", string(o.Stderr))

	from, to, err = os.Pipe()
	require.NoError(t, err)
	require.NoError(t, from.Close())
	c = command("yes")
	c.Stdout = to
	o, err = run(t, c, Setting{})
	require.NoError(t, err)
	require.NoError(t, to.Close())
	assert.NotZero(t, o.ExitCode, "it would go on for ever")
}
