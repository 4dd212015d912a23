package contend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// A thread whose CPU was offline is pinned to it again in the next row.
func TestCrewPinsAgain(t *testing.T) {
	cpus := tests.CPUs(t, 2)
	cpu := cpus[0]
	r, err := Open(map[int]int{cpu: 0}, "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	require.NoError(t, linux.SetAffinity(r.members[cpu].tid, cpuset.Of(cpus[1])))
	require.NoError(t, r.Run([]int{cpu}, func(int) error { return nil }))
}
