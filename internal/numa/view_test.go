package numa

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render"
	"gorun/internal/render/rendertest"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// rfcRows reads the RFC's table of a machine, with the figures in seconds.
func rfcRows(t require.TestingT, machine string) (rows []rfcRow) {
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "references", "numa.tsv"))
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		name, figures, _ := strings.Cut(line, "\t")
		if name != machine {
			continue
		}
		var x [9]float64
		for i, field := range strings.Fields(figures) {
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

// measured returns a run of these rows, each with a sample that takes so long.
func measured(seconds float64, change func(v *Figures), rows ...result.NumaRow) *result.Run {
	run := rendertest.Run("numa", 8, 2)
	run.NumaRows = rows
	for i, row := range rows {
		v := Figures{NumaRow: row, Accesses: 2e9, NsPerAccess: seconds * 1e9 / 2e9}
		if change != nil {
			change(&v)
		}
		s := rendertest.Sample(i, seconds)
		s.Values = result.FiguresOf(&v)
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

// Caches are marked at their size, and those larger than the buffers are left out.
func TestLatencyGuides(t *testing.T) {
	var rows []result.NumaRow
	for i, power := range []int{15, 21, 30} {
		rows = append(rows, result.NumaRow{Row: i, PreferredNode: -1, NUMABalancing: -1, BufferBytes: 1 << power, Access: "chase"})
	}
	run := measured(4, nil, rows...)
	for level, bytes := range []uint64{16 << 10, 48 << 10, 2 << 20, 260 << 20, 2 << 30} {
		run.Caches = append(run.Caches, result.Cache{Level: level, Bytes: bytes})
	}
	f, ok := drawLatency(run)
	require.True(t, ok)
	rendertest.Figure(t, f)
	// 2 MiB is 6 of 15 doublings from 32 KiB to 1 GiB, over the 356 units of a panel.
	assert.Contains(t, f.SVG, `<title>L2: 2 MiB</title><path d="M142.4 0v180"`)
	assert.Equal(t, 3, strings.Count(f.SVG, "stroke-dasharray=\"3 3\""))

	run.Caches = nil
	f, ok = drawLatency(run)
	require.True(t, ok)
	rendertest.Figure(t, f)
}

// Maps of very many nodes are not drawn.
func TestMaps(t *testing.T) {
	var rows []result.NumaRow
	for node := range maxMapNodes + 1 {
		rows = append(rows, result.NumaRow{Row: node, Mem: node, CPU: node, BufferBytes: 1 << 20})
	}
	for nodes, drawn := range map[int]bool{1: true, maxMapNodes: true, maxMapNodes + 1: false} {
		f, ok := drawMaps(measured(1, nil, rows[:nodes]...))
		require.Equal(t, drawn, ok, "%d nodes", nodes)
		if ok {
			rendertest.Figure(t, f)
			assert.Less(t, len(f.SVG), 512<<10)
		}
	}
}

// For a failed sample only the row is known, so that its figures are absent and not zero.
func TestFiguresWithoutProbe(t *testing.T) {
	run := measured(1, nil, result.NumaRow{Access: "chase"}, result.NumaRow{})
	for i, known := range []bool{true, false} {
		_, ok := perAccess.Number(&run.Samples[i])
		assert.Equal(t, known, ok)
	}
	var out strings.Builder
	require.NoError(t, render.Views{Experiment}.CSV(&out, run, term.Options{}))
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	require.NoError(t, err)
	at := slices.Index(rows[0], "repetition_seconds_median")
	require.GreaterOrEqual(t, at, 0)
	assert.Equal(t, []string{"0", ""}, []string{rows[1][at], rows[2][at]})
}

func TestMemShare(t *testing.T) {
	share := map[string]float64{"0": 0.25, "1": 0.75}
	assert.Nil(t, memShare(&Figures{NodePages: map[string]int{"0": 1}}))
	assert.Nil(t, memShare(&Figures{NodeShare: share}))
	assert.InDelta(t, 0.25, *memShare(&Figures{NodeShare: share, NodePages: map[string]int{"0": 8}}), 1e-9)
	assert.InDelta(t, 0.625, *memShare(&Figures{NodeShare: share, NodePages: map[string]int{"0": 4, "1": 12}}), 1e-9)
	assert.InDelta(t, 0, *memShare(&Figures{NodeShare: share, NodePages: map[string]int{"2": 8}}), 1e-9)
}
