package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/render/term"
)

// A map shows each figure in its place.
func TestHeatShowsEveryFigure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 12).Draw(t, "rows"), rapid.IntRange(1, 12).Draw(t, "columns")
		sides := func(n int) (sides []Side) {
			groups := rapid.IntRange(1, 3).Draw(t, "groups")
			for i := range n {
				sides = append(sides, Side{Name: strconv.Itoa(3 * i), Group: "N" + strconv.Itoa(i*groups/n)})
			}
			return sides
		}
		h := &Heat{Unit: "ns", Rows: sides(n), Columns: sides(m), Pairs: rapid.Bool().Draw(t, "pairs")}
		figures := rapid.SliceOfN(rapid.IntRange(0, 999), n*m, n*m).Draw(t, "figures") // 0: not known
		for i := range n {
			row := make([]float64, m)
			for j := range row {
				if row[j] = float64(figures[i*m+j]); row[j] == 0 || h.absent(i, j) {
					row[j] = math.NaN()
				}
			}
			h.At = append(h.At, row)
		}
		scale, ok := h.Scale()
		if !ok {
			return
		}
		page := HeatText(h, term.Options{Width: 200})
		lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
		lines = lines[len(lines)-n:]
		for i := range n {
			cells := strings.Fields(strings.TrimPrefix(lines[i], "  "+h.label(i)))
			for j := range cells {
				cells[j], _, _ = strings.Cut(cells[j], ".")
			}
			var want []string
			for j := range m {
				switch x := h.At[i][j]; {
				case !math.IsNaN(x):
					want = append(want, strconv.Itoa(int(x)))
					require.LessOrEqual(t, scale.from(scale.Level(x)), x*(1+1e-9))
				case !h.absent(i, j):
					want = append(want, "·")
				}
			}
			require.Equal(t, want, append([]string(nil), cells...))
		}
	})
}

// A map fits, or there is none.
func TestHeatFitsAnyWidth(t *testing.T) {
	for _, cpus := range []int{4, 5, 17, 38, 96} {
		h := neighbours(cpus)
		for _, width := range []int{20, 40, 80, 300} {
			page := HeatText(h, term.Options{Width: width})
			require.Equal(t, h.width(1) > width, page == "")
			for line := range strings.Lines(page) {
				require.LessOrEqual(t, term.Width(strings.TrimSuffix(line, "\n")), width, "%d CPUs: %q", cpus, line)
			}
			coloured := HeatText(h, term.Options{Width: width, Terminal: true, Colour: true})
			require.Equal(t, page, text.StripEscape(coloured))
		}
	}
	assert.Empty(t, HeatText(&Heat{}, term.Options{}))
	two := []Side{{Name: "0"}, {Name: "1"}}
	assert.Equal(t, "        0    1\n  0       1.00\n  1  1.00\n", HeatText(&Heat{
		Rows: two, Columns: two, Pairs: true, At: [][]float64{{math.NaN(), 1}, {1, math.NaN()}},
	}, term.Options{}), "all figures are the same")
}

func TestHeatScale(t *testing.T) {
	s := HeatScale{10, 1000}
	assert.Equal(t, 0, s.Level(10))
	assert.Equal(t, len(Shades)/2, s.Level(100.001), "equal ratios are equal steps")
	assert.Equal(t, len(Shades)-1, s.Level(1000))
	assert.Equal(t, len(Shades)-1, s.Level(2000))
	assert.InDelta(t, 100, s.from(len(Shades)/2), 1e-9)
	assert.Equal(t, 0, HeatScale{5, 5}.Level(5))
	assert.Equal(t, len(Shades)/2, HeatScale{0, 5}.Level(2.5), "from 0 on, equal differences are")
}

// Whoever sees no colours sees the order: the scales only get lighter, and text stands out on them (WCAG 2: 3 to 1 for
// large text, and all these figures are there without colour too).
func TestShadesCanBeTold(t *testing.T) {
	luminance := func(rgb [3]float64) float64 {
		sum := 0.0
		for i, weight := range [3]float64{0.2126, 0.7152, 0.0722} {
			c := rgb[i] / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	steps := [...]float64{0, 95, 135, 175, 215, 255} // of xterm's colour cube
	before := [2]float64{-1, -1}
	for _, shade := range Shades {
		var r, g, b int
		_, err := fmt.Sscanf(shade.Web, "#%02x%02x%02x", &r, &g, &b)
		require.NoError(t, err)
		cube := shade.xterm - 16
		colours := [2][3]float64{{float64(r), float64(g), float64(b)}, {steps[cube/36], steps[cube/6%6], steps[cube%6]}}
		for i, rgb := range colours {
			l := luminance(rgb)
			assert.Greater(t, l, before[i], "%v", shade)
			before[i] = l
			contrast := 1.05 / (l + 0.05)
			if shade.Ink == "black" {
				contrast = (l + 0.05) / 0.05
			}
			assert.Greater(t, contrast, 3.0, "%v", shade)
		}
	}
}

// Strokes of neighbours are the same map as the cells.
func TestHeatSVGStrokesCoverTheCells(t *testing.T) {
	h := neighbours(96)
	scale, _ := h.Scale()
	page := svgCells(h, scale, 4, 4)
	drawn := map[[2]int]string{}
	for _, path := range strings.Split(page, "<path stroke=\"")[1:] {
		shade, strokes, _ := strings.Cut(path, `" d="M`)
		strokes, _, _ = strings.Cut(strokes, `"`)
		for stroke := range strings.SplitSeq(strokes, "M") {
			var x, y, length int
			_, err := fmt.Sscanf(stroke, "%d %d.5h%d", &x, &y, &length)
			require.NoError(t, err, stroke)
			for i := range length {
				require.Empty(t, drawn[[2]int{y, x + i}])
				drawn[[2]int{y, x + i}] = shade
			}
		}
	}
	for i, row := range h.At {
		for j, x := range row {
			want := ""
			if !math.IsNaN(x) {
				want = Shades[scale.Level(x)].Web
			}
			require.Equal(t, want, drawn[[2]int{i, j}])
		}
	}
}

// neighbours returns a map whose second half of CPUs are the siblings of the first half. There are two nodes, and caches
// of up to four cores; a figure follows from what two CPUs share, with some noise that is the same each time.
func neighbours(cpus int) *Heat {
	h := &Heat{Unit: "ns", Pairs: true}
	cores := cpus / 2
	type seat struct{ cpu, core, llc, node int }
	var seats []seat
	for cpu := range cpus {
		core := cpu % cores
		seats = append(seats, seat{cpu, core, core / min(4, cores/2), 2 * core / cores})
	}
	slices.SortFunc(seats, func(a, b seat) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.llc, b.llc), cmp.Compare(a.core, b.core), cmp.Compare(a.cpu, b.cpu))
	})
	for _, a := range seats {
		h.Rows = append(h.Rows, Side{Name: strconv.Itoa(a.cpu), Group: "N" + strconv.Itoa(a.node), Part: a.llc})
		var row []float64
		for _, b := range seats {
			shared := 4.0
			switch {
			case a.cpu == b.cpu:
				shared = math.NaN()
			case a.core == b.core:
				shared = 1
			case a.llc == b.llc && a.node == b.node:
				shared = 2
			case a.node == b.node:
				shared = 3
			}
			row = append(row, 10*shared*shared*(1+float64((min(a.cpu, b.cpu)*31+max(a.cpu, b.cpu)*17)%13)/100))
		}
		h.At = append(h.At, row)
	}
	h.Columns = h.Rows
	return h
}
