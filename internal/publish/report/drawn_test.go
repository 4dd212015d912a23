package report

import (
	"cmp"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
	"gorun/internal/files/jsonl"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/rendertest"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// drawingOfRun returns a drawing of a run; false if it does not apply.
func drawingOfRun(t *testing.T, run *result.Run, anchor string) (chart.Drawing, bool) {
	t.Helper()
	all := figuresOf(run, experiments)
	at := slices.IndexFunc(all, func(d experiment.Drawing) bool { return d.Anchor == anchor })
	require.GreaterOrEqual(t, at, 0, anchor)
	return all[at].Draw(run)
}

// Every drawing of every recorded run has the numbers of the verdicts: also of rates, of which the verdict is by their inverse.
func TestDrawnIsJudged(t *testing.T) {
	judged, rates := 0, 0
	for _, r := range recordedRuns() {
		runs := map[string]*result.Run{r.name: r.in.Run}
		if text, ok := r.member("before.jsonl"); ok {
			runs[r.name+", before"] = readText(t, text).Run
		}
		for name, run := range runs {
			if view.Judged(run) {
				judged++
				if run.Matrix.Better == result.Higher {
					rates++
				}
				t.Run(name, func(t *testing.T) { assertDrawn(t, run) })
			}
		}
	}
	assert.Greater(t, judged, 5)
	assert.Positive(t, rates)
}

// So have those of a rate that varies, by which one cell is worse, and those of an amount of which less is better.
func TestDrawnRateIsJudged(t *testing.T) {
	for better, want := range map[string]struct{ words, ends string }{
		result.Higher: {"lower: −21% to −19%", "← lower rate"}, result.Lower: {"lower: −21% to −19%", "← less"},
	} {
		run := copyOf(t, "exec-metric")
		run.Matrix.Better = better
		run.Samples = run.Samples.Map(func(i int, s *result.Sample) {
			figure := 100 + float64(i*7%5)/20
			if s.Cell == 1 {
				figure *= 0.8
			}
			rendertest.Change(s, map[string]any{"metric": figure})
		})
		run = judgedAgain(t, run)
		assert.True(t, strings.HasPrefix(run.Cells[1].Words, want.words), run.Cells[1].Words)
		f, ok := drawingOfRun(t, run, ratiosAnchor)
		require.True(t, ok)
		assert.Contains(t, f.SVG, want.ends)
		assert.Contains(t, f.SVG, "typical sample: −21% to −19%")
		assertDrawn(t, run)
	}
}

// judgedAgain returns a run with the verdicts that follow from its samples.
func judgedAgain(t *testing.T, run *result.Run) *result.Run {
	t.Helper()
	lines := []result.Line{{Header: run.Header()}}
	for _, s := range run.Samples.All() {
		lines = append(lines, result.Line{Sample: s})
	}
	text := ""
	for _, of := range lines {
		line, err := jsonl.Marshal(of)
		require.NoError(t, err)
		text += string(line)
	}
	return readText(t, text).Run
}

func assertDrawn(t *testing.T, run *result.Run) {
	f, ok := drawingOfRun(t, run, ratiosAnchor)
	for _, cell := range run.Cells {
		assert.Equal(t, ok, ok || cell.Verdict != nil && cell.Verdict.Typical != stats.Effect{}, "%s is drawn", cell.Name)
	}
	if ok {
		assertForest(t, run, f)
	}
	assertFigures(t, run)
	assertParts(t, run)
}

var drawnBar = regexp.MustCompile(`<title>([^<]*)</title><path stroke="none" opacity=".75" d="M([\d.]+) \d+H([\d.]+)v`)

// assertParts asserts that the parts of the time are those of the samples, and that the bars of a difference lead to the whole: each
// begins where the one before ends.
func assertParts(t *testing.T, run *result.Run) {
	titles := view.CellTitles(run)
	if f, ok := drawingOfRun(t, run, "parts"); ok {
		for _, row := range f.Table.Rows {
			var waiting, running []float64
			for _, s := range run.Samples.All() {
				if titles[s.Cell] == row.Name && s.Good() && s.Account != nil {
					running, waiting = append(running, float64(s.Account.Running)/1e9), append(waiting, float64(s.Account.Waiting)/1e9)
				}
			}
			assert.Equal(t, []table.Value{table.Seconds(stats.Median(running)), table.Seconds(stats.Median(waiting))}, row.Values[1:3], row.Name)
		}
	}
	f, ok := drawingOfRun(t, run, "why")
	explained := func(c result.Cell) bool { return c.Why != nil && len(c.Why.Parts) > 0 }
	assert.Equal(t, slices.ContainsFunc(run.Cells, explained), ok)
	if !ok {
		return
	}
	rows := drawnRow.FindAllStringSubmatch(f.SVG, -1)
	for i, cell := range run.Cells {
		if !explained(cell) {
			continue
		}
		bars := drawnBar.FindAllStringSubmatch(rows[0][0], -1)
		assert.Equal(t, titles[i], html.UnescapeString(rows[0][1]))
		whole := bars[len(bars)-1]
		assert.Equal(t, cell.Why.Wall.Label+": "+cell.Why.Wall.Words(), html.UnescapeString(whole[1]))
		at := number(t, whole[2])
		for _, bar := range bars[:len(bars)-1] {
			assert.InDelta(t, at, number(t, bar[2]), 0.11, bar[1])
			at = number(t, bar[3])
		}
		assert.InDelta(t, number(t, whole[3]), at, 5, "the bars lead to the whole, but for what is too little to be drawn")
		rows = rows[1:]
	}
	assert.Empty(t, rows)
}

// expected is an interval that must be drawn, as a ratio of the figure.
type expected struct {
	of            string
	v             stats.Verdict
	ratio, lo, hi float64
	known         bool
}

// expectedOf reads a verdict independently of package stats: a rate was judged by its inverse, and so was a throughput.
func expectedOf(of string, v stats.Verdict, e *stats.Effect, rate bool) expected {
	if e == nil || *e == (stats.Effect{}) {
		return expected{of: of}
	}
	x := expected{of, v, e.Ratio, e.Lo, e.Hi, true}
	work := 1.0
	if v.Scale > 0 { // a step is shown by its throughput
		work = v.Scale * (1 + v.Margin)
	}
	if rate || v.Scale > 0 {
		x.ratio, x.lo, x.hi = work/e.Ratio, 0, math.MaxFloat64
		if e.Hi < math.MaxFloat64 {
			x.lo = work / e.Hi
		}
		if e.Lo > 0 {
			x.hi = work / e.Lo
		}
	}
	return x
}

var (
	drawnRow      = regexp.MustCompile(`(?s)<g data-cell="([^"]*)".*?\n</g>\n`)
	drawnTicks    = regexp.MustCompile(`<path d="((?:M[\d.]+ 15v\d+)+)"`)
	drawnOne      = regexp.MustCompile(`<path d="M([\d.]+) 15v\d+" stroke="currentColor" stroke-width="1.5"/>`)
	drawnInterval = regexp.MustCompile(`<g class="(\w+)"><title>([^<]*)</title>(?:<path d="M([\d.]+) \d+H([\d.]+)")?`)
	tickLabel     = regexp.MustCompile(`<text x="[\d.]+" y="13">([^<]*)</text>`)
	placeOnAxis   = regexp.MustCompile(`M([\d.]+) `)
)

func number(t *testing.T, text string) float64 {
	t.Helper()
	if below, fraction := strings.CutPrefix(text, "1/"); fraction {
		return 1 / number(t, below)
	}
	x, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return x
}

// scaleOf reads the axis of the ratios: it goes by equal ratios, from the place of 1 to that of the tick that is farthest from it.
func scaleOf(t *testing.T, svg string) (place func(ratio float64) float64) {
	t.Helper()
	one := number(t, drawnOne.FindStringSubmatch(svg)[1])
	labels := tickLabel.FindAllStringSubmatch(svg, -1)
	places := placeOnAxis.FindAllStringSubmatch(drawnTicks.FindStringSubmatch(svg)[1], -1)
	require.Len(t, places, len(labels))
	far, at := 1.0, one
	for i := range labels {
		if x := number(t, labels[i][1]); math.Abs(math.Log(x)) > math.Abs(math.Log(far)) {
			far, at = x, number(t, places[i][1])
		}
	}
	require.NotEqual(t, 1.0, far)
	return func(ratio float64) float64 {
		return min(max(one+math.Log(ratio)*(at-one)/math.Log(far), 0), 408)
	}
}

func assertForest(t *testing.T, run *result.Run, f chart.Drawing) {
	columns, _ := experiments.Known(run.Experiment)
	titles := view.CellTitles(run)
	rows := drawnRow.FindAllStringSubmatch(f.SVG, -1)
	require.Len(t, f.Table.Rows, len(rows))
	place := scaleOf(t, f.SVG)
	n := 0
	for i, cell := range run.Cells {
		if n == len(rows) || html.UnescapeString(rows[n][1]) != titles[i] || cell.Verdict == nil {
			continue
		}
		rate := run.Matrix.Better == result.Higher
		all := []expected{
			expectedOf("typical sample", *cell.Verdict, &cell.Verdict.Typical, rate),
			expectedOf("total of all samples", *cell.Verdict, cell.Verdict.Total, rate),
		}
		for _, figure := range run.Matrix.Figures {
			c, found := columns.Find(figure.Column)
			require.True(t, found)
			v, of := cell.Verdicts[figure.Column], cmp.Or(figure.Better, string(c.Better))
			all = append(all, expectedOf(figure.Label, v, &v.Typical, of == result.Higher))
		}
		values, drawn := f.Table.Rows[n].Values, map[string][]string{}
		for _, m := range drawnInterval.FindAllStringSubmatch(rows[n][0], -1) {
			of, words, found := strings.Cut(html.UnescapeString(m[2]), ": ")
			if found {
				drawn[of] = []string{m[1], words, m[3], m[4]}
			}
		}
		said := false
		for k, x := range all {
			got := drawn[x.of]
			if !x.known {
				assert.Nil(t, got, x.of)
				assert.Nil(t, values[1+2*k])
				continue
			}
			require.NotNil(t, got, "%s of %s", x.of, titles[i])
			ratio, _ := values[1+2*k].(table.Number)
			assert.InEpsilon(t, x.ratio, ratio.X, 1e-9)
			assert.Equal(t, table.Text(got[1]), values[2+2*k], "the words are those of the table")
			said = said || k < 2 && strings.Contains(cell.Words, got[1])
			if x.v.Kind == stats.Slower || x.v.Kind == stats.Faster {
				said, better := said || k >= 2 && strings.Contains(x.v.Brief(), got[1]), x.v.Kind == stats.Faster
				assert.True(t, said || k < 2, "%s: %s is not what was drawn, %s", x.of, x.v.Brief(), got[1])
				if got[0] == "faster" || got[0] == "slower" {
					assert.Equal(t, better, got[0] == "faster", "%s of %s", x.of, titles[i])
				}
			}
			if got[2] == "" {
				assert.True(t, x.lo == 0 || x.hi == math.MaxFloat64 || place(x.lo) == 0 && place(x.hi) == 408, "%s is words: %s", x.of, got[1])
				assert.Contains(t, rows[n][0], html.EscapeString(got[1])+"</text>")
				continue
			}
			assert.InDelta(t, place(x.lo), number(t, got[2]), 0.5, "%s of %s begins", x.of, titles[i])
			assert.InDelta(t, place(x.hi), number(t, got[3]), 0.5, "%s of %s ends", x.of, titles[i])
		}
		if kind := cell.Verdict.Kind; kind == stats.Slower || kind == stats.Faster {
			assert.True(t, said, "%q has an interval that is drawn", cell.Words)
		}
		n++
	}
	assert.Equal(t, len(rows), n)
}

// assertFigures asserts that the samples are drawn by the figure that was judged.
func assertFigures(t *testing.T, run *result.Run) {
	columns, _ := experiments.Known(run.Experiment)
	name, compared := cmp.Or(run.Matrix.Compared, column.Wall.Name), column.Wall
	if run.Matrix.Compared != "" {
		compared = columns.Get(name)
	}
	figure := func(s *result.Sample) float64 {
		x, _ := compared.Number(s)
		if compared.Unit == column.Nanoseconds {
			x /= 1e9
		}
		return x
	}
	number := func(v table.Value) float64 {
		n, is := v.(table.Number)
		require.True(t, is)
		return n.X
	}
	titles := view.CellTitles(run)
	if f, ok := drawingOfRun(t, run, "times"); ok {
		assert.Equal(t, name != column.Wall.Name, !strings.Contains(f.Title, "wall time"), f.Title)
		for _, row := range f.Table.Rows {
			var of []float64
			for _, s := range run.Samples.All() {
				if titles[s.Cell] == row.Name && s.Good() && figure(s) > 0 {
					of = append(of, figure(s))
				}
			}
			d := result.Distribute(of)
			for k, want := range []float64{d.Median, d.Min, d.Max, float64(len(of))} {
				assert.InEpsilon(t, want, number(row.Values[1+k]), 1e-12, "%s: %s", row.Name, f.Table.Columns[1+k].Title)
			}
		}
	}
	if f, ok := drawingOfRun(t, run, "samples"); ok {
		assert.Equal(t, name != column.Wall.Name, !strings.Contains(f.Title, "wall time"), f.Title)
		for _, row := range f.Table.Rows {
			of := run.Samples.Where(func(s *result.Sample) bool { return float64(s.Index) == number(row.Values[1]) })
			assert.InEpsilon(t, figure(of.At(0)), number(row.Values[3]), 1e-12)
		}
	}
}
