package contend

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/render"
	"gorun/internal/render/rendertest"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// views show runs of contend.
var views = render.Views{Experiment}

// shownSpec mirrors the experiment's spec.
type shownSpec struct {
	Op        string  `json:"op"`
	Load      string  `json:"load"`
	Mode      string  `json:"mode"`
	Count     uint64  `json:"count"`
	Time      float64 `json:"time_seconds"`
	Window    float64 `json:"window_seconds"`
	DistBytes string  `json:"dist_bytes"`
	MemNode   string  `json:"mem_node"`
	Nodes     string  `json:"nodes"`
	CPUs      string  `json:"cpus"`
	Samples   int     `json:"samples"`
}

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

// rowSample returns a good sample of a row.
func rowSample(index int, row result.ContendRow, ns, stdev float64, change func(c *Figures)) result.Sample {
	c := Figures{
		ContendRow: row, Mode: ByTime, NsPerOp: ns, Min: ns - stdev, Max: ns + stdev/2, Stdev: stdev,
		Fairness: 1 - stdev/200, FairnessMinMax: 0.9, OpsPerSecond: float64(row.CPUs) * 1e9 / ns, Operations: 4711,
		MemNodeRead: new(0), Overlap: new(0.98), Windows: 98, WindowsOf: 100, WindowNs: 1e6,
		WindowsNs: &result.Distribution{Min: ns - 2*stdev, Median: ns, Mean: ns, P99: ns + stdev, Max: ns + 2*stdev},
		Threads:   []Thread{{NsPerOp: ns, Operations: 4711, Seconds: 0.098}},
	}
	if change != nil {
		change(&c)
	}
	s := rendertest.Sample(index, 0.104)
	s.Values = result.FiguresOf(&c)
	s.Placement = result.Placement{
		Requested: fmt.Sprintf("a thread pinned to each of CPUs %s, memory on node 0", row.CPUList), Verified: true,
		Checked: 2 * row.CPUs,
	}
	return s
}

// runOn returns a run without samples.
func runOn(cpus, nodes int) *result.Run {
	run := rendertest.Run("contend", cpus, nodes)
	run.Spec = shownSpec{
		Op: "cmpxchg", Load: "cpu-increase", Mode: ByTime, Time: 0.1, Window: 0.001, DistBytes: "0", MemNode: "0",
		Nodes: cpuset.Range(0, nodes-1).String(), CPUs: run.Host.Allowed, Samples: 1,
	}
	return run
}

// classicRun returns the classic listing: one word, increasing numbers of CPUs of two nodes, by count.
func classicRun() *result.Run {
	run := runOn(8, 2)
	figures := []struct{ least, most, mean, stdev float64 }{
		{8.938, 8.938, 8.938, 0},
		{36.114, 36.119, 36.117, 0.004},
		{54.27, 54.272, 54.271, 0.001},
		{72.292, 72.321, 72.313, 0.013},
		{61.691, 108.06, 98.782, 20.735},
		{101.316, 136.923, 125.059, 18.369},
		{151.639, 169.218, 161.702, 9.358},
		{192.281, 196.25, 194.281, 2.098},
	}
	for i, row := range increase("cmpxchg", "lock cmpxchg", 2, 4) {
		run.Samples = append(run.Samples, rowSample(i, row, figures[i].mean, figures[i].stdev, func(c *Figures) {
			c.Min, c.Max = figures[i].least, figures[i].most
			c.Mode, c.CountPerCPU, c.Windows, c.WindowsOf, c.WindowNs, c.WindowsNs = ByCount, 1000000, 0, 0, 0, nil
			c.Operations = 1000000 * uint64(row.CPUs)
			c.Failures = new(c.Operations * uint64(i) / 8)
			c.Overlap = new(figures[i].least / figures[i].most)
		}))
	}
	return run
}

// singleCPURun has one row.
func singleCPURun() *result.Run {
	run := runOn(1, 1)
	row := increase("idle", "dec", 1, 1)[0]
	run.Samples = []result.Sample{rowSample(0, row, 0.2512, 0, nil)}
	return run
}

