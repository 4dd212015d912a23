package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// A candidate changes one flag, and only one that the cell has not got already.
func TestCandidates(t *testing.T) {
	nice, err := linux.GetNice(0)
	require.NoError(t, err)
	if nice == linux.MinNice {
		t.Skip("the test has the lowest nice value")
	}
	m := recorded(t, "qemu-numa2")
	for args, want := range map[string][]string{
		"x":                                 {"--nice -20", "--cpus 1 CPU"},
		"--nice 5 x":                        {"--nice -20", "--cpus 1 CPU"},
		"--nice -20 x":                      {"--cpus 1 CPU"},
		"--sched idle x":                    {"--sched other", "--cpus 1 CPU"},
		"--sched batch x":                   {"--nice -20", "--cpus 1 CPU"},
		"--sched fifo:1 x":                  {"--cpus 1 CPU"},
		"--placement one-cpu x":             {"--nice -20"},
		"--mempolicy bind:1 x":              {"--nice -20", "--cpus 1 CPU", "--mempolicy local"},
		"--mempolicy local x":               {"--nice -20", "--cpus 1 CPU"},
		"--placement node-remote x":         {"--nice -20", "--cpus 1 CPU", "--mempolicy local"},
		"--copies 2 x":                      nil,
		"--placement smt-siblings x":        {"--nice -20", "--cpus 1 CPU"},
		"--placement one-node --nice -20 x": {"--cpus 1 CPU"},
	} {
		r, err := resolve(t, m, strings.Fields(args)...)
		require.NoError(t, err, args)
		cell := r.Cells[0].Do
		var got []string
		for _, c := range candidates(m, cell, "") {
			words := c.String()
			if c.Axis == "cpus" {
				words = fmt.Sprintf("--cpus %d CPU", c.Do.Settings[0].CPUs.Len())
				within := cell.Settings[0].CPUs
				assert.True(t, within.Empty() || c.Do.Settings[0].CPUs.Minus(within).Empty(), args)
				assert.Equal(t, c.Value, c.Do.Settings[0].CPUs.String())
			}
			got = append(got, words)
			assert.Empty(t, c.Lacking, "a captured machine is not tried")
			before, after := cell.Settings[0].Flags(), c.Do.Settings[0].Flags()
			changed := 0
			for _, flag := range after {
				if !slices.Contains(before, flag) {
					changed++
				}
			}
			assert.Equal(t, 1, changed, "%s: %v → %v", args, before, after)
			c.Do.Settings = cell.Settings
			assert.Equal(t, cell, c.Do, args)
		}
		assert.Equal(t, want, got, args)
	}
}

// The CPU is that of the run that is continued, if the cell may use it.
func TestCandidatesOfAResumedRun(t *testing.T) {
	m := recorded(t, "qemu-numa2")
	r, err := resolve(t, m, "x")
	require.NoError(t, err)
	pin := func(m experiment.Machine, pinned string) string {
		of := candidates(m, r.Cells[0].Do, pinned)
		return of[len(of)-1].Value
	}
	for cpu := range m.CPUs.All() {
		assert.Equal(t, fmt.Sprint(cpu), pin(m, fmt.Sprint(cpu)))
	}
	m.CPUs = m.CPUs.Minus(cpuset.Of(0))
	assert.NotEqual(t, "0", pin(m, "0"))
}

// What may not be set is there with what it needs.
func TestCandidatesLacking(t *testing.T) {
	m := recorded(t, "qemu-numa2")
	m.Live, m.CPUs = true, cpuset.Of(1000) // which this machine has not
	r, err := resolve(t, recorded(t, "qemu-numa2"), "x")
	require.NoError(t, err)
	cell := r.Cells[0].Do
	cell.Settings[0].CPUs = cpuset.Of(1000)
	of := candidates(m, cell, "")
	require.NotEmpty(t, of)
	assert.NotEmpty(t, of[0].Lacking)
}
