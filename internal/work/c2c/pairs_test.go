package c2c

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
)

// large returns a machine with this number of cores of two threads, 16 cores per LLC and 4 LLCs per node. CPUs c and
// c+cores share a core.
func large(cores int) *topology.Machine {
	m := &topology.Machine{}
	for cpu := range 2 * cores {
		core := cpu % cores
		m.CPUs = append(m.CPUs, topology.CPU{CPU: cpu, Core: core, LLC: core / 16, Node: core / 64, Online: true})
	}
	return m
}

func pairsOf(t require.TestingT, m *topology.Machine, cpus cpuset.Set, which string) []topology.CPUPair {
	plan, err := planPairs(m, cpus, which, 0, 1)
	require.NoError(t, err)
	return plan.Pairs
}

func shownPairs(pairs []topology.CPUPair) string {
	text := ""
	for _, p := range pairs {
		text += fmt.Sprintf("%d-%d %v\n", p.A, p.B, p.Relation)
	}
	return text
}

func TestPairs(t *testing.T) {
	numa := hosts.Machine(t, "qemu-numa2") // threads 2c and 2c+1, one LLC per node
	assert.Equal(t, "0-4 cross-node\n0-2 same-llc\n4-6 same-llc\n0-1 same-core\n",
		shownPairs(pairsOf(t, numa, numa.Allowed(), "per-llc")))
	assert.Equal(t, "0-2 same-llc\n0-4 cross-node\n0-6 cross-node\n2-4 cross-node\n2-6 cross-node\n4-6 same-llc\n"+
		"0-1 same-core\n2-3 same-core\n4-5 same-core\n6-7 same-core\n",
		shownPairs(pairsOf(t, numa, numa.Allowed(), "per-core")))
	assert.Len(t, pairsOf(t, numa, numa.Allowed(), "all"), 28)
	assert.Equal(t, "1-4 cross-node\n1-5 cross-node\n4-5 same-core\n",
		shownPairs(pairsOf(t, numa, cpuset.Of(1, 4, 5), "all")))

	snc := hosts.Machine(t, "snc") // one LLC spans two nodes
	assert.Equal(t, "0-2 cross-node\n0-1 same-llc\n2-3 same-llc\n",
		shownPairs(pairsOf(t, snc, snc.Allowed(), "per-llc")))

	offline := hosts.Machine(t, "offline-middle") // CPUs 2 and 5
	assert.Equal(t, "0-1 same-core\n", shownPairs(pairsOf(t, offline, cpuset.Of(0, 1, 2, 5), "all")))
}

// Any way to choose pairs, on every recorded machine and for any of its CPUs, gives distinct pairs of these CPUs,
// with every relation that two of them have.
func TestPairsProperty(t *testing.T) {
	for name, m := range hosts.All(t) {
		online := m.Online().List()
		if len(online) < 2 {
			continue
		}
		check := func(t require.TestingT, cpus cpuset.Set) {
			there := map[topology.Relation]bool{}
			all := pairsOf(t, m, cpus, "all")
			require.Len(t, all, cpus.Len()*(cpus.Len()-1)/2)
			for _, p := range all {
				there[p.Relation] = true
			}
			before := len(all)
			for _, w := range topology.Pairings {
				pairs := pairsOf(t, m, cpus, w.Name)
				require.Equal(t, len(pairs), w.Count(m, cpus))
				require.LessOrEqual(t, len(pairs), before, "%s: the most pairs first", name)
				before = len(pairs)
				seen, relations := map[topology.CPUPair]bool{}, map[topology.Relation]bool{}
				for _, p := range pairs {
					require.Less(t, p.A, p.B)
					require.True(t, cpus.Contains(p.A) && cpus.Contains(p.B))
					require.Equal(t, m.Relation(p.A, p.B), p.Relation)
					require.False(t, seen[p], "%s: %v twice", name, p)
					seen[p], relations[p.Relation] = true, true
				}
				require.Equal(t, there, relations, "%s: %s of %s", name, w.Name, cpus)
			}
		}
		check(t, m.Online())
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				check(t, cpuset.Of(rapid.SliceOfNDistinct(rapid.SampledFrom(online), 2, -1, rapid.ID).Draw(t, "cpus")...))
			})
		})
	}
}

