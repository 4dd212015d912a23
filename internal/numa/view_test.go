package numa

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/render"
	"gorun/internal/render/rendertest"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// views show runs of numa.
var views = render.Views{Experiment}

// shownSpec mirrors the experiment's spec.
type shownSpec struct {
	Load        float64 `json:"load"`
	Buffer      string  `json:"buffer"`
	PreferredBy string  `json:"preferred_node_by"`
	Blocks      bool    `json:"blocks"`
}

// rfcRows reads a table of the RFC, with the figures in seconds.
func rfcRows(t require.TestingT, name string) (rows []rfcRow) {
	data, err := os.ReadFile(filepath.Join("testdata", "rfc-"+name+".txt"))
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var x [9]float64
		for i, field := range strings.Fields(line) {
			if x[i] = -1; field != "F" {
				x[i], err = strconv.ParseFloat(field, 64)
				require.NoError(t, err)
			}
		}
		rows = append(rows, rfcRow{avg: x[1], max: x[2], min: x[3], stdv: x[4], NumaRow: result.NumaRow{
			Row: int(x[0]), PreferredNode: int(x[5]), NUMABalancing: int(x[6]), Mem: int(x[7]), CPU: int(x[8]),
			BufferBytes: 256 << 20, Pages: "4k", Access: "random",
		}})
	}
	require.Len(t, rows, 36)
	return rows
}

// sampleOfRow returns a good sample of a row.
func sampleOfRow(index int, row result.NumaRow, wall float64, change func(v *result.Numa)) result.Sample {
	v := result.Numa{
		NumaRow: row, Accesses: 2e9, Repetitions: 2, SettledSeconds: 0.1, NsPerAccess: wall * 1e9 / 2e9,
		Repeated:  result.Distribution{Min: wall / 2, Median: wall / 2, Mean: wall / 2, P99: wall / 2, Max: wall / 2},
		PageBytes: map[string]uint64{"4096": row.BufferBytes}, NodePages: map[string]int{"0": 65536},
	}
	if row.Access == "random" {
		v.IndexNs = 1.62
	}
	if row.Pages != "4k" {
		v.PageBytes = map[string]uint64{"2097152": row.BufferBytes}
	}
	if row.Mem >= 0 {
		v.NodePages = map[string]int{strconv.Itoa(row.Mem): 65536}
	}
	if change != nil {
		change(&v)
	}
	s := rendertest.Sample(index, wall)
	s.Values = result.FiguresOf(&v)
	s.Placement = result.Placement{
		Requested: fmt.Sprintf("memory of node %d, CPUs of node %d", row.Mem, row.CPU), Verified: true, Checked: 4,
	}
	return s
}

// runOf returns a run of rows without samples, like one of the command: interleaved, with verdicts.
func runOf(nodes int, rows []result.NumaRow) *result.Run {
	run := rendertest.Run("numa", 8, nodes)
	run.NumaRows = rows
	run.Spec = shownSpec{Load: 60, Buffer: "256MiB", PreferredBy: "prctl"}
	run.Matrix = &result.Matrix{
		Alpha: 0.05, Margin: 0.02, Precision: 0.02,
		Order:   result.Order{Method: "randomised complete blocks", BlockCells: 8},
		Control: rendertest.Effect(stats.Same, 0.1, -0.8, 0.9, 64),
	}
	for _, row := range rows {
		if row.Unsupported == "" {
			run.Cells = append(run.Cells, result.Cell{
				Name: view.RowName(row.Row), Flags: map[string]string{"row": strconv.Itoa(row.Row), "mem": "float"},
				Command: []string{"numa"},
			})
		}
	}
	return run
}

// takeRound adds a sample of each row, and of the control.
func takeRound(run *result.Run, round int, wall func(row result.NumaRow) float64, change func(v *result.Numa)) {
	cell := 0
	take := func(row result.NumaRow, slot result.Slot, times float64) {
		s := sampleOfRow(len(run.Samples), row, times*wall(row), change)
		s.Slot = &slot
		run.Samples = append(run.Samples, s)
	}
	for _, row := range run.NumaRows {
		if row.Unsupported == "" {
			take(row, result.Slot{Cell: cell, Round: round}, 1+float64(round)/50)
			cell++
		}
	}
	if run.Matrix.Control != nil {
		first := slices.IndexFunc(run.NumaRows, func(row result.NumaRow) bool { return row.Unsupported == "" })
		take(run.NumaRows[first], result.Slot{Control: true, Round: round}, 99)
	}
}

