package stats_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/machine/topology/topologytest"
	"gorun/internal/place/named"
	"gorun/internal/stats"
)

// BenchmarkPlacements prints what an answer to "Where should my program run?" costs on machines of 4 to 128 CPUs, where each placement that
// `gorun exec --placements auto` proposes is a cell, judged by wall time and CPU time: the rounds and the seconds of samples until each interval
// is narrow, until each cell is answered, and until --best has the best. Each figure is the median and the share of replays
// that end within 400 rounds. The noise is that of programs that are pinned to a CPU, or not.
//
// make power runs it.
func BenchmarkPlacements(b *testing.B) {
	const replays = 40
	large, err := topologytest.Large{CPUs: 128, Nodes: 8}.FS()
	require.NoError(b, err)
	ofLarge, err := topology.Read(large)
	require.NoError(b, err)
	machines := map[int][]string{} // their CPUs, by the number of placements
	for _, m := range []*topology.Machine{
		hosts.Machine(b, "qemu-nol3"), hosts.Machine(b, "cxl-memory"), hosts.Machine(b, "qemu-numa2"), hosts.Machine(b, "devices"),
		hosts.Machine(b, "qemu-epyc8"), hosts.Machine(b, "epyc-2p-nps4"), ofLarge,
	} {
		placements, err := named.In(m, m.Online(), cpuset.Set{}).All("")
		require.NoError(b, err)
		machines[len(placements)] = append(machines[len(placements)], fmt.Sprint(m.Online().Len()))
	}
	one := func(ratio float64) func(cell, other int) float64 {
		return func(cell, other int) float64 {
			if cell == other {
				return ratio
			}
			return 1
		}
	}
	for b.Loop() {
		fmt.Printf("%-9s %10s  %-10s  %-18s  %22s  %22s  %22s\n", "noise", "placements", "CPUs", "program", "precise: rounds (s) %", "answered", "best")
		for _, kind := range []string{"nat.seqp", "nat.sequ"} {
			traces := slices.DeleteFunc(stats.EqualWork(b, replays), func(t stats.Trace) bool { return !strings.HasPrefix(t.Name, kind) })
			for _, cells := range slices.Sorted(maps.Keys(machines)) {
				for _, program := range []struct {
					name  string
					ratio func(cell, other int) float64
				}{
					{"all equal", one(1)},
					{"one better by 5%", one(0.95)},
					{"one better by 20%", one(0.8)},
					{"half worse by 50%", func(cell, _ int) float64 { return 1 + 0.5*float64(cell%2) }},
				} {
					fmt.Printf("%-9s %10d  %-10s  %-18s", kind, cells, strings.Join(machines[cells], ", "), program.name)
					for _, until := range []stats.Until{{}, {Answers: true}, {Best: true}} {
						var rounds, seconds []float64
						for k := range replays {
							n, other := traces[k%len(traces)].Replay(k, replays, 1), 1+k%(cells-1)
							took := 0.0
							r := placed(b, uint64(k), cells, until, func(cell int) float64 {
								s := n.Of(false) * program.ratio(cell, other)
								took += s
								return s
							})
							if r.Done() {
								rounds, seconds = append(rounds, float64(r.Rounds())), append(seconds, took)
							}
						}
						fmt.Printf("  %22s", stats.Medians(rounds, seconds, replays))
					}
					fmt.Println()
				}
			}
		}
	}
}

// placed compares cells by two figures until the run ends, for 400 rounds at most. times returns the seconds of a sample.
func placed(b *testing.B, seed uint64, cells int, until stats.Until, times func(cell int) float64) *stats.Judge {
	b.Helper()
	d := stats.Design{Seed: seed, Alpha: 0.05, Margin: 0.02, Precision: 0.02, Comparisons: 2 * cells, Until: until}
	for i := range cells {
		d.Cells = append(d.Cells, fmt.Sprint("cell ", i))
	}
	r, err := stats.NewJudge(d)
	require.NoError(b, err)
	for !r.Done() && r.Rounds() < 400 {
		round := r.Next()
		var seconds []float64
		for _, cell := range slices.Concat(round...) {
			seconds = append(seconds, times(cell%r.Control())) // the control has the work of cell 0
		}
		require.NoError(b, r.Add(round, seconds))
	}
	return r
}
