package numa

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/record/result"
	"gorun/internal/show/rendertest"
)

// rfcRows reads the RFC's table of a machine: its rows, and their figures in seconds.
func rfcRows(t testing.TB, machine string) (rows []result.NumaRow, figures [][]float64) {
	data := tests.Read(t, filepath.Join("..", "..", "..", "testdata", "references", "numa.tsv"))
	for line := range strings.Lines(string(data)) {
		name, fields, _ := strings.Cut(line, "\t")
		if name != machine {
			continue
		}
		var x [9]float64
		for i, field := range strings.Fields(fields) {
			if x[i] = -1; field != "F" {
				n, err := strconv.ParseFloat(field, 64)
				require.NoError(t, err)
				x[i] = n
			}
		}
		figures = append(figures, x[1:5])
		rows = append(rows, result.NumaRow{
			Row: int(x[0]), PreferredNode: int(x[5]), NUMABalancing: int(x[6]), Mem: int(x[7]), CPU: int(x[8]),
		})
	}
	require.Len(t, rows, 36)
	return rows, figures
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
		want := tests.Read(t, filepath.Join("..", "..", "..", "testdata", "golden", "render", "numa-rfc-"+c.name+".lines"))
		rows, figures := rfcRows(t, c.name)
		assert.Equal(t, string(want), strings.Join(rfcLines(c.head, withoutSamples(rows), figures, c.form), "\n")+"\n")
	}
}

// Maps of very many nodes are not drawn.
func TestMaps(t *testing.T) {
	for nodes, drawn := range map[int]bool{1: true, maxMapNodes: true, maxMapNodes + 1: false} {
		run := rendertest.Run("numa", 8, 2)
		for node := range nodes {
			row := result.NumaRow{Row: node, Mem: node, CPU: node, BufferBytes: 1 << 20}
			s := rendertest.Sample(node, 1)
			s.Values = result.FiguresOf(&Figures{NumaRow: row, Accesses: 1, NsPerAccess: 1})
			run.NumaRows = append(run.NumaRows, row)
			run.Samples.Append(&s)
		}
		f, ok := drawMaps(run)
		require.Equal(t, drawn, ok, "%d nodes", nodes)
		if ok {
			rendertest.Drawing(t, f)
			assert.Less(t, len(f.SVG), 512<<10)
		}
	}
}

// For a failed sample only the row is known, so that its figures are absent and not zero.
func TestFiguresWithoutProbe(t *testing.T) {
	for access, known := range map[string]bool{"chase": true, "": false} {
		s := result.Sample{Values: result.FiguresOf(&Figures{NumaRow: result.NumaRow{Access: access}})}
		for _, name := range []string{"ns_per_access", "repetition_seconds_median"} {
			c := columns.Get(name)
			_, ok := c.Number(&s)
			assert.Equal(t, known, ok, name)
		}
	}
}

func TestMemShare(t *testing.T) {
	share := map[int]float64{0: 0.25, 1: 0.75}
	assert.Nil(t, memShare(&Figures{NodePages: map[int]int{0: 1}}))
	assert.Nil(t, memShare(&Figures{NodeShare: share}))
	assert.InDelta(t, 0.25, *memShare(&Figures{NodeShare: share, NodePages: map[int]int{0: 8}}), 1e-9)
	assert.InDelta(t, 0.625, *memShare(&Figures{NodeShare: share, NodePages: map[int]int{0: 4, 1: 12}}), 1e-9)
	assert.InDelta(t, 0, *memShare(&Figures{NodeShare: share, NodePages: map[int]int{2: 8}}), 1e-9)
}
