package chart

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/show/term"
)

// twoNodes is a map of CPUs in two groups. Figures differ by what two CPUs share, and one is not known.
func twoNodes(cpus int) *Heat {
	h := &Heat{Unit: "ns", Pairs: true}
	for i := range cpus {
		h.Rows = append(h.Rows, Side{Name: strconv.Itoa(3 * i), Group: "N" + strconv.Itoa(2*i/cpus), Part: i / 4})
		row := make([]float64, cpus)
		for j := range row {
			row[j] = float64(10 + 200*(i^j)/cpus + (i+j)%7)
		}
		row[i] = math.NaN()
		h.At = append(h.At, row)
	}
	h.Columns = h.Rows
	h.At[0][cpus-1] = math.NaN()
	return h
}

// A map has each figure in its place, or its shade, and fits; or there is none.
func TestHeatText(t *testing.T) {
	for _, cpus := range []int{4, 5, 17, 38, 96} {
		h := twoNodes(cpus)
		for _, width := range []int{20, 40, 80, 600} {
			page := HeatText(h, "t", term.Options{Width: width})
			require.Equal(t, h.width(1) > width, page == "")
			for line := range strings.Lines(page) {
				require.LessOrEqual(t, term.Width(strings.TrimSuffix(line, "\n")), width, "%d CPUs: %q", cpus, line)
			}
			coloured := HeatText(h, "t", term.Options{Width: width, Terminal: true, Colour: true})
			require.Equal(t, page, text.StripEscape(coloured))
		}
		lines := strings.Split(HeatText(h, "t", term.Options{Width: 600}), "\n")
		for i, row := range h.At {
			want := strings.Fields(h.label(i))
			for j, x := range row {
				if i == 0 && j == cpus-1 {
					want = append(want, "·")
				} else if i != j {
					want = append(want, strconv.Itoa(int(x)))
				}
			}
			require.Equal(t, want, strings.Fields(lines[len(lines)-1-cpus+i]))
		}
	}
	assert.Empty(t, HeatText(&Heat{}, "t", term.Options{}))
	two := []Side{{Name: "0"}, {Name: "1"}}
	same := &Heat{Unit: "ns", Rows: two, Columns: two, Pairs: true, At: [][]float64{{math.NaN(), 1}, {1, math.NaN()}}}
	assert.Equal(t, "t, in ns\n        0    1\n  0       1.00\n  1  1.00\n", HeatText(same, "t", term.Options{}), "all figures are the same")
	assert.Contains(t, HeatText(twoNodes(17), "t", term.Options{Width: 60}), "t: time class 0–9 (key below)\n")
}

func TestHeatScale(t *testing.T) {
	s := heatScale{lo: 10, hi: 1000}
	assert.Equal(t, 0, s.level(10))
	assert.Equal(t, len(Shades)/2, s.level(100.001), "equal ratios are equal steps")
	assert.Equal(t, len(Shades)-1, s.level(1000))
	assert.Equal(t, len(Shades)-1, s.level(2000))
	assert.InDelta(t, 100, s.from(len(Shades)/2), 1e-9)
	assert.Equal(t, 0, heatScale{lo: 5, hi: 5}.level(5))
	assert.Equal(t, len(Shades)/2, heatScale{lo: 0, hi: 5}.level(2.5), "from 0 on, equal differences are")

	ratios, ok := scaleOf(&Heat{Ratios: true, At: [][]float64{{1, 1.01}}})
	require.True(t, ok)
	for ratio, level := range map[float64]int{1: 4, 1.02: 4, 0.98: 4, 1.04: 5, 0.96: 3, 1.3: 8, 100: 8, 0.5: 0, math.MaxFloat64: 8} {
		assert.Equal(t, level, ratios.level(ratio), "%v: the scale is around 1, and the same whatever the figures are", ratio)
	}
}

// Whoever sees no colours sees the order: the scales only get lighter, and text stands out on them (WCAG 2: 3 to 1 for
// large text, and all these figures are there without colour too).
func TestShadesCanBeTold(t *testing.T) {
	luminance := func(rgb [3]float64) float64 {
		sum := 0.0
		for i, weight := range [3]float64{0.2126, 0.7152, 0.0722} {
			sum += weight * math.Pow(rgb[i]/255, 2.2)
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

// Strokes of neighbours cover as many cells of each shade as there are.
func TestStrokesCoverTheCells(t *testing.T) {
	h := twoNodes(96)
	scale, _ := scaleOf(h)
	cells := map[string]int{}
	for _, x := range slices.Concat(h.At...) {
		if level := scale.level(x); level >= 0 {
			cells[Shades[level].Web]++
		}
	}
	for _, path := range strings.Split(string(svgCells(h, scale, 4, 4)), "<path stroke=\"")[1:] {
		shade, strokes, _ := strings.Cut(path, `" d="`)
		for _, stroke := range regexp.MustCompile(`h(\d+)`).FindAllStringSubmatch(strokes, -1) {
			length, err := strconv.Atoi(stroke[1])
			require.NoError(t, err)
			cells[shade] -= length
		}
	}
	for shade, left := range cells {
		assert.Zero(t, left, shade)
	}
}
