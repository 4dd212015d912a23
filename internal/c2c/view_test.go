package c2c

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render"
	"gorun/internal/render/chart"
	"gorun/internal/render/rendertest"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// views show runs of c2c.
var views = render.Views{Experiment}

// shownSpec mirrors the experiment's spec.
type shownSpec struct {
	Method string  `json:"method"`
	Pairs  string  `json:"pairs"`
	CPUs   string  `json:"cpus"`
	Budget float64 `json:"budget_seconds"`
	Pair   float64 `json:"pair_seconds"`
}

// place returns the position of a CPU of the fixtures: the second half of the CPUs are the SMT siblings of the first,
// as x86 numbers them; from four CPUs on there are two nodes, and caches of up to four cores.
func place(cpu, cpus int) chart.Seat {
	cores := max(1, cpus/2)
	core := cpu % cores
	return chart.Seat{CPU: cpu, Core: core, LLC: core / min(4, max(1, cores/2)), Node: core * min(2, cores) / cores}
}

func relationOf(a, b chart.Seat) topology.Relation {
	switch {
	case a.Core == b.Core:
		return topology.SameCore
	case a.Node != b.Node:
		return topology.CrossNode
	case a.LLC == b.LLC:
		return topology.SameLLC
	}
	return topology.SameNode
}

// sampleOf returns a sample with a time that depends on the relation, and reproducible noise.
func sampleOf(index int, a, b chart.Seat) result.Sample {
	relation := relationOf(a, b)
	noise := float64((a.CPU*31 + b.CPU*17) % 13)
	ns := map[topology.Relation]float64{
		topology.SameCore: 8.4, topology.SameLLC: 41, topology.SameNode: 78, topology.CrossNode: 163,
	}[relation] * (1 + noise/100)
	s := rendertest.Sample(index, 0.1)
	s.Values = result.FiguresOf(&Figures{
		CPUA: a.CPU, CPUB: b.CPU, NodeA: a.Node, NodeB: b.Node, Relation: relation.String(), Method: "cas", NS: ns,
		RoundTripNS: 2 * ns, OneWay: result.Distribution{Min: 0.9 * ns, Median: ns, Mean: ns, P99: 1.5 * ns, Max: 3 * ns},
		Batches: 512, RoundTrips: 400000, HomeNode: &a.Node,
	})
	s.Placement = result.Placement{
		Requested: fmt.Sprintf("threads pinned to CPUs %d and %d", a.CPU, b.CPU), Verified: true, Checked: 4,
	}
	return s
}

// runOf returns a run with every pair of the first CPUs.
func runOf(cpus int) *result.Run {
	run := rendertest.Run("c2c", cpus, min(2, max(1, cpus/2)))
	run.Spec = shownSpec{Method: "cas", Pairs: "all", CPUs: run.Host.Allowed, Pair: 0.1}
	for a := range cpus {
		for b := a + 1; b < cpus; b++ {
			run.Samples = append(run.Samples, sampleOf(len(run.Samples), place(a, cpus), place(b, cpus)))
		}
	}
	return run
}

// partialRun returns an interrupted run, with an invalid pair.
func partialRun() *result.Run {
	run := runOf(8)
	run.Partial = true
	run.Samples = run.Samples[:20]
	run.Samples[3].Quality = result.Quality{Verdict: result.Invalid, Reasons: []string{"the placement is another"}}
	run.Samples[19].Partial, run.Samples[19].Values = true, result.Figures{}
	run.Samples[19].Quality = result.Quality{Verdict: result.Suspect, Reasons: []string{"cut short"}}
	return run
}

// allPairs returns measuredPairs for runOf(cpus).
func allPairs(cpus int) []measuredPair {
	var pairs []measuredPair
	for a := range cpus {
		for b := a + 1; b < cpus; b++ {
			x, y := place(a, cpus), place(b, cpus)
			relation := relationOf(x, y)
			ns := 10 * float64(relation*relation) * (1 + float64((a*31+b*17)%13)/100)
			pairs = append(pairs, measuredPair{Figures: Figures{
				CPUA: a, CPUB: b, NodeA: x.Node, NodeB: y.Node, Relation: relation.String(), NS: ns, RoundTripNS: 2 * ns,
			}})
		}
	}
	return pairs
}

func svgOf(t *testing.T, run *result.Run) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, writeSVG(&out, run))
	rendertest.XML(t, out.String())
	return out.String()
}

// The map of a large machine is drawn like that of a small one.
func TestLargeMap(t *testing.T) {
	large := allPairs(256) // a journal of these takes seconds to make
	coloured := term.Options{Terminal: true, Colour: true}
	plain := chart.HeatText(heatOf(large), term.Options{}) + relationsBlock(large, term.Options{})
	assert.Equal(t, plain, text.StripEscape(chart.HeatText(heatOf(large), coloured)+relationsBlock(large, coloured)))
	f, ok := figureOf(large, "256 CPUs")
	require.True(t, ok)
	rendertest.Figure(t, f)
}

