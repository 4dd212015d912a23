//go:build cgo

package contend

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
)

// Every row of the table has its loops in C on this architecture, and every loop its row.
func TestOpsAreThoseOfC(t *testing.T) {
	type key struct{ name, variant string }
	loops := map[key]bool{}
	for _, loop := range csrc.Ops() {
		op := rowOf(t, loop)
		assert.False(t, op.Go, loop.Name)
		assert.NotEmpty(t, op.Instruction(runtime.GOARCH, loop.Variant), "%s %s", loop.Name, loop.Variant)
		assert.Equal(t, op.ARM64LLSC != "" && runtime.GOARCH == "arm64", loop.Variant != "", "%s has variants", loop.Name)
		loops[key{op.Name, loop.Variant}] = true
	}
	for _, op := range Ops {
		if op.Go || op.Instruction(runtime.GOARCH, "") == "" {
			continue
		}
		variants := []string{""}
		if runtime.GOARCH == "arm64" && op.ARM64LLSC != "" {
			variants = Variants(runtime.GOARCH)
		}
		for _, variant := range variants {
			assert.True(t, loops[key{op.Name, variant}], "csrc has no %s %s", op.Name, variant)
		}
	}
}

// rowOf returns the row of a loop.
func rowOf(t *testing.T, loop csrc.Op) Op {
	t.Helper()
	row := slices.IndexFunc(Ops[:], func(o Op) bool { return csrc.Identifier(o.Name) == loop.Name })
	require.GreaterOrEqual(t, row, 0, "csrc has %s, the table does not", loop.Name)
	return Ops[row]
}
