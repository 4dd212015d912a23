package contend

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/tests"
)

// A thread whose CPU was offline is pinned to it again in the next row.
func TestCrewPinsAgain(t *testing.T) {
	cpus := tests.CPUs(t, 2)
	cpu := cpus[0]
	c, err := newCrew([]int{cpu})
	require.NoError(t, err)
	t.Cleanup(c.close)
	require.NoError(t, linux.SetAffinity(c.members[cpu].tid, cpuset.Of(cpus[1])))
	c.run([]int{cpu}, func(_ int, err error) { assert.NoError(t, err) })
}
