package bind

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render"
	"gorun/internal/render/chart"
	"gorun/internal/result"
)

// For any numbers of processes and trials, the table is of readable size and includes all of them.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		processes, trials, rows, columns int
		legend                           string
	}{
		{1, 1, 1, 2, ""},
		{20, 10, 20, 20, ""},
		{41, 21, 21, 22, "; a row is the mean of up to 2 processes, by the first; a column is the mean of up to 2 trials, by the first"},
		{200, 10, 40, 20, "; a row is the mean of up to 5 processes, by the first"},
		{7, 45, 7, 30, "; a column is the mean of up to 3 trials, by the first"},
	} {
		all, want := trials{at: map[place]float64{}}, 0.0
		for process := range c.processes {
			all.processes = append(all.processes, process)
			for trial := range c.trials {
				for _, bound := range []bool{false, true} {
					ms := float64(1 + (process*31+trial*17)%13)
					all.at[place{process, trial, bound}] = ms
					want += ms
				}
			}
		}
		for trial := range c.trials {
			all.rounds = append(all.rounds, trial)
		}
		m, ok := all.table()
		require.True(t, ok)
		assert.Len(t, m.rows, c.rows)
		assert.Len(t, m.columns, c.columns)
		sum := 0.0
		for _, column := range m.columns {
			require.Len(t, column.at, c.rows)
			sum += column.mean
		}
		if c.trials%m.perColumn == 0 {
			assert.InDelta(t, want/float64(len(all.at)), sum/float64(len(m.columns)), 1e-6)
		}
		assert.Equal(t, "A is unbound, B is bound; P1 is process 0 of the data"+c.legend+".", m.legend())
	}
	for hi, want := range map[float64]string{0.512: "0.300", 5: "0.30", 50: "0.3", 500: "0"} {
		assert.Equal(t, want, table{scale: chart.HeatScale{Lo: 0, Hi: hi}}.show(0.3), hi)
	}
	assert.Equal(t, "·", table{}.show(math.NaN()))
}

func TestPlan(t *testing.T) {
	plan := &result.Plan{
		Experiment: "bind", CPUs: "0,5",
		Bind: &result.PlanBind{CPUs: []int{0, 5, 0, 5, 0}, Order: []bool{true, false, false, true}},
	}
	var out strings.Builder
	require.NoError(t, render.Views{Experiment}.Plan(&out, plan, "table"))
	assert.Contains(t, out.String(), "\n  CPU 0    P1 P3 P5\n  CPU 5    P2 P4\n\n  trials   B1 A1 A2 B2\n")
}