// wideRun returns a run on 256 CPUs of 8 nodes, with two operations and two distances.
func wideRun() *result.Run {
	run := runOn(256, 8)
	for _, op := range [...]struct{ name, instruction string }{{"mov+mfence", "mov; mfence"}, {"xadd", "lock xadd"}} {
		for _, dist := range []int{0, 64} {
			rows := increase(op.name, op.instruction, 8, 32)
			for _, n := range []int{1, 2, 33, 255, 256} {
				row := rows[n-1]
				row.Row, row.DistBytes = len(run.Samples), dist
				ns := 20.5 * float64(n) / float64(1+dist)
				run.Samples = append(run.Samples, rowSample(len(run.Samples), row, ns, float64(n-1)/9, nil))
			}
		}
	}
	rendertest.Change(&run.Samples[8], map[string]any{"cpu_list": "0-99:1/2,101,103,105,107,110-190,200-220,230-253"})
	return run
}

// samplesRun returns a run with several samples of each row, not all good.
func samplesRun() *result.Run {
	run := runOn(8, 2)
	for _, ns := range []float64{1, 1.1, 0.98} {
		for _, row := range increase("cas-loop", "lock cmpxchg", 2, 4)[:5] {
			row.Pattern = strings.ReplaceAll(row.Pattern, "*---", "---*") // any CPU of a node
			n := float64(row.CPUs)
			run.Samples = append(run.Samples, rowSample(len(run.Samples), row, 30*ns*n, n, func(c *Figures) {
				c.Failures = new(c.Operations * uint64(row.CPUs-1) * 3 / 2)
			}))
		}
	}
	run.Samples[5].Quality = result.Quality{
		Verdict: result.Suspect, Reasons: []string{"all threads ran in only 41% of the windows"},
	}
	for _, i := range []int{2, 7, 12} {
		run.Samples[i].Quality = result.Quality{Verdict: result.Invalid, Reasons: []string{"the memory is on node 1, not 0"}}
		run.Samples[i].Placement.Verified = false
		run.Samples[i].Placement.Mismatches = []string{"the memory is on node 1, not 0"}
	}
	run.Samples[3].Quality = result.Quality{Verdict: result.Invalid, Reasons: []string{"0.6 s stolen"}}
	return run
}

func svgOf(t *testing.T, run *result.Run) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, writeSVG(&out, run))
	return out.String()
}

