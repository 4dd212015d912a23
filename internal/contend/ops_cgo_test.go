//go:build cgo

package contend

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"

	"gorun/internal/catalog"
)

// The C loops and the table tell the same on the architecture that runs this: no loop lacks a row, no row a loop, and
// the instruction that is shown is the one that csrc's disassembly test finds.
func TestOpsAreThoseOfC(t *testing.T) {
	type key struct{ name, variant string }
	compiled := map[key]string{}
	for _, loop := range csrc.Ops() {
		compiled[key{loop.Name, loop.Variant}] = loop.Instruction
		op, err := catalog.Find(Ops[:], "operation", loop.Name)
		require.NoError(t, err, "csrc has it, the table has not")
		assert.False(t, op.Go, loop.Name)
		shown := op.Instruction(runtime.GOARCH, loop.Variant)
		assert.Equal(t, loop.Instruction, shown, "%s %s", loop.Name, loop.Variant)
	}
	variants := Variants(runtime.GOARCH)
	if variants == nil {
		variants = []string{""}
	}
	for _, op := range Ops {
		for _, variant := range variants {
			if op.Go || op.Instruction(runtime.GOARCH, variant) == "" {
				continue
			}
			_, specific := compiled[key{op.Name, variant}]
			_, plain := compiled[key{op.Name, ""}]
			assert.True(t, specific || plain, "csrc has no %s %s", op.Name, variant)
		}
	}
}
