package contend

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
)

// A thread whose CPU was offline is pinned to it again in the next row.
func TestCrewPinsAgain(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	if allowed.Len() < 2 {
		t.Skip("with one CPU there is no other mask")
	}
	cpu := allowed.First()
	c, err := newCrew([]int{cpu})
	require.NoError(t, err)
	t.Cleanup(c.close)
	require.NoError(t, linux.SetAffinity(c.members[cpu].tid, cpuset.Of(allowed.Last())))
	c.run([]int{cpu}, func(_ int, err error) { assert.NoError(t, err) })
}
