package contend

import (
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/dev/tests"
)

// most returns the number of instructions that an operation may have in addition to those named in its row. They use
// only registers.
func (o Op) most(instruction string) int {
	switch {
	case o.Fails:
		return 8 // the next value, the next expected value, the branches, the count of failures
	case strings.HasSuffix(instruction, " memset"):
		return 3 // the call's arguments
	case strings.Contains(instruction, "/"):
		return 2 // the value stored by a loop of LL/SC, and its branch
	}
	return 1 // reloading the operand over the old value; a system call's number; the test of a bit
}

// registers matches an instruction that uses only registers: no memory, call, barrier or system call.
var registers = regexp.MustCompile(`^(mov|lea|add|sub|subs|dec|inc|cmp|tst|test|not|mvn|orr|xor|set\w+|cmov\w+|csel|cinc|nop|` +
	`j[a-z]+|b|b\.\w+|cbz|cbnz)( |$)`)

// Each loop repeats the instruction named in its row sixteen times, and has nothing else that takes time.
func TestDisassembly(t *testing.T) {
	archive := tests.Compiled(t, "gorun/csrc")
	for _, loop := range csrc.Ops() {
		t.Run(loop.Symbol, func(t *testing.T) {
			op := rowOf(t, loop)
			repeated := op.Instruction(runtime.GOARCH, loop.Variant)
			loop := tests.LargestLoop(t, archive, loop.Symbol)
			require.NotEmpty(t, loop, "a loop")
			if op.Name == "idle" {
				require.Len(t, loop, 2)
				assert.True(t, does(loop[0], repeated), "%s", loop[0])
				return
			}
			var done []string
			others := 0
			for _, instruction := range loop {
				if touchesMemory(instruction) || !registers.MatchString(instruction) {
					done = append(done, instruction)
				} else {
					others++
				}
			}
			named := regexp.MustCompile(`; |/`).Split(repeated, -1)
			require.Len(t, done, 16*len(named), "%q", loop)
			for i, instruction := range done {
				assert.True(t, does(instruction, named[i%len(named)]), "%s is not %s", instruction, named[i%len(named)])
			}
			const counter = 2 // the decrement and the jump
			assert.LessOrEqual(t, others, 16*op.most(repeated)+counter, "%q", loop)
		})
	}
}

// does reports whether an instruction is the one named in a row. A call is through a register.
func does(instruction, named string) bool {
	if call, _, found := strings.Cut(named, " memset"); found {
		return regexp.MustCompile(`^` + call + ` (r\w+|x\d+)$`).MatchString(instruction)
	}
	return instruction == named || strings.HasPrefix(instruction, named+" ")
}

// touchesMemory reports whether an instruction accesses memory, which x86-64's lea and nop do not.
func touchesMemory(instruction string) bool {
	return strings.Contains(instruction, "[") && !regexp.MustCompile(`^(lea|(cs |data16 )*nop) `).MatchString(instruction)
}
