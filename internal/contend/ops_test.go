package contend

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/catalog"
)

func opsNamed(ops []Op) string { return catalog.List(ops) }

func TestParseOps(t *testing.T) {
	all := func(arch string) string {
		return opsNamed(slices.DeleteFunc(slices.Clone(Ops[:]), func(o Op) bool { return o.Instruction(arch, "") == "" }))
	}
	for _, c := range []struct{ list, arch, want string }{
		{"xadd", "amd64", "xadd"},
		{" xadd , idle,xadd", "arm64", "xadd, idle"},
		{"all", "amd64", all("amd64")},
		{"all", "arm64", all("arm64")},
		{"all", "riscv64", "faa-go"},
		{"isb,all", "arm64", "isb, " + all("amd64")},
		{"faa-go", "s390x", "faa-go"},
	} {
		ops, err := ParseOps(c.list, c.arch)
		require.NoError(t, err, c.list)
		assert.Equal(t, c.want, opsNamed(ops), "%s on %s", c.list, c.arch)
	}
}

func TestParseOpsErrors(t *testing.T) {
	for _, c := range []struct{ list, arch, want string }{
		{"isb", "amd64", "isb: not on this architecture (amd64)"},
		{"faa-go,xadd", "riscv64", "xadd: not on this architecture (riscv64)"},
	} {
		_, err := ParseOps(c.list, c.arch)
		require.ErrorIs(t, err, errors.ErrUnsupported, c.list)
		assert.ErrorContains(t, err, c.want)
	}
	for _, list := range []string{"cmpxcgh", "xadd,cmpxcgh", "xadd,", "", "XADD", "xadd idle"} {
		_, err := ParseOps(list, "amd64")
		require.Error(t, err, list)
		assert.NotErrorIs(t, err, errors.ErrUnsupported)
		assert.Contains(t, err.Error(), "unknown operation")
		for _, op := range Ops {
			assert.Contains(t, err.Error(), op.Name)
		}
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