func TestFitErrors(t *testing.T) {
	m := large(512)
	for _, c := range []struct {
		which, want, hint string
		budget            time.Duration
	}{
		{
			"all", "523776 pairs need at least 21m50s, and the budget is 10m0s",
			"--budget 21m50s, or --pairs per-core (131328 pairs, at least 5m29s)", 10 * time.Minute,
		},
		{
			"all", "523776 pairs need at least 21m50s, and the budget is 1m0s",
			"--budget 21m50s, or --pairs per-llc (529 pairs, at least 2s)", time.Minute,
		},
		{"per-core", "131328 pairs need at least 5m29s, and the budget is 1s", "--budget 5m29s", time.Second},
		{"", "529 pairs need at least 2s, and the budget is 1s", "--budget 2s", time.Second},
		{"", "529 pairs need at least 2s, and the budget is -1s", "--budget 2s", -time.Second},
	} {
		_, err := planPairs(m, m.Online(), c.which, c.budget, 1)
		require.EqualError(t, err, c.want)
		assert.Equal(t, c.hint, hint.Of(err))
	}
	numa := hosts.Machine(t, "qemu-numa2")
	_, err := planPairs(numa, numa.Allowed(), "", time.Nanosecond, 1)
	require.EqualError(t, err, "4 pairs need at least 10ms, and the budget is 1ns")
}

// A plan keeps its budget and gives each pair as much time as possible, and the budget suggested by an error is
// enough.
func TestFitProperty(t *testing.T) {
	m := large(64)
	rapid.Check(t, func(t *rapid.T) {
		cpus := cpuset.Of(rapid.SliceOfNDistinct(rapid.IntRange(0, 127), 2, -1, rapid.ID).Draw(t, "cpus")...)
		which := rapid.SampledFrom([]string{"", "all", "per-core", "per-llc"}).Draw(t, "which")
		choice := rapid.SampledFrom(topology.Pairings[:]).Draw(t, "budget of")
		percent := rapid.SampledFrom([]int{1, 99, 100, 101, 150, 799, 2000}).Draw(t, "percent")
		budget := shortestBudget(choice.Count(m, cpus), 1) * time.Duration(percent) / 100
		plan, err := planPairs(m, cpus, which, budget, 1)
		if err != nil {
			named, _, _ := strings.Cut(strings.TrimPrefix(hint.Of(err), "--budget "), ",")
			enough, notNamed := time.ParseDuration(named)
			require.NoError(t, notNamed)
			require.Greater(t, enough, budget)
			_, err = planPairs(m, cpus, which, enough, 1)
			require.NoError(t, err)
			return
		}
		require.GreaterOrEqual(t, plan.Each, leastPair)
		require.LessOrEqual(t, plan.Each, mostPair)
		took := time.Duration(len(plan.Pairs)) * (plan.Each + fixedPair)
		require.LessOrEqual(t, took, budget)
		if plan.Each < mostPair {
			require.Less(t, budget-took, time.Duration(len(plan.Pairs)), "it is used up, to a nanosecond a pair")
		}
		require.InDelta(t, took.Seconds(), plan.Document().Estimate, 1e-9)
		if which == "" {
			taken := slices.IndexFunc(topology.Pairings[:], func(w topology.Pairing) bool { return w.Name == plan.Which })
			for _, finer := range topology.Pairings[:taken] {
				_, err := planPairs(m, cpus, finer.Name, budget, 1)
				require.Error(t, err, "a finer choice would fit")
			}
		}
	})
}

// The order depends only on the seed and keeps every pair.
func TestShuffle(t *testing.T) {
	m := large(16)
	order := func(seed uint64) []topology.CPUPair {
		pairs := pairsOf(t, m, m.Online(), "all")
		shuffle(pairs, seed)
		return pairs
	}
	assert.Equal(t, order(7), order(7))
	assert.NotEqual(t, order(7), order(8))
	assert.NotEqual(t, pairsOf(t, m, m.Online(), "all"), order(7))
	assert.ElementsMatch(t, pairsOf(t, m, m.Online(), "all"), order(7))
}

// If there are more pairs than a run can hold, a way with fewer pairs is chosen, or the error suggests one.
func TestFitTooManyPairs(t *testing.T) {
	m := &topology.Machine{}
	for cpu := range 1600 {
		m.CPUs = append(m.CPUs, topology.CPU{CPU: cpu, Core: cpu, LLC: cpu / 8, Online: true})
	}
	cpus := m.Online()
	plan, err := planPairs(m, cpus, "", 0, 1)
	require.NoError(t, err)
	assert.Equal(t, "per-llc", plan.Which)
	_, err = planPairs(m, cpus, "all", 0, 1)
	require.EqualError(t, err, "1279200 pairs are more than the 1048576 that one run can measure")
	assert.Equal(t, "give fewer --cpus, or --pairs per-llc (20100 pairs)", hint.Of(err))
	for i := range m.CPUs {
		m.CPUs[i].LLC = i
	}
	_, err = planPairs(m, cpus, "", time.Hour, 1)
	require.ErrorContains(t, err, "1279200 pairs are more than")
	assert.Equal(t, "give fewer --cpus", hint.Of(err))
}