// judgedRun gives the cells summaries and verdicts.
func judgedRun(run *result.Run, verdicts ...*stats.Verdict) *result.Run {
	for i := range run.Cells {
		run.Cells[i].Summary = rendertest.Timed(1)
		if i > 0 && len(verdicts) > 0 {
			run.Cells[i].Verdict = verdicts[i%len(verdicts)]
			run.Cells[i].Words = run.Cells[i].Verdict.String()
		}
	}
	return run
}

// migrated moves the probe to wherever it may run.
func migrated(v *result.Numa) {
	m := &result.Migrations{By: "sched_migrate_task", SameCore: 788, SameLLC: 1200, SameNode: 1051}
	m.FromNode, m.ToNode = map[string]uint64{}, map[string]uint64{}
	if v.CPU < 0 {
		m.CrossNode, m.FromNode, m.ToNode = 1738, map[string]uint64{"0": 870, "1": 868}, map[string]uint64{"0": 868, "1": 870}
	}
	m.Total = m.SameCore + m.SameLLC + m.SameNode + m.CrossNode
	v.Migrations = m
	v.Load = &result.NumaLoad{Requested: 60, CPUs: []result.NumaLoadCPU{
		{CPU: 0, Achieved: 59.98, Expected: 60}, {CPU: 1, Achieved: 54.2, Expected: 55.1},
	}}
}

const noPrctl = "this kernel has no prctl(101) for a preferred node (it is a patch that was never merged)"

// rfcRun returns the RFC's table on a kernel without the patch.
func rfcRun() *result.Run {
	reference := rfcRows(panics{}, "intel")
	rows := make([]result.NumaRow, len(reference))
	for i, row := range reference {
		if rows[i] = row.NumaRow; row.PreferredNode >= 0 {
			rows[i].PreferredBy, rows[i].Unsupported = "prctl", noPrctl
		}
	}
	run := runOf(2, rows)
	for round := range 2 {
		takeRound(run, round, func(row result.NumaRow) float64 { return reference[row.Row].avg }, migrated)
	}
	run.Findings = []result.Finding{{Code: "cross-node-cost", Message: "[08]: a sample moved to another node 1738 times."}}
	run.Warnings = []result.Warning{{Code: "bare", Message: "A warning."}}
	return judgedRun(run, rendertest.Effect(stats.Slower, 23.6, 22.1, 25, 64), rendertest.Effect(stats.Same, 0.2, -0.9, 1.2, 64),
		rendertest.Effect(stats.Faster, -4, -5, -3, 64))
}

// panics implements require.TestingT for fixtures that are read from files.
type panics struct{}

func (panics) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panics) FailNow()                          { panic("a fixture cannot be read") }

