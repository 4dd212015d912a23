package contend

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/base/catalog"
)

func TestParseOps(t *testing.T) {
	for list, want := range map[string]string{"xadd": "xadd", " xadd , idle,xadd": "xadd, idle", "faa-go": "faa-go"} {
		ops, err := parseOps(list)
		require.NoError(t, err, list)
		assert.Equal(t, want, catalog.List(ops))
	}
	all, err := parseOps(All)
	require.NoError(t, err)
	for _, op := range Ops {
		assert.Equal(t, op.Instruction(runtime.GOARCH, "") != "", slices.Contains(all, op), op.Name)
		if !slices.Contains(all, op) {
			_, err := parseOps("faa-go," + op.Name)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			assert.ErrorContains(t, err, op.Name+": not on this architecture")
		}
	}
	for _, list := range []string{"cmpxcgh", "xadd,", "", "XADD", "xadd idle"} {
		_, err := parseOps(list)
		require.ErrorContains(t, err, "unknown operation", list)
		assert.ErrorContains(t, err, ": there are all, "+catalog.List(Ops[:]))
	}
}

// A variant selects one of two instructions, and never removes an operation.
func TestInstructionOfEachVariant(t *testing.T) {
	assert.Equal(t, []string{LSE, LLSC}, Variants("arm64"))
	assert.Empty(t, Variants("amd64"))
	for _, op := range Ops {
		assert.Equal(t, op.AMD64, op.Instruction("amd64", ""))
		assert.Equal(t, op.ARM64, op.Instruction("arm64", LSE))
		assert.Equal(t, op.ARM64 != "", op.Instruction("arm64", LLSC) != "", op.Name)
		if op.ARM64LLSC != "" {
			assert.Equal(t, op.ARM64LLSC, op.Instruction("arm64", LLSC))
			assert.NotEqual(t, op.ARM64, op.ARM64LLSC, op.Name)
		}
		assert.Equal(t, op.Go, op.Instruction("riscv64", "") != "", op.Name)
	}
	op, err := catalog.Find(Ops[:], "operation", goOp)
	require.NoError(t, err)
	assert.True(t, op.Go)
}

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
