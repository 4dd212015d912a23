package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render"
	"gorun/internal/result"
)

func TestPlanBlock(t *testing.T) {
	plan := &result.Plan{Experiment: "exec", Lines: &result.Lines{Taskset: "taskset -c 0", Systemd: []string{"CPUAffinity=0"}}}
	shown := func() string {
		var out strings.Builder
		require.NoError(t, render.Views{Experiment}.Plan(&out, plan, "table"))
		return out.String()
	}
	assert.Contains(t, shown(), "  taskset     taskset -c 0\n  systemd     CPUAffinity=0\n")
	plan.Lines = &result.Lines{}
	assert.NotContains(t, shown(), "taskset", "nothing is to be set")
}