// floating returns the rows of one node: bound and floating, with NUMA balancing unchanged.
func floating(change func(row *result.NumaRow)) (rows []result.NumaRow) {
	for _, mem := range []int{0, -1} {
		for _, cpu := range []int{0, -1} {
			row := result.NumaRow{
				Row: len(rows), PreferredNode: -1, NUMABalancing: -1, Mem: mem, CPU: cpu, BufferBytes: 64 << 20, Pages: "thp",
				Access: "chase",
			}
			if change != nil {
				change(&row)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// oneNodeRun returns a run on one node: short, without load, and with other pages than requested.
func oneNodeRun() *result.Run {
	run := runOf(1, floating(nil))
	run.Spec = shownSpec{Buffer: "64MiB", PreferredBy: "prctl"}
	for round := range 3 {
		takeRound(run, round, func(row result.NumaRow) float64 { return 0.0125 + 0.0001*float64(row.Row) },
			func(v *result.Numa) {
				v.PageBytes = map[string]uint64{"2097152": 48 << 20, "4096": 16 << 20}
			})
	}
	return judgedRun(run, rendertest.Effect(stats.Same, 0.2, -0.9, 1.2, 3))
}

// partialRun returns a run that was interrupted in its first round: one row has a sample, another an invalid one.
func partialRun() *result.Run {
	run := runOf(2, floating(nil))
	takeRound(run, 0, func(result.NumaRow) float64 { return 2.5 }, nil)
	run.Partial, run.Samples = true, run.Samples[:3]
	run.Samples[1].Quality = result.Quality{Verdict: result.Invalid, Reasons: []string{"7 pages are not on node 0"}}
	run.Samples[2].Partial, run.Samples[2].Values = true, result.Figures{}
	run.Samples[2].Quality = result.Quality{Verdict: result.Suspect, Reasons: []string{"cut short"}}
	run.Cells[0].Summary = rendertest.Timed(2.5)
	run.Matrix.Control = nil
	return run
}

// wideRun returns a run on 8 nodes with lost records of migrations.
func wideRun() *result.Run {
	run := runOf(8, floating(func(row *result.NumaRow) { row.PreferredNode, row.PreferredBy = 7, "mempolicy" }))
	for round := range 2 {
		takeRound(run, round, func(row result.NumaRow) float64 { return 200 + 50*float64(row.Row) }, func(v *result.Numa) {
			m := &result.Migrations{
				By: "switches", SameCore: 3, FromNode: map[string]uint64{}, ToNode: map[string]uint64{}, Lost: uint64(round),
			}
			for node := range 8 {
				if v.CPU < 0 {
					m.FromNode[strconv.Itoa(node)], m.ToNode[strconv.Itoa(node)] = 4000+uint64(node), 4001+uint64(round)
					m.CrossNode += 4000 + uint64(node)
				}
			}
			m.Total = m.SameCore + m.CrossNode
			v.Migrations = m
			v.NodePages = map[string]int{"0": 60000, "7": 5536}
		})
	}
	return judgedRun(run, rendertest.Effect(stats.Slower, 25, 22, 28, 2))
}

// blocksRun returns a run that was measured row by row.
func blocksRun() *result.Run {
	run := runOf(2, floating(nil))
	run.Matrix.Control, run.Matrix.Order.Design = nil, result.Rows
	run.Spec = shownSpec{Load: 60, Buffer: "64MiB", Blocks: true}
	for round := range 2 {
		takeRound(run, round, func(row result.NumaRow) float64 { return 1.5 + float64(row.Row) }, nil)
	}
	return judgedRun(run)
}

// buffersRun returns a run with several buffers, on two kinds of pages.
func buffersRun() *result.Run {
	var rows []result.NumaRow
	for _, pages := range []string{"4k", "2m"} {
		for power := 15; power <= 30; power += 3 {
			rows = append(rows, result.NumaRow{
				Row: len(rows), PreferredNode: -1, NUMABalancing: -1, BufferBytes: 1 << power, Pages: pages, Access: "chase",
			})
		}
	}
	run := runOf(1, rows)
	run.Caches = []result.Cache{{Level: 1, Bytes: 48 << 10}, {Level: 2, Bytes: 2 << 20}, {Level: 3, Bytes: 260 << 20}}
	wall := func(row result.NumaRow) float64 { return 2 * math.Sqrt(float64(row.BufferBytes)/(1<<15)) }
	takeRound(run, 0, wall, func(v *result.Numa) {
		if v.Pages == "2m" {
			v.NsPerAccess *= 0.7
		}
	})
	return judgedRun(run, rendertest.Effect(stats.Slower, 25, 22, 28, 25))
}

// movesRun returns a run with floating processes that move, with the times of the moves.
func movesRun() *result.Run {
	run := runOf(2, floating(nil))
	relations := []string{"same-core", "same-llc", "same-llc", "same-node", "cross-node"}
	for round := range 3 {
		takeRound(run, round, func(row result.NumaRow) float64 { return 4.5 + float64(row.Row)/2 }, func(v *result.Numa) {
			m := &result.Migrations{By: "sched_migrate_task", FromNode: map[string]uint64{}, ToNode: map[string]uint64{}}
			count := map[int]int{0: 4, -1: 40}[v.CPU] + round
			for i := range count {
				move := result.NumaMove{
					Seconds: 4 * math.Pow(float64(i)/float64(count), 1.5), From: i % 8, To: (i + 3) % 8,
					Relation: relations[i*7%(4+min(1, -v.CPU))],
				}
				v.Timeline = append(v.Timeline, move)
				*map[string]*uint64{
					"same-core": &m.SameCore, "same-llc": &m.SameLLC, "same-node": &m.SameNode, "cross-node": &m.CrossNode,
				}[move.Relation]++
			}
			m.Total = uint64(count)
			v.Migrations = m
		})
	}
	return judgedRun(run, rendertest.Effect(stats.Same, 0.2, -0.9, 1.2, 3))
}

// loadRun returns a run with --load-only.
func loadRun() *result.Run {
	run := rendertest.Run("load", 2, 1)
	run.Spec = shownSpec{Load: 30, Buffer: "256MiB"}
	for second := range 3 {
		s := rendertest.Sample(second, 1)
		s.Values = result.FiguresOf(&result.Load{Load: &result.NumaLoad{Requested: 30, CPUs: []result.NumaLoadCPU{
			{CPU: 1, Achieved: 30.02 - 0.05*float64(second), Expected: 30}, {CPU: 0, Achieved: 29.99, Expected: 30},
		}}})
		s.Placement = result.Placement{Requested: "none"}
		run.Samples = append(run.Samples, s)
	}
	return run
}

// The tables of both postings are reproduced from their figures, line for line. Non-breaking spaces are plain ones
// here.
func TestRFCLines(t *testing.T) {
	for _, c := range []struct {
		name string
		form rfcForm
		head [][2]string
	}{
		{"intel", postedForm, [][2]string{
			{"NumSamples", "64"},
			{"Kernel", "6.7.0-rc1_ch_pna7_7+_#213 SMP PREEMPT_DYNAMIC Thu Dec 7 15:16:59 EST 2023"},
			{"Load", "60"},
			{"CPU_Model", "IntelR XeonR Platinum 8167M CPU @ 2.00GHz"},
			{"NUM_CPUS", "104"},
			{"migration_cost_ns", "500000"},
		}},
		{"amd", alignedForm, [][2]string{
			{"NumSamples", "36"},
			{"Load", "60"},
			{"CPU_Model", "AMD EPYC 7551 32-Core Processor"},
			{"NUM_CPUS", "128"},
			{"Migration Cost", "500000"},
		}},
	} {
		want, err := os.ReadFile(filepath.Join("..", "..", "testdata", "golden", "render", "numa-rfc-"+c.name+".lines"))
		require.NoError(t, err)
		assert.Equal(t, string(want), strings.Join(rfcLines(c.head, rfcRows(t, c.name), c.form), "\n")+"\n")
	}
}

// Rows that cannot be measured are listed in both forms, with the parameters that differ.
func TestRFCLinesOfOtherRows(t *testing.T) {
	rows := []rfcRow{
		{NumaRow: result.NumaRow{Row: 0, PreferredNode: -1, Access: "chase"}, avg: 0.0123456, max: 0.02, min: 0.01},
		{NumaRow: result.NumaRow{Row: 118, PreferredNode: 0, NUMABalancing: -1, Mem: -1}, instead: "unsupported"},
	}
	assert.Equal(t, []string{
		"Unit: ms", "", postedForm.title, strings.Repeat("-", 70),
		"[00] 12.35 20.00 10.00 0.00 | PNID: -1 NB: 0 Mem: 0 CPU: 0 Access: chase",
		"[118] unsupported | PNID: 0 NB: keep Mem: F CPU: 0 Access: ",
	}, rfcLines(nil, rows, postedForm))
	assert.Equal(t, []string{
		"[00]  12.35   20.00   10.00   0.00  |  PNID: -1 NB: 0 Mem: 0 CPU 0 Access: chase",
		"[118] unsupported                    |  PNID:  0 NB: keep Mem: F CPU 0 Access: ",
	}, rfcLines(nil, rows, alignedForm)[4:])
}

// The figures of a row are those of its good samples, and the deviation has the usual definition.
func TestRowFigures(t *testing.T) {
	run := oneNodeRun()
	assert.InDelta(t, math.Sqrt(32.0/7), deviation([]float64{2, 4, 4, 4, 5, 5, 7, 9}), 1e-12)
	assert.Zero(t, deviation([]float64{3}))
	rows := measuredRows(run)
	require.Len(t, rows, 4)
	assert.Len(t, rows[0].seconds, 3, "without the control's")
	page := rendertest.Show(t, views.Table, run, term.Options{})
	assert.Contains(t, page, "NumSamples: 3\n")
	assert.Contains(t, page, "\n[00] 12.75 13.00 12.50 0.25 | PNID: -1 NB: keep Mem: 0 CPU: 0\n")

	run.Samples[0].Quality.Verdict = result.Invalid
	page = rendertest.Show(t, views.Table, run, term.Options{})
	assert.Contains(t, page, "NumSamples: 2 to 3\n")
	assert.Contains(t, page, "\n[00] 12.88 13.00 12.75 0.18 | ")
}

// A run without rows of its own, such as one process's, has the rows of its samples.
func TestRowsOfSamples(t *testing.T) {
	run := blocksRun()
	run.NumaRows, run.Cells, run.Matrix = nil, nil, nil
	rows := measuredRows(run)
	require.Len(t, rows, 4)
	assert.Len(t, rows[3].samples, 2)
	assert.Contains(t, rendertest.Show(t, views.Table, run, term.Options{}), "[03] 4.54 4.59 4.50 0.06 | PNID: -1 NB: keep Mem: F CPU: F")
}

func TestTable(t *testing.T) {
	page := rendertest.Show(t, views.Table, rfcRun(), term.Options{})
	assert.Contains(t, page, "NumSamples: 2\nKernel: 6.18.2\nLoad: 60\nCPU_Model: Example CPU 8581C @ 2.10GHz\n"+
		"NUM_CPUS: 8\nmigration_cost_ns: unknown\n\nAvg max")
	assert.Contains(t, page, "making its random index takes 1.62 ns, measured without\n  memory: 1.8 % to 2.4 %")
	assert.Contains(t, page, "\n\n[18] unsupported | PNID: 0 NB: 1 Mem: 0 CPU: 0\n")
	assert.Equal(t, 1, strings.Count(page, "[18-35] unsupported: this kernel"), "a reason is shown once")
	assert.Contains(t, page, "  [00]   0    0    0      68.93  baseline\n")
	assert.Contains(t, page, "  [03]   0    1    0      83.80  slower: +22% to +25%\n")
	assert.Contains(t, page, "control: the baseline against its own duplicate")
	assert.Contains(t, page, "60 requested of each")
	assert.Contains(t, page, "  Less is expected where the probe had the CPU. Furthest from what was\n"+
		"  expected was CPU 1: 54.2 instead of 55.1.\n")
	assert.Contains(t, page, "Seen by sched_migrate_task in 36 samples; no record was lost.")
	assert.NotContains(t, page, "--blocks")

	page = rendertest.Show(t, views.Table, blocksRun(), term.Options{})
	assert.Contains(t, page, "Nothing is judged: with --blocks")
	assert.NotContains(t, page, "verdict")
	assert.NotContains(t, page, "Migrations", "none were seen, which is not none")

	page = rendertest.Show(t, views.Table, partialRun(), term.Options{})
	assert.Contains(t, page, "[01] no good sample | ")
	assert.Contains(t, page, "interrupted: what is shown was measured")

	page = rendertest.Show(t, views.Table, oneNodeRun(), term.Options{})
	assert.Contains(t, page, "[0-3] 25.0 % of the buffer is not in thp pages")
	assert.Contains(t, page, "Unit: ms\n")

	page = rendertest.Show(t, views.Table, wideRun(), term.Options{})
	assert.Contains(t, page, "Seen by switches in 8 samples; 4 records lost in 4 samples, whose figures")
	assert.Contains(t, page, "[0-1] 8.4 % of the buffer's pages are not on node 0")
	assert.Contains(t, page, "  [01]  4001.5/4000  4001.5/4001", "to and from each node, the mean of two samples")
	assert.NotContains(t, page, "random index", "only random access makes one")
}

func TestNumaFitsAnyWidth(t *testing.T) {
	for name, run := range map[string]*result.Run{
		"rfc": rfcRun(), "one node": oneNodeRun(), "partial": partialRun(), "wide": wideRun(), "blocks": blocksRun(),
		"buffers": buffersRun(), "moves": movesRun(), "load": loadRun(),
	} {
		for width := 60; width <= 140; width += 16 {
			for _, terminal := range []bool{false, true} {
				for line := range strings.Lines(rendertest.Show(t, views.Table, run, term.Options{Width: width, Terminal: terminal})) {
					assert.LessOrEqual(t, text.StringWidth(strings.TrimSuffix(line, "\n")), width, "%s: %q", name, line)
				}
			}
		}
	}
}

func TestPlanBlock(t *testing.T) {
	rows := rfcRun().NumaRows[16:20]
	plan := &result.Plan{
		Experiment: "numa", CPUs: "0-7", Placement: "as each row says", NumaRows: rows,
		Spec: shownSpec{Load: 60, Buffer: "256MiB"},
	}
	var out strings.Builder
	require.NoError(t, views.Plan(&out, plan, "table"))
	want, err := os.ReadFile(filepath.Join("..", "..", "testdata", "golden", "render", "numa.plan"))
	require.NoError(t, err)
	assert.Equal(t, string(want), out.String())
	assert.Contains(t, out.String(), "[18]     0   1    0    0  unsupported\n")
	assert.Contains(t, out.String(), "[18-19] unsupported: this kernel")

	rows[2].Unsupported, rows[2].NoEffect = "", "the kernel ignores it"
	out.Reset()
	require.NoError(t, views.Plan(&out, plan, "table"))
	assert.Contains(t, out.String(), "[18]     0   1    0    0  no effect\n")
	assert.Contains(t, out.String(), "[18] no effect: the kernel ignores it")
}

func TestCSVAndBench(t *testing.T) {
	run := blocksRun()
	records, err := csv.NewReader(strings.NewReader(rendertest.Show(t, views.CSV, run, term.Options{}))).ReadAll()
	require.NoError(t, err)
	at := slices.Index(records[0], "row")
	assert.Equal(t, []string{
		"row", "mem", "cpu", "numa_balancing", "preferred_node", "buffer_bytes", "pages", "access", "ns_per_access",
	}, records[0][at:at+9])
	assert.Equal(t, []string{"1", "0", "-1", "-1", "-1", "67108864", "thp", "chase", "1.25"}, records[2][at:at+9])

	page := rendertest.Show(t, views.Benchfmt, rfcRun(), term.Options{})
	assert.Contains(t, page, "BenchmarkNuma/mem=0/cpu=F/numa_balancing=0/preferred_node=none/buffer_bytes=268435456/"+
		"pages=4k/access=random/load=60-8 2000000000 86.575 ns/op\n")
	assert.Contains(t, page, "/access=random/load=60/control=true-8")
	assert.NotContains(t, page, "row=")
	assert.Contains(t, rendertest.Show(t, views.Benchfmt, loadRun(), term.Options{}), "BenchmarkLoad/load=30-2 1 30.005 achieved-percent")
}

func TestSVG(t *testing.T) {
	for _, run := range []*result.Run{rfcRun(), buffersRun()} {
		var out strings.Builder
		require.NoError(t, writeSVG(&out, run))
		rendertest.XML(t, out.String())
	}
	var out strings.Builder
	require.NoError(t, writeSVG(&out, rfcRun()))
	// Row [02]: memory on node 0, the process floats; mean of 173.15 and 2% more.
	assert.Contains(t, out.String(), "<title>Mem 0, CPU F: 174.9 s</title>")
	assert.NotContains(t, out.String(), "not known")
	empty := rfcRun()
	empty.Samples = nil
	assert.ErrorContains(t, writeSVG(io.Discard, empty), "no row has a good sample")
	assert.ErrorContains(t, writeSVG(rendertest.Broken{}, rfcRun()), "cannot write the picture as SVG")
}

// A foreign journal is shown without a panic, in every format.
func TestViewOfStrangers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.IntRange(-3, 5)
		word := rapid.SampledFrom([]string{"", "4k", "2m", "\x1b[31m", strings.Repeat("x", 200), "世界"})
		run := blocksRun()
		run.Matrix.Baseline = number.Draw(t, "baseline")
		run.Spec = shownSpec{Blocks: rapid.Bool().Draw(t, "blocks")}
		for i := range run.NumaRows {
			row := &run.NumaRows[i]
			row.Row, row.Mem, row.CPU = number.Draw(t, "row"), number.Draw(t, "mem"), number.Draw(t, "cpu")
			row.Pages, row.Access, row.Unsupported = word.Draw(t, "pages"), word.Draw(t, "access"), word.Draw(t, "why")
			row.BufferBytes = rapid.Uint64().Draw(t, "bytes")
		}
		for i := range run.Cells {
			run.Cells[i].Flags = map[string]string{"row": word.Draw(t, "flag") + strconv.Itoa(number.Draw(t, "number"))}
		}
		for i := range run.Samples {
			v := result.Numa{NumaRow: run.NumaRows[i%4], Accesses: rapid.Uint64().Draw(t, "accesses")}
			v.Migrations = &result.Migrations{ToNode: map[string]uint64{word.Draw(t, "node"): 7}, CrossNode: 7}
			v.Load = &result.NumaLoad{}
			run.Samples[i].Values = result.FiguresOf(&v)
			run.Samples[i].Seconds = rapid.Float64Range(0, 1e9).Draw(t, "seconds")
		}
		for _, format := range views.Formats() {
			require.NoError(t, format.Write(io.Discard, run, term.Options{}))
		}
		_ = writeSVG(io.Discard, run)
		run.Experiment = "load"
		require.NoError(t, views.Table(io.Discard, run, term.Options{}))
	})
}

// Caches are marked at their size, and those larger than the buffers are left out.
func TestLatencyGuides(t *testing.T) {
	run := buffersRun()
	run.Caches = append(run.Caches, result.Cache{Level: 4, Bytes: 2 << 30}, result.Cache{Level: 0, Bytes: 16 << 10})
	f, ok := drawLatency(run)
	require.True(t, ok)
	rendertest.Figure(t, f)
	// 2 MiB is 6 of 15 doublings from 32 KiB to 1 GiB, over the 356 units of a panel.
	assert.Contains(t, f.SVG, fmt.Sprintf(`<title>L2: 2 MiB</title><path d="M%.1f 0v180"`, 6.0/15*356))
	assert.Equal(t, 3, strings.Count(f.SVG, "stroke-dasharray=\"3 3\""))
	assert.Contains(t, f.SVG, `<title>Pages 4k, 2 MiB buffer: 8.00 ns</title>`)

	run.Caches = nil
	f, ok = drawLatency(run)
	require.True(t, ok)
	rendertest.Figure(t, f)
	assert.NotContains(t, f.Table.Head, "fits in")
}

func TestMaps(t *testing.T) {
	f, ok := drawMaps(rfcRun())
	require.True(t, ok)
	assert.Contains(t, f.SVG, ">NB: 0</text>")
	assert.Contains(t, f.SVG, ">NB: 1</text>", "a map for each group of the RFC")
	assert.Equal(t, 2*9, strings.Count(f.SVG, "<title>Mem "))
	assert.Len(t, f.Table.Rows, 2*9)

	var rows []result.NumaRow
	for node := range maxMapNodes + 1 {
		row := floating(nil)[0]
		row.Row, row.Mem, row.CPU = node, node, node
		rows = append(rows, row)
	}
	for nodes, drawn := range map[int]bool{1: true, maxMapNodes: true, maxMapNodes + 1: false} {
		run := runOf(8, rows[:nodes])
		takeRound(run, 0, func(row result.NumaRow) float64 { return 1 + float64(row.Row) }, nil)
		f, ok := drawMaps(run)
		require.Equal(t, drawn, ok, "%d nodes", nodes)
		if ok {
			rendertest.Figure(t, f)
			assert.Less(t, len(f.SVG), 512<<10)
		}
	}
}