// From two CPUs to more than any machine has, the map fits and its caption explains a cell.
func TestHeatFitsAnyWidth(t *testing.T) {
	for _, cpus := range []int{2, 3, 5, 16, 17, 36, 38, 71, 96, 200} {
		h := heatOf(allPairs(cpus))
		for _, width := range []int{20, 40, 80, 132, 300} {
			page := chart.HeatText(h, term.Options{Width: width})
			require.NotEmpty(t, page)
			for line := range strings.Lines(page) {
				require.LessOrEqual(t, text.StringWidth(strings.TrimSuffix(line, "\n")), width, "%d CPUs: %q", cpus, line)
			}
			digit := strings.Contains(page, "ns, from:")
			require.Equal(t, strings.Contains(page, "neighbouring CPUs") || digit, digit, "digits have a legend")
		}
	}
	page := chart.HeatText(heatOf(allPairs(1024)), term.Options{})
	for line := range strings.Lines(page) {
		require.LessOrEqual(t, text.StringWidth(strings.TrimSuffix(line, "\n")), term.DefaultWidth)
	}
	assert.LessOrEqual(t, strings.Count(page, "\n"), 80)
	assert.Contains(t, page, "up to 16 neighbouring CPUs")
	assert.Empty(t, chart.HeatText(heatOf(nil), term.Options{}))
	assert.Equal(t, "       0   1\n  0      1.0\n  1  1.0\n", chart.HeatText(&chart.Heat{
		Seats: []chart.Seat{{CPU: 0}, {CPU: 1}}, At: [][]float64{{math.NaN(), 1}, {1, math.NaN()}},
	}, term.Options{}), "all figures are the same")
}

// CPUs that share a core or a cache are adjacent, for any order of the pairs and any missing pairs.
func TestSeatsAreByLocality(t *testing.T) {
	for _, cpus := range []int{2, 8, 32, 64} {
		pairs := allPairs(cpus)
		for round := range uint64(4) {
			random := rand.New(rand.NewPCG(round, 0))
			random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
			order := seats(pairs)
			require.Len(t, order, cpus)
			for _, of := range []func(chart.Seat) int{
				func(s chart.Seat) int { return s.Node },
				func(s chart.Seat) int { return 1000*s.Node + s.LLC },
				func(s chart.Seat) int { return 1000*s.Node + s.Core },
			} {
				seen := map[int]bool{}
				for i, s := range order {
					key := of(place(s.CPU, cpus))
					if i > 0 && key == of(place(order[i-1].CPU, cpus)) {
						continue
					}
					require.False(t, seen[key], "%d CPUs: %v", cpus, order)
					seen[key] = true
				}
			}
		}
	}
	partial := seats([]measuredPair{
		{Figures: Figures{CPUA: 3, CPUB: 0, Relation: "same-llc"}},
		{Figures: Figures{CPUA: 1, CPUB: 2}},
	})
	assert.Equal(t,
		[]chart.Seat{
			{CPU: 0, Node: 0, LLC: 0, Core: 0},
			{CPU: 3, Node: 0, LLC: 0, Core: 3},
			{CPU: 1, Node: 0, LLC: 1, Core: 1},
			{CPU: 2, Node: 0, LLC: 2, Core: 2},
		}, partial)
}

func TestPairings(t *testing.T) {
	run := runOf(4)
	double := sampleOf(6, place(1, 4), place(0, 4))
	ns, _ := oneWay.Number(&double)
	rendertest.Change(&double, map[string]any{"ns": 3 * ns})
	run.Samples = append(run.Samples, double, result.Sample{}, result.Sample{Values: rendertest.Figures(map[string]any{"cpu_a": "x"})})
	run.Samples[5].Quality.Verdict = result.Invalid
	pairs := measuredPairs(run.Samples)
	require.Len(t, pairs, 5, "an invalid sample says nothing of its pair")
	first, _ := oneWay.Number(&run.Samples[0])
	assert.Equal(t, []int{0, 1}, []int{pairs[0].CPUA, pairs[0].CPUB})
	assert.InDelta(t, (first+3*ns)/2, pairs[0].NS, 1e-9, "both ways round it is one pair")
	assert.Contains(t, rendertest.Show(t, views.Table, run, term.Options{}),
		"\ngorun c2c: a cache line handed back and forth between 5 pairs of 4 CPUs\n")
	rendertest.Change(&run.Samples[0], map[string]any{"cpu_b": 0})
	assert.Len(t, measuredPairs(run.Samples[:1]), 0, "a CPU is no pair")
}

func TestRelations(t *testing.T) {
	page := rendertest.Show(t, views.Table, runOf(16), term.Options{})
	assert.Contains(t, page, "\n  cross-node     64   172.8  172.4  163.0  182.6       345.6\n")
	assert.Contains(t, strings.Join(strings.Fields(page), " "),
		"fastest: CPUs 1 and 9 (same-core) 8.6 ns; slowest: CPUs 1 and 5 (cross-node) 182.6 ns")
	names, of := byRelation([]measuredPair{{Figures: Figures{Relation: "odd"}}, {Figures: Figures{Relation: "same-node"}}})
	assert.Equal(t, []string{"same-node", "odd"}, names)
	assert.Len(t, of["odd"], 1)
}

