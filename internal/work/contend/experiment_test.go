package contend

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
)

// resolve plans a command line on the machine with 2 nodes of 4 CPUs.
func resolve(t *testing.T, args ...string) experiment.Resolution[Cell] {
	t.Helper()
	f := &flags{}
	set := experiment.NewFlagSet("contend")
	set.String("svg", "", "")
	f.Register(set)
	require.NoError(t, set.Parse(args))
	require.NoError(t, f.Validate())
	m := hosts.Machine(t, "qemu-numa2")
	r, err := f.Resolve(experiment.Machine{Machine: m, CPUs: m.Allowed(), Given: set.Changed})
	require.NoError(t, err)
	return r
}

// A row is a cell, which a child process gets as JSON.
func TestResolve(t *testing.T) {
	resolve(t, "--svg", "x.svg", "--load", "cpu-increase") // whose rows have different numbers of CPUs
	r := resolve(t, "--op", "faa-go", "--load", "cpu-increase", "--rows", "1,4", "--count", "10", "--mem-node", "1")
	require.Len(t, r.Cells, 2)
	assert.Equal(t, 5, r.Resources.Threads)
	assert.Equal(t, "faa-go on CPUs 0-4", r.Cells[1].Running)
	do := r.Cells[1].Do
	assert.Equal(t, 4, do.Row.Row)
	assert.Equal(t, 1, do.Row.MemNode)
	assert.Equal(t, map[int]int{0: 0, 1: 0, 2: 0, 3: 0, 4: 1}, do.Nodes)
	assert.Equal(t, uint64(10), do.Timing.Count)
	text, err := json.Marshal(do)
	require.NoError(t, err)
	back, err := Experiment.Decode(text)
	require.NoError(t, err)
	assert.Equal(t, do, back)
}
