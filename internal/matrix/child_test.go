package matrix_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/child"
	"gorun/internal/matrix"
	"gorun/internal/result"
)

// scripted is a cell whose process is a shell that runs a script; what the child adds are the script's arguments.
func scripted(script string) (matrix.Child, result.Cell) {
	c := matrix.Child{Self: child.Self{
		Path: "/bin/sh", Argv: []string{"gorun"}, Env: []string{"PATH=" + os.Getenv("PATH")},
	}}
	return c, result.Cell{Command: []string{"-c", script, "cell"}}
}

// A sample is one of a process that drops its warm-ups; its canary is the process's first.
func TestChildSample(t *testing.T) {
	c, cell := scripted(`
		echo '{"warmups": [{"quality": {"signals": {"canary_seconds": 1}}}, {"quality": {"signals": {"canary_seconds": 2}}}],'
		echo '"samples": [{"seconds": 5, "quality": {"verdict": "valid", "signals": {"canary_seconds": 3}}}],'
		echo '"warnings": [{"code": "'"$*"'", "message": "m"}]}'`)
	sample, warnings := c.Sample(t.Context(), cell, 2)
	assert.Equal(t, 5.0, sample.Seconds)
	assert.Equal(t, 1.0, *sample.Quality.Signals.CanarySeconds)
	assert.Equal(t, []result.Warning{{Code: "--samples 1 --warmup 2 --format json", Message: "m"}}, warnings)
	assert.Equal(t, []string{"-c", cell.Command[1], "cell"}, cell.Command, "it stays as it was")

	c, cell = scripted(`echo '{"samples": [{"quality": {"signals": {"canary_seconds": 3}}}]}'`)
	sample, _ = c.Sample(t.Context(), cell, 0)
	assert.Equal(t, 3.0, *sample.Quality.Signals.CanarySeconds)

	for script, reason := range map[string]string{
		`echo '{"samples": []}'`:                                  "its process took 0 samples, and was to take one",
		`echo "gorun: error: no" >&2; exit 1`:                     "no",
		`printf 'gorun: error: no\ngorun: hint: yes' >&2; exit 1`: "no (yes)",
	} {
		c, cell := scripted(script)
		sample, warnings := c.Sample(t.Context(), cell, 1)
		assert.Equal(t, result.Quality{Verdict: result.Invalid, Reasons: []string{reason}}, sample.Quality)
		assert.Empty(t, warnings)
	}
}

// The pilot's processes take their executions within a third of the budget each.
func wall(s result.Sample) float64 { return s.Seconds }

func TestChildPilot(t *testing.T) {
	c, cell := scripted(`
		test "$*" = "--samples 5 --warmup 0 --format json --budget 20s" || exit 1
		echo '{"samples": [{"seconds": 9}, {"seconds": 9}, {"seconds": 5}, {"seconds": 5}, {"seconds": 5}]}'`)
	warmup, err := c.Pilot(t.Context(), cell, time.Minute, wall)
	require.NoError(t, err)
	assert.Equal(t, 2, warmup)
	_, err = c.Pilot(t.Context(), cell, time.Second, wall)
	require.Error(t, err)
}
