package contend

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/tests"
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
	if strings.Contains(os.Getenv("CGO_CFLAGS"), "-fsanitize") {
		t.Skip("needs code without a sanitizer")
	}
	objdump := os.Getenv("OBJDUMP")
	if objdump == "" {
		objdump = "objdump"
	}
	tests.Tools(t, objdump, "go")
	archive := filepath.Join(t.TempDir(), "csrc.a")
	out, err := exec.Command("go", "build", "-o", archive, "gorun/csrc").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, loop := range csrc.Ops() {
		t.Run(loop.Symbol, func(t *testing.T) {
			op := rowOf(t, loop)
			repeated := op.Instruction(runtime.GOARCH, loop.Variant)
			loop := largestLoop(disassemble(t, objdump, archive, loop.Symbol))
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

// instruction is an instruction of a function, with its address.
type instruction struct {
	address uint64
	text    string // in Intel's or Arm's syntax, with single spaces and without comments
}

var (
	disassembled = regexp.MustCompile(`(?m)^ *([0-9a-f]+):\s+(\S.*)$`)
	spaces       = regexp.MustCompile(`\s+`)
	comment      = regexp.MustCompile(`\s*(//|#\s).*$`)
	jump         = regexp.MustCompile(`^(?:j\w+|b|b\.\w+|cbn?z \w+,) ([0-9a-f]+) <`)
)

// disassemble returns the instructions of a function in one of the C object files of a package's archive.
func disassemble(t *testing.T, objdump, archive, symbol string) (function []instruction) {
	t.Helper()
	args := []string{"--disassemble=" + symbol, "--no-show-raw-insn", archive}
	if runtime.GOARCH == "amd64" {
		args = append([]string{"-M", "intel"}, args...)
	}
	out, _ := exec.Command(objdump, args...).Output() // it fails because it does not know Go's own files in the archive
	for _, m := range disassembled.FindAllStringSubmatch(string(out), -1) {
		address, err := strconv.ParseUint(m[1], 16, 64)
		require.NoError(t, err)
		function = append(function, instruction{address, spaces.ReplaceAllString(comment.ReplaceAllString(m[2], ""), " ")})
	}
	require.NotEmpty(t, function, "%s in %s", symbol, archive)
	return function
}

// largestLoop returns the instructions between a jump back and its target.
func largestLoop(function []instruction) (largest []string) {
	for end, i := range function {
		m := jump.FindStringSubmatch(i.text)
		if m == nil {
			continue
		}
		target, err := strconv.ParseUint(m[1], 16, 64)
		begin := slices.IndexFunc(function, func(i instruction) bool { return i.address == target })
		if err != nil || begin < 0 || end-begin+1 <= len(largest) {
			continue
		}
		largest = nil
		for _, i := range function[begin : end+1] {
			largest = append(largest, i.text)
		}
	}
	return largest
}
