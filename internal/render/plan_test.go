package render

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/result"
)

func TestPlan(t *testing.T) {
	plan := &result.Plan{
		Schema: result.Schema, Experiment: "primes", Spec: map[string]any{"limit": 100, "pin_cpus": "0-3", "nice": nil},
		CPUs: "0-3", Placement: "lock-thread, pin-cpus 0-3", Workers: 10, Threads: 4,
		Shares: []result.PlanShare{
			{CPU: 0, Workers: 3},
			{CPU: 1, Workers: 3},
			{CPU: 2, LLC: 1, Workers: 2},
			{CPU: 3, LLC: 1, Node: 1, Workers: 2},
		},
	}
	var out bytes.Buffer
	require.NoError(t, Plan(&out, plan, "table"))
	assert.Equal(t, `Plan of gorun primes (nothing was run)
  limit              100
  pin-cpus           0-3
  CPUs of the run    0-3
  placement          lock-thread, pin-cpus 0-3
  threads at once    4

  CPU              LLC  node workers each
  0-1                0     0            3
  2                  1     0            2
  3                  1     1            2
`, out.String())

	out.Reset()
	require.NoError(t, Plan(&out, plan, "json"))
	var back result.Plan
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	assert.Equal(t, plan.Shares, back.Shares)

	require.ErrorIs(t, Plan(&out, plan, "csv"), ErrFormat)
}
