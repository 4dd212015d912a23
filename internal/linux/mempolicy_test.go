package linux

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/cpuset"
)

func TestMempolicyString(t *testing.T) {
	assert.Equal(t, "preferred-many", MempolicyPreferredMany.String())
	assert.Equal(t, "bind, flags 0x8000", (MempolicyBind | 0x8000).String())
	assert.Equal(t, "mempolicy 6", Mempolicy(6).String())
}

func TestMempolicyTakesItsNodes(t *testing.T) {
	none, one, two := cpuset.Of(), cpuset.Of(3), cpuset.Of(0, 700)
	for mode, takes := range map[Mempolicy][3]bool{
		MempolicyDefault:       {true, false, false},
		MempolicyLocal:         {true, false, false},
		MempolicyPreferred:     {false, true, false},
		MempolicyBind:          {false, true, true},
		MempolicyInterleave:    {false, true, true},
		MempolicyPreferredMany: {false, true, true},
		MempolicyBind | 0x4000: {false, true, true},
		6:                      {false, false, false},
		-1:                     {false, false, false},
	} {
		for i, nodes := range []cpuset.Set{none, one, two} {
			assert.Equal(t, takes[i], mode.check(nodes) == nil, "%v of %v", mode, nodes)
		}
	}
	assert.EqualError(t, MempolicyPreferred.check(two), "the memory policy preferred takes 1 to 1 nodes, not 2")
}
