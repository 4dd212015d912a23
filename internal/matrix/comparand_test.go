package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/column"
	"gorun/internal/matrix"
	"gorun/internal/result"
)

func TestFigures(t *testing.T) {
	type figures struct{ Metric, NsPerOp float64 }
	columns := column.List{
		column.Computed(column.Column{Name: result.MetricColumn}, func(f *figures) float64 { return f.Metric }),
		column.Computed(column.Column{Name: "ns_per_op", Unit: column.Nanoseconds}, func(f *figures) float64 { return f.NsPerOp }),
	}
	s := result.Sample{Seconds: 3, Values: result.FiguresOf(&figures{4, 5})}
	for want, m := range map[float64]result.Matrix{
		3:    {},
		4:    {Compared: result.MetricColumn, Better: result.Lower},
		0.25: {Compared: result.MetricColumn, Better: result.Higher},
		5e-9: {Compared: "ns_per_op"},
	} {
		figures, err := matrix.Comparands(&m, columns)
		require.NoError(t, err)
		require.Len(t, figures, 1)
		assert.InDelta(t, want, figures[0].Of(s), 1e-18)
	}
	_, err := matrix.Comparands(&result.Matrix{Compared: "other_ns"}, columns)
	require.EqualError(t, err, "the cells are compared by other_ns, which this gorun does not know")
	_, err = matrix.Comparands(&result.Matrix{Figures: []result.JudgedColumn{{Column: "joules", Label: "energy"}}}, columns)
	require.EqualError(t, err, "the cells are judged by joules, which this gorun does not know")
}
