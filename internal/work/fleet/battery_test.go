package fleet

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
)

// Every captured machine has each measure, with a cell for each part, or says why it has not.
func TestBatteryOnEveryMachine(t *testing.T) {
	for name, m := range hosts.All(t) {
		seen := map[string]bool{}
		for _, planned := range measuresOf(m, m.Allowed()) {
			assert.False(t, seen[planned.name], "%s: %s twice", name, planned.name)
			seen[planned.name] = true
			assert.NotEqual(t, planned.name, titleOf(planned.name))
			if planned.lack != "" {
				continue
			}
			cells, needs, err := planned.cells(m)
			require.NoError(t, err, "%s: %s", name, planned.name)
			assert.Positive(t, needs.Threads)
			if planned.atOnce() {
				assert.Len(t, cells, 1)
				assert.Equal(t, m.Allowed(), planned.cpus(0))
				continue
			}
			assert.Len(t, cells, len(planned.parts))
			x := planned.experiment
			column, has := x.Columns.Find(planned.column)
			require.True(t, has, planned.column)
			assert.Equal(t, planned.unit, column.Unit, planned.name)
			assert.Equal(t, planned.better(), string(column.Better), planned.name)
			for _, p := range planned.parts {
				assert.False(t, p.cpus.Minus(m.Allowed()).Len() > 0 || p.cpus.Empty(), "%s: %s has CPUs %s", name, planned.name, p.cpus)
			}
		}
	}
}

// namesOf returns the names of the measures that a captured machine has, and of those that it lacks.
func namesOf(t *testing.T, host string) (has, lacks []string) {
	m := hosts.Machine(t, host)
	for _, planned := range measuresOf(m, m.Allowed()) {
		if planned.lack != "" {
			lacks = append(lacks, planned.name)
			continue
		}
		has = append(has, planned.name)
	}
	return has, lacks
}

func TestMeasuresOf(t *testing.T) {
	for host, want := range map[string][2]string{
		"qemu-cpu1": {
			"compute-one compute-all latency bandwidth fetch-and-add",
			"loaded-latency node-to-node c2c-same-core c2c-same-llc c2c-same-node c2c-cross-node",
		},
		"qemu-numa2": {
			"compute-one compute-all latency loaded-latency bandwidth node-to-node-21 c2c-same-core c2c-same-llc c2c-cross-node fetch-and-add",
			"c2c-same-node",
		},
		"epyc-2p-nps4": {
			"compute-one compute-all latency loaded-latency bandwidth node-to-node-12 node-to-node-32 c2c-same-core c2c-same-llc c2c-same-node c2c-cross-node fetch-and-add",
			"",
		},
	} {
		has, lacks := namesOf(t, host)
		assert.Equal(t, want, [2]string{strings.Join(has, " "), strings.Join(lacks, " ")}, host)
	}
	m := hosts.Machine(t, "qemu-numa2")
	all := measuresOf(m, m.Allowed())
	at := slices.IndexFunc(all, func(p planned) bool { return p.name == "node-to-node-21" })
	require.GreaterOrEqual(t, at, 0)
	var words []string
	for _, p := range all[at].parts {
		words = append(words, p.words)
	}
	assert.Equal(t, []string{"node 0 to 1", "node 1 to 0"}, words)
}

// The measures that compute are the first. The seed decides the order of the others, and what another machine has in addition does not change it.
func TestShuffle(t *testing.T) {
	order := func(host string, seed uint64) (names []string) {
		m := hosts.Machine(t, host)
		all := measuresOf(m, m.Allowed())
		shuffle(all, seed)
		for _, planned := range all {
			names = append(names, planned.name)
		}
		return names
	}
	first := order("qemu-numa2", 7)
	assert.Equal(t, []string{"compute-one", "compute-all"}, first[:2])
	assert.Equal(t, first, order("qemu-numa2", 7))
	assert.NotEqual(t, first, order("qemu-numa2", 8))
	more := order("epyc-2p-nps4", 7)
	both := func(names, others []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(others, name) })
	}
	assert.Equal(t, both(first, more), both(more, first))
	assert.Equal(t, "somebody-else", titleOf("somebody-else"))
}