func TestPlanBlock(t *testing.T) {
	plan := &result.Plan{
		Experiment: "c2c", CPUs: "0-15", Placement: "two pinned threads", Threads: 2,
		Spec: shownSpec{Method: "cas", Pairs: "all"},
		Pairs: &result.PlanPairs{
			Which: "all", Pairs: 120, Relations: map[string]int{"cross-node": 64, "same-core": 8, "same-llc": 48},
			Seconds: 0.1, Estimate: 12.6,
		},
	}
	var out strings.Builder
	require.NoError(t, views.Plan(&out, plan, "table"))
	assert.Equal(t, `Plan of gorun c2c (nothing was run)
  method             cas
  pairs              all
  CPUs of the run    0-15
  placement          two pinned threads
  threads at once    2

  relation    pairs
  same-core       8
  same-llc       48
  cross-node     64
  in all        120

time  120 pairs of 100 ms each: about 13 s.
`, out.String())
	plan.Pairs.Estimate = 0.04
	out.Reset()
	require.NoError(t, views.Plan(&out, plan, "table"))
	assert.Contains(t, out.String(), "about 40.0 ms.")
	plan.Pairs = nil
	require.NoError(t, views.Plan(&out, plan, "table"))
}

func TestCSV(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(rendertest.Show(t, views.CSV, runOf(4), term.Options{}))).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, "cpu_a,cpu_b,relation,ns,round_trip_ns", strings.Join(rows[0][:5], ","))
	assert.Equal(t, "0,2,same-core,9.072000000000001,18.144000000000002", strings.Join(rows[2][:5], ","))
	assert.Contains(t, rows[0], "one_way_ns_median")
	empty, err := csv.NewReader(strings.NewReader(rendertest.Show(t, views.CSV, &result.Run{Experiment: "c2c"}, term.Options{}))).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, "cpu_a", empty[0][0], "the first columns are always there")
}

func TestBenchfmt(t *testing.T) {
	assert.Contains(t, rendertest.Show(t, views.Benchfmt, runOf(2), term.Options{}),
		"\nBenchmarkC2c/a=0/b=1/relation=same-core/method=cas-2 400000 8.736 ns/op 17.472 round-trip-ns/op\n")
}

// A map of many CPUs is a small file, even if all adjacent cells differ.
func TestHeatSVGIsSmall(t *testing.T) {
	pairs := allPairs(300)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range pairs {
		pairs[i].NS = 10 + 500*random.Float64()
	}
	for _, cpus := range []int{64, 65, 256, 300} {
		var some []measuredPair
		for _, p := range pairs {
			if p.CPUA < cpus && p.CPUB < cpus {
				some = append(some, p)
			}
		}
		f, ok := figureOf(some, "note")
		require.True(t, ok)
		rendertest.XML(t, f.SVG)
		t.Logf("%d CPUs: %d bytes", cpus, len(f.SVG))
		assert.Less(t, len(f.SVG), 1<<20, "%d CPUs", cpus)
		assert.Equal(t, cpus > chart.MapLimit, strings.Contains(f.SVG, "a cell is the mean of their pairs"))
	}
}

func TestSVGTellsAReader(t *testing.T) {
	page := svgOf(t, runOf(16))
	assert.Contains(t, page, "<title>Core-to-core latency, one way, in ns</title>")
	assert.Contains(t, page, ">Example CPU 8581C @ 2.10GHz</text>")
	assert.Contains(t, page, "slowest: CPUs 1 and 5 (cross-node) 182.6 ns.")
	assert.Contains(t, page, "<title>1 – 5: 182.6 ns</title>")
	assert.Contains(t, page, "prefers-color-scheme:dark")
	assert.Contains(t, svgOf(t, partialRun()), "not known")

	foreign := rendertest.Soiled(t, runOf(16))
	foreign.Experiment = "c2c"
	foreign.Host.CPUModel = "<script>alert(1)</script>&"
	page = svgOf(t, foreign)
	assert.Contains(t, page, "&lt;script")
	assert.NotContains(t, page, "\x1b")
}

func TestSVGWithoutPairs(t *testing.T) {
	require.ErrorContains(t, writeSVG(io.Discard, rendertest.Run("primes", 2, 1)), "this run of gorun primes has no good sample of a pair")
	require.ErrorIs(t, writeSVG(rendertest.Broken{}, runOf(2)), rendertest.ErrBroken)
	var many []measuredPair
	for i := range chart.MaxHeatCPUs {
		many = append(many, measuredPair{Figures: Figures{CPUA: 2 * i, CPUB: 2*i + 1, NS: 1}})
	}
	assert.Empty(t, heatOf(many).Seats, "a journal cannot make it take all memory")
}
