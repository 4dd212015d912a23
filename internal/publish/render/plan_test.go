package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/experiment"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
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
	assert.Equal(t, `Plan of gorun primes (nothing was run)
  limit            100
  pin-cpus         0-3
  CPUs of the run  0-3
  placement        lock-thread, pin-cpus 0-3
  threads at once  4

  CPU  LLC  node  workers each
  0-1    0     0             3
  2      1     0             2
  3      1     1             2
`, text(all.Plan(plan), term.Options{}))
}

// matrixPlan is of three cells, on a machine where nothing was measured.
func matrixPlan() *result.Plan {
	return &result.Plan{
		Schema: result.Schema, Experiment: "primes", Spec: map[string]any{"margin": "2%"}, CPUs: "0-1",
		Cells: []result.Cell{
			{Name: "workers=2", Command: []string{"primes", "--workers", "2"}},
			{Name: "workers=50", Command: []string{"primes", "--workers", "50"}},
			{Name: "it's", Command: []string{"exec", "--", "sh", "-c", "echo it's $((1 + 1))", ""}},
		},
		Baseline: 1,
		Order:    result.Order{Method: "randomised complete blocks", BlockCells: 2, First: [][]int{{2, 1}, {1, 3, 0}}},
		Estimate: &result.Estimate{Rounds: 25},
	}
}

// A plan names the command: some matrices are commands of their own.
func TestPlanOfItsOwnCommand(t *testing.T) {
	plan := matrixPlan()
	plan.Experiment = "live"
	shown := text(Views{{Text: experiment.Text{Name: "live"}, Traits: experiment.Traits{View: &experiment.View{Own: true}}}}.Plan(plan), term.Options{})
	assert.True(t, strings.HasPrefix(shown, "Plan of gorun live (nothing was run)\n"), shown)
}

func TestMatrixPlan(t *testing.T) {
	assert.Equal(t, `Plan of gorun matrix primes (nothing was run)
  margin           2%
  CPUs of the run  0-1

  cell  name                   command
     0  workers=2              gorun primes --workers 2
     1  workers=50 (baseline)  gorun primes --workers 50
     2  it's                   gorun exec -- sh -c 'echo it'\''s $((1 + 1))' ''

The first round
  block  cells
      1  2 1
      2  1 control 0

  The baseline runs once in each block, and a second time in one of them, as
  its own control.

time  at least 25 rounds; how long one takes is not known (--estimate measures
      it).
`, text(all.Plan(matrixPlan()), term.Options{}))
}

func TestPlanEstimate(t *testing.T) {
	estimate := func(e result.Estimate) string { return words(planEstimate(&e, term.Options{})) }
	assert.Equal(t, "time 1 round; how long one takes is not known (--estimate measures it).", estimate(result.Estimate{Rounds: 1, Asked: true}))
	assert.Equal(t, "time at least 25 rounds of about 4.1 s: 1 min 43 s; no round begins that would not end within the budget of"+
		" 1 min, which is enough for 14 rounds. One process of the baseline took 0.3 s, with its start and warm-up.",
		estimate(result.Estimate{BaselineSeconds: 0.31, RoundSeconds: 4.12, Rounds: 25, Seconds: 103, BudgetSeconds: 60}))
}