// The dry run prints exactly the classic listing.
func TestPlanBlock(t *testing.T) {
	plan := &result.Plan{
		Experiment: "contend", CPUs: "0-7", Threads: 8, Placement: "a thread pinned to each CPU of the row",
		Spec: shownSpec{
			Op: "cmpxchg", Load: "cpu-increase", Mode: "time", Time: 0.1, DistBytes: "0", Nodes: "0,2", MemNode: "0",
			CPUs: "0-7",
		},
		ContendRows: increase("cmpxchg", "lock cmpxchg", 2, 4),
	}
	var out strings.Builder
	require.NoError(t, views.Plan(&out, plan, "table"))
	assert.Equal(t, `Plan of gorun contend (nothing was run)
  op                 cmpxchg
  load               cpu-increase
  nodes              0,2
  mem-node           0
  dist-bytes         0
  mode               time
  time-seconds       0.1
  CPUs of the run    0-7
  placement          a thread pinned to each CPU of the row
  threads at once    8

  Nodes N0   N2   CPUs operation
  CPUs  *--- ---- 1    cmpxchg
  CPUs  **-- ---- 2    cmpxchg
  CPUs  ***- ---- 3    cmpxchg
  CPUs  **** ---- 4    cmpxchg
  CPUs  **** *--- 5    cmpxchg
  CPUs  **** **-- 6    cmpxchg
  CPUs  **** ***- 7    cmpxchg
  CPUs  **** **** 8    cmpxchg
`, out.String())

	out.Reset()
	plan.ContendRows = increase("xadd", "lock xadd", 8, 32)[254:]
	require.NoError(t, views.Plan(&out, plan, "table"))
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

func TestContendedRows(t *testing.T) {
	run := samplesRun()
	rows := measuredRows(run.Samples)
	require.Len(t, rows, 5)
	for i, want := range []struct {
		samples int
		verdict result.Verdict
		avg     string
		scatter string
	}{
		{3, result.Suspect, "30.000", "6%"},
		{3, result.Valid, "60.000", "6%"},
		{3, result.Invalid, "90.000", "6%"},
		{2, result.Valid, "124.800", "6%"},
		{3, result.Valid, "150.000", "6%"},
	} {
		row := rows[i]
		assert.Equal(t, i, row.Row)
		assert.Len(t, row.samples, want.samples)
		assert.Equal(t, want.verdict, row.verdict)
		assert.Equal(t, want.avg, median(nanoseconds, nsPerOp)(&row))
		assert.Equal(t, want.scatter, halfRange(&row))
	}
	assert.Empty(t, measuredRows([]result.Sample{
		{},
		{Values: rendertest.Figures(map[string]any{"cpus": "many"})},
		{Values: rendertest.Figures(map[string]any{"cpus": -1.0})},
	}))

	rendertest.Change(&run.Samples[1], map[string]any{"operations": 0})
	assert.Len(t, measuredRows(run.Samples)[1].samples, 3)
	d, ok := measuredRows(run.Samples)[1].spread(nsPerOp)
	require.True(t, ok)
	assert.InDelta(t, 62.4, d.Median, 1e-9, "a sample in which nothing was counted has no figures")
}

func TestTableFitsAnyWidth(t *testing.T) {
	for name, run := range map[string]*result.Run{
		"contend": classicRun(), "samples": samplesRun(), "wide": wideRun(), "one": singleCPURun(),
	} {
		for width := 76; width < 400; width += 11 {
			page := rendertest.Show(t, views.Table, run, term.Options{Width: width})
			for line := range strings.Lines(page) {
				assert.LessOrEqual(t, text.StringWidth(strings.TrimSuffix(line, "\n")), width, "%s: %q", name, line)
			}
		}
	}
	assert.Contains(t, rendertest.Show(t, views.Table, classicRun(), term.Options{Width: 110}), "CPUs  **** *--- 5    cmpxchg")
	wide := rendertest.Show(t, views.Table, wideRun(), term.Options{Width: 420})
	assert.Contains(t, wide, strings.Repeat("*", 32)+" *"+strings.Repeat("-", 31))
	assert.Contains(t, wide, "mov; mfence")
	assert.Contains(t, wide, " … ", "the windows")
	assert.NotContains(t, rendertest.Show(t, views.Table, classicRun(), term.Options{Width: 420}), "windows are")
	assert.Contains(t, rendertest.Show(t, views.Table, wideRun(), term.Options{Width: 86}), "0-99:1/2,… ")
	assert.Contains(t, rendertest.Show(t, views.Table, wideRun(), term.Options{Width: 86}), "  fair  ")
}

// The note mentions the tail of a count only if there is one.
func TestCountNote(t *testing.T) {
	rows := measuredRows(classicRun().Samples)
	assert.Contains(t, countNote(rows), "at the same time for 57.1 % to 100.0 % of its duration")
	assert.Contains(t, countNote(rows[4:5]), "at the same time for 57.1 % of its duration")
	assert.Empty(t, countNote(rows[:1]), "one thread has no tail")
	assert.Empty(t, countNote(measuredRows(samplesRun().Samples)), "windows have none")
}

// Threads that differ in nothing else use different memory.
func TestAxes(t *testing.T) {
	run := runOn(2, 2)
	rows := increase("xadd", "ldaddal", 2, 1)
	other := rows[1]
	other.MemNode, other.Row = 1, 2
	for _, row := range append(rows, other) {
		run.Samples = append(run.Samples, rowSample(row.Row, row, 10, 1, func(c *Figures) { c.Variant = "lse" }))
	}
	page := rendertest.Show(t, views.Table, run, term.Options{})
	assert.Contains(t, page, "ldaddal · lse · one word for all threads")
	assert.NotContains(t, page, "memory of node")
	assert.Contains(t, page, "node 1  ")
}

func TestCSV(t *testing.T) {
	run := samplesRun()
	rows, err := csv.NewReader(strings.NewReader(rendertest.Show(t, views.CSV, run, term.Options{}))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+len(run.Samples))
	first := "row,op,load,cpus,ns_per_op,min,max,stdev,fairness,ops_per_second,cpu_list"
	assert.True(t, strings.HasPrefix(strings.Join(rows[0], ","), first), rows[0])
	assert.Equal(t, "1,cas-loop,cpu-increase,2,60,58,61,2,0.99", strings.Join(rows[2][:9], ","))
	for _, name := range []string{"windows_ns_p99", "failures", "together", "verdict"} {
		assert.Contains(t, rows[0], name)
	}
	assert.NotContains(t, rows[0], "threads")
	assert.NotContains(t, rows[0], "windows_ns")
}

func TestBenchfmt(t *testing.T) {
	page := rendertest.Show(t, views.Benchfmt, classicRun(), term.Options{})
	assert.Contains(t, page, "\nBenchmarkContend/op=cmpxchg/load=cpu-increase/cpus=2/cpu_list=0-1/dist_bytes=0"+
		"/mem_node=0/mode=count-8 2000000 36.117 ns/op 5.537558490461556e+07 ops/s 0.99998 fairness\n")
	assert.Contains(t, page, "Unit ops/s better=higher\n")
	assert.NotContains(t, page, "trials")
	assert.Contains(t, rendertest.Show(t, views.Benchfmt, samplesRun(), term.Options{}), "/verdict=invalid-8 ")

	run := classicRun() // as a cell of a matrix, its flags come first and are not repeated
	run.Matrix = &result.Matrix{}
	run.Cells = []result.Cell{{Flags: map[string]string{"op": "cmpxchg", "count": "1000000"}}}
	run.Samples = run.Samples[1:2]
	run.Samples[0].Slot = &result.Slot{}
	page = rendertest.Show(t, views.Benchfmt, run, term.Options{})
	assert.Contains(t, page, "BenchmarkContend/count=1000000/op=cmpxchg/load=cpu-increase/cpus=2/")
}

func TestSVG(t *testing.T) {
	page := svgOf(t, classicRun())
	rendertest.XML(t, page)
	assert.Equal(t, 2*8, strings.Count(page, "<circle"))
	page = svgOf(t, wideRun())
	rendertest.XML(t, page)
	assert.Contains(t, page, ">xadd, 64 B</text>")

	err := writeSVG(&strings.Builder{}, singleCPURun())
	require.EqualError(t, err, "cannot draw a curve: no operation ran on different numbers of CPUs")
	assert.Contains(t, hint.Of(err), "cpu-increase")
	require.ErrorIs(t, writeSVG(rendertest.Broken{}, classicRun()), rendertest.ErrBroken)

	soiled := rendertest.Soiled(t, classicRun())
	soiled.Experiment = "contend"
	page = svgOf(t, soiled)
	rendertest.XML(t, page)
	assert.NotContains(t, page, "\x1b")

	invalid := classicRun()
	for i := range invalid.Samples[1:] {
		invalid.Samples[1+i].Quality.Verdict = result.Invalid
	}
	require.Error(t, writeSVG(&strings.Builder{}, invalid), "an invalid row is no point of a curve")
}

// The range of a row's samples is drawn around their median, and mentioned.
func TestCurvesShowTheSpread(t *testing.T) {
	f, ok := drawCurves(samplesRun())
	require.True(t, ok)
	assert.Contains(t, f.SVG, "<title>cas-loop, 5 CPUs: 150 ns (147 … 165)</title>")
	assert.Equal(t, 2, strings.Count(f.SVG, `stroke-width="5" opacity=".4"`), "in both panels")
	f, ok = drawCurves(classicRun())
	require.True(t, ok)
	assert.NotContains(t, f.SVG, `stroke-width="5"`, "one sample has no range")
}

func TestSeries(t *testing.T) {
	set := shown.Compared.SeriesOf(samplesRun())
	require.Len(t, set.Series, 5)
	assert.Equal(t, "cas-loop on 1 CPU (0)", set.Series[0].Name)
	assert.Equal(t, "time of an operation", set.What)
	assert.False(t, set.Timed)
}
