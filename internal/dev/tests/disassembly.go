package tests

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
)

// objdump returns the disassembler of this architecture.
func objdump() string {
	if name := os.Getenv("OBJDUMP"); name != "" {
		return name
	}
	return "objdump"
}

// Compiled compiles a package, and returns the path of its archive. It skips the test if there is no disassembler, or if the compiler
// adds a sanitizer's instructions.
func Compiled(t testing.TB, path string) (archive string) {
	t.Helper()
	if strings.Contains(os.Getenv("CGO_CFLAGS"), "-fsanitize") {
		t.Skip("needs code without a sanitizer")
	}
	Tools(t, objdump(), "go")
	archive = filepath.Join(t.TempDir(), "package.a")
	if out, err := exec.Command("go", "build", "-o", archive, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return archive
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

// LargestLoop returns the instructions between a jump back and its target, of a C function in a package's archive.
func LargestLoop(t testing.TB, archive, symbol string) (largest []string) {
	t.Helper()
	args := []string{"--disassemble=" + symbol, "--no-show-raw-insn", archive}
	if runtime.GOARCH == "amd64" {
		args = append([]string{"-M", "intel"}, args...)
	}
	out, _ := exec.Command(objdump(), args...).Output() // it fails because it does not know Go's own files in the archive
	var function []instruction
	for _, m := range disassembled.FindAllStringSubmatch(string(out), -1) {
		address, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		function = append(function, instruction{address, spaces.ReplaceAllString(comment.ReplaceAllString(m[2], ""), " ")})
	}
	if len(function) == 0 {
		t.Fatalf("there is no %s in %s", symbol, archive)
	}
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
		var loop []string
		for _, i := range function[begin : end+1] {
			loop = append(loop, i.text)
		}
		if !slices.Contains(loop, "ret") { // else it jumps back to the end of the function
			largest = loop
		}
	}
	return largest
}
