package contend

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/cpuset"
	"gorun/internal/render"
	"gorun/internal/render/rendertest"
	"gorun/internal/result"
)

// increase returns the rows of cpu-increase on nodes of this many CPUs each, numbered node by node.
func increase(op, instruction string, nodes, each int) []result.ContendRow {
	var rows []result.ContendRow
	for n := 1; n <= nodes*each; n++ {
		row := result.ContendRow{
			Row: n - 1, Op: op, Instruction: instruction, Load: "cpu-increase", CPUs: n, CPUList: cpuset.Range(0, n-1).String(),
		}
		stars := strings.Repeat("*", n) + strings.Repeat("-", nodes*each-n)
		for node := range nodes {
			row.Pattern += " " + stars[node*each:(node+1)*each]
		}
		row.Pattern = row.Pattern[1:]
		rows = append(rows, row)
	}
	return rows
}

// The CPUs of very wide rows are listed, not drawn. testdata/script/contend.txtar has the plan of narrow ones.
func TestPlanOfManyCPUs(t *testing.T) {
	var out strings.Builder
	plan := &result.Plan{Experiment: "contend", Spec: map[string]any{}, ContendRows: increase("xadd", "lock xadd", 8, 32)[254:]}
	require.NoError(t, render.Views{Experiment}.Plan(&out, plan, "table"))
	assert.Contains(t, out.String(), "\n  CPUs list  operation\n  255  0-254 xadd\n  256  0-255 xadd\n")
}

// For any nodes, the names are above their CPUs.
func TestListing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SliceOfNDistinct(rapid.IntRange(0, 1023), 1, 4, rapid.ID).Draw(t, "nodes")
		each := rapid.IntRange(1, 9).Draw(t, "CPUs of a node")
		rows := increase("xadd", "lock xadd", len(nodes), each)
		title, lines := listing(rows, nodes, fullListing)
		for i, line := range lines {
			require.Len(t, line, len(title))
			require.Equal(t, rows[i].CPUs, strings.Count(line, "*"))
			want := "CPUs " + rows[i].Pattern + " " + strconv.Itoa(rows[i].CPUs) + " xadd"
			require.Equal(t, strings.Fields(want), strings.Fields(line))
		}
		for i, node := range nodes {
			at := strings.Index(title+" ", "N"+strconv.Itoa(node)+" ")
			require.Equal(t, strings.Fields(rows[0].Pattern)[i], strings.Fields(lines[0][at:])[0])
		}
	})
	title, _ := listing(increase("xadd", "", 2, 1), []int{0}, fullListing)
	assert.Equal(t, "Nodes N0 N? CPUs operation", title, "the options do not have every node")
	title, lines := listing(nil, nil, fullListing)
	assert.Equal(t, "Nodes CPUs operation", title)
	assert.Empty(t, lines)
}

// The range of a row's samples is drawn around their median, and mentioned.
func TestCurvesShowTheSpread(t *testing.T) {
	run := &result.Run{Experiment: "contend", Samples: append(row(0, 1, 0, ByTime, 1, 30), row(1, 2, 0, ByTime, 1, 147, 165, 150)...)}
	f, ok := drawCurves(run)
	require.True(t, ok)
	rendertest.Figure(t, f)
	assert.Contains(t, f.SVG, "<title>xadd, 2 CPUs: 150 ns (147 … 165)</title>")
	assert.Equal(t, 1, strings.Count(f.SVG, `stroke-width="5" opacity=".4"`))
	run.Samples = run.Samples[:2]
	f, ok = drawCurves(run)
	require.True(t, ok)
	assert.NotContains(t, f.SVG, `stroke-width="5"`, "one sample has no range")
	run.Samples[1].Quality.Verdict = result.Invalid
	_, ok = drawCurves(run)
	assert.False(t, ok, "an invalid row is no point of a curve")
}
