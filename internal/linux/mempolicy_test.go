package linux

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
)

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

func TestParseMempolicy(t *testing.T) {
	for text, want := range map[string]Mempolicy{
		"default": MempolicyDefault, "local": MempolicyLocal, "preferred:3": MempolicyPreferred, "bind:0-1,3": MempolicyBind,
		"interleave:0": MempolicyInterleave, "preferred-many:0,2": MempolicyPreferredMany,
	} {
		mode, nodes, err := ParseMempolicy(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, mode, text)
		assert.Equal(t, text, FormatMempolicy(mode, nodes))
	}
	for text, want := range map[string]string{
		"":               `"" is not a memory policy (one of default, preferred:NODE, bind:NODES,`,
		"nearest:0":      `"nearest" is not a memory policy`,
		"bind":           "the memory policy bind takes 1 to 65536 nodes, not 0",
		"local:0":        "the memory policy local takes 0 to 0 nodes, not 1",
		"preferred:0-1":  "the memory policy preferred takes 1 to 1 nodes, not 2",
		"interleave:0;1": "not a CPU list",
	} {
		_, _, err := ParseMempolicy(text)
		assert.ErrorContains(t, err, want)
	}
}
