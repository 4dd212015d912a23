package numa

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/chart"
	"gorun/internal/render/rendertest"
	"gorun/internal/result"
)

// timelineRun has a row whose samples last 10 s and have these moves.
func timelineRun(samples ...[]result.NumaMove) *result.Run {
	run := measured(10, nil, slices.Repeat([]result.NumaRow{{BufferBytes: 1 << 20}}, len(samples))...)
	for i, moves := range samples {
		v, _ := result.Typed[result.Numa](&run.Samples[i])
		v.Timeline, v.Migrations = moves, &result.Migrations{By: "reads", Total: uint64(len(moves))}
	}
	run.NumaRows = run.NumaRows[:1]
	return run
}

func TestTimelineFigure(t *testing.T) {
	moves := []result.NumaMove{
		{Seconds: 5, From: 1, To: 2, Relation: "same-llc"}, // out of order
		{Seconds: 2.5, From: 0, To: 1, Relation: "cross-node"},
		{Seconds: 7.5, From: 2, To: 3, Relation: "same-llc"},
		{Seconds: 7.501, From: 3, To: 6, Relation: "same-node"},
		{Seconds: 7.502, From: 6, To: 7, Relation: "same-llc"},
		{Seconds: 10.5, From: 7, To: 0, Relation: "cross-node"}, // after the end
		{Seconds: -1, From: 7, To: 0, Relation: "cross-node"},
	}
	f, ok := drawTimeline(timelineRun(moves, nil, append(moves, moves...)))
	require.True(t, ok)
	rendertest.Figure(t, f)
	assert.Contains(t, f.SVG, `<g stroke="#d55e00" stroke-width="2">`+
		fmt.Sprintf(`<path d="M%.1f 0v-19"><title>2.50 s: CPU 0 to 1, cross-node</title></path></g>`, 0.25*laneWidth))
	assert.Contains(t, f.SVG, `<title>5.00 s: CPU 1 to 2, same-llc</title>`)
	assert.Contains(t, f.SVG, fmt.Sprintf(`<path d="M%.1f 0v-14"><title>7.50 s to 7.50 s: 2 same LLC, 1 same node</title>`,
		0.75*laneWidth))
	assert.Equal(t, 3+len(moveKinds), strings.Count(f.SVG, " 0v-"), "each place has one mark, and the legend one a kind")
	assert.Contains(t, f.SVG, "5 moves in 10.0 s", "of three samples, the one with the median")
	assert.Equal(t, [][]string{{"[00]", "0", "0", "0", "0", "7"}}, f.Table.Rows, "the mean of all samples")

	counted := timelineRun(moves)
	rendertest.Change(&counted.Samples[0], map[string]any{"timeline": nil})
	_, ok = drawTimeline(counted)
	assert.False(t, ok, "moves that were counted but not kept are not drawn as no moves")
	f, ok = drawTimeline(timelineRun(nil))
	require.True(t, ok, "no move is a result too")
	assert.Contains(t, f.SVG, "0 moves in 10.0 s")
}

// Rows with thousands of moves each give a small figure.
func TestTimelineFigureIsSmall(t *testing.T) {
	rows := make([]result.NumaRow, chart.MaxLanes+5)
	for i := range rows {
		rows[i] = result.NumaRow{Row: i, Mem: Float, CPU: Float, BufferBytes: 1 << 20}
	}
	f, ok := drawTimeline(measured(120, func(v *result.Numa) {
		for i := range 1000 {
			v.Timeline = append(v.Timeline, result.NumaMove{
				Seconds: float64(i) / 9, From: i % 128, To: i % 127, Relation: moveKinds[i%4].relation.String(),
			})
		}
		v.Migrations = &result.Migrations{By: "reads", Total: 1000}
	}, rows...))
	require.True(t, ok)
	rendertest.Figure(t, f)
	assert.Less(t, len(f.SVG), 400<<10)
	assert.Len(t, f.Table.Rows, chart.MaxLanes+5)
	assert.Contains(t, f.Description, "The last 5 rows are not drawn.")
}
