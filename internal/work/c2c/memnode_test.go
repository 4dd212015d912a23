package c2c

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
)

func TestMemNode(t *testing.T) {
	for _, c := range []struct {
		host, text string
		from, want int
	}{
		{"qemu-numa2", "", 0, firstTouch},
		{"qemu-numa2", "near", 0, 0},
		{"qemu-numa2", "far", 0, 1},
		{"qemu-numa2", "near", 1, 1},
		{"qemu-numa2", "far", 1, 0},
		{"qemu-numa2", "1", 0, 1},
		{"qemu-epyc8", "far", 0, 4}, // the first of the other package
		{"qemu-epyc8", "far", 5, 0},
		{"qemu-epyc8", "near", 5, 5},
		{"qemu-memoryless", "near", 1, 0}, // node 1 has no memory
		{"qemu-cpuless", "far", 0, 1},
		{"qemu-cpu2", "near", 0, 0},
	} {
		node, err := memNode(c.text, experiment.Machine{Machine: hosts.Machine(t, c.host)}, c.from)
		require.NoError(t, err, "%s: %s", c.host, c.text)
		assert.Equal(t, c.want, node, "%s: %s from node %d", c.host, c.text, c.from)
	}
}
