package c2c

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
)

// resolve plans pairs of a machine's CPUs, with these flags given on the command line.
func resolve(
	t *testing.T, f flags, m *topology.Machine, cpus cpuset.Set, s experiment.Sampling, given ...string,
) experiment.Resolution[Cell] {
	t.Helper()
	r, err := f.Resolve(experiment.Machine{
		Machine: m, CPUs: cpus, Seed: 7, Sampling: s, Given: func(flag string) bool { return slices.Contains(given, flag) },
	})
	require.NoError(t, err)
	return r
}

// A plain run has a cell for each pair, in the order given by the seed, and a warning about pairs that the budget
// leaves out.
func TestResolve(t *testing.T) {
	m := large(64)
	r := resolve(t, flags{method: "cas"}, m, m.Online(), experiment.Sampling{Samples: 2, Warmup: 1, Budget: 60})
	require.Len(t, r.Cells, 64*63/2+64)
	assert.Equal(t, 128, r.Resources.Threads)
	require.Len(t, r.Warnings, 1)
	assert.Equal(t, "2080 of 8128 pairs are measured (per-core), so that the map fits in 1m0s", r.Warnings[0].Message)
	assert.Equal(t, "--pairs all --budget 1m1s measures them all", r.Warnings[0].Hint)
	pairs := pairsOf(t, m, m.Online(), "per-core")
	shuffle(pairs, 7)
	for i, c := range r.Cells {
		assert.Equal(t, pairs[i].A, c.Do.A)
		assert.Equal(t, pairs[i].B, c.Do.B)
		assert.Equal(t, 60*time.Second/(3*2080)-fixedPair, c.Do.Each)
	}
	perCore := flags{pairs: "per-core", method: "cas"}
	asked := resolve(t, perCore, m, m.Online(), experiment.Sampling{Samples: 1, Budget: 60})
	assert.Empty(t, asked.Warnings, "fewer were asked for")
}

// A given number of samples is not reduced: the default budget limits the pairs, with one sample of each.
func TestResolveSamples(t *testing.T) {
	m := large(128)
	many := experiment.Sampling{Samples: 3001, Warmup: 1} // the driver has removed the default budget
	r := resolve(t, flags{method: "cas"}, m, m.Online(), many, "samples")
	require.Equal(t, 8256, len(r.Cells), "per-core")
	assert.Equal(t, mapTime/8256-fixedPair, r.Cells[0].Do.Each)
	require.Len(t, r.Warnings, 1)
	assert.Equal(t, "8256 of 32640 pairs are measured (per-core), so that the map fits in 1m0s", r.Warnings[0].Message)
	assert.Equal(t, "--pairs all measures them all", r.Warnings[0].Hint)

	r = resolve(t, flags{method: "cas", pairs: "all"}, m, m.Online(), many, "samples")
	require.Equal(t, 32640, len(r.Cells))
	assert.Equal(t, mostPair, r.Cells[0].Do.Each)
	assert.Empty(t, r.Warnings)
}

// A cell of a matrix has no budget: its pair is measured for the longest useful time. It survives JSON unchanged.
func TestResolveCell(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2")
	r := resolve(t, flags{method: "write"}, m, cpuset.Of(1, 4), experiment.Sampling{})
	require.Len(t, r.Cells, 1)
	want := Cell{A: 1, B: 4, NodeA: 0, NodeB: 1, Relation: "cross-node", Method: "write", Each: mostPair, MemNode: firstTouch}
	assert.Equal(t, want, r.Cells[0].Do)
	text, err := json.Marshal(r.Cells[0].Do)
	require.NoError(t, err)
	back, err := Experiment.Decode(text)
	require.NoError(t, err)
	assert.Equal(t, want, back)
}
