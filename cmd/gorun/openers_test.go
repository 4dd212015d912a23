package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mayOpen are the files that open others themselves, and which these are. Everything else that a command reads or writes may be what
// somebody put there, and is opened by internal/files/input and internal/files/output. A file of tests, and what only developing needs, may open
// anything; so may everything open os.DevNull.
var mayOpen = map[string]string{
	"internal/files/input/input.go":       "an opener",
	"internal/files/output/output.go":     "an opener",
	"internal/kernel/sysfs/this.go":       "the kernel's",
	"internal/kernel/sysfs/root.go":       "a recorded machine, by the rules of internal/files/input, which imports it",
	"internal/kernel/sysfs/tree.go":       "a recorded machine, by the rules of internal/files/input, which imports it",
	"internal/kernel/linux/error.go":      "the kernel's",
	"internal/kernel/linux/exec.go":       "the kernel's; the terminal of this process",
	"internal/kernel/linux/kernelfile.go": "the kernel's",
	"internal/kernel/linux/procfile.go":   "the kernel's",
	"internal/work/live/pilot.go":         "the kernel's",
	"internal/work/numa/support.go":       "the kernel's",
	"internal/place/subject/folder.go":    "states that gorun has written, in a folder of the user's own",
	"internal/place/subject/putback.go":   "the kernel's",
	"internal/place/subject/state.go":     "the kernel's",
	"internal/place/subject/subject.go":   "the kernel's",
	"internal/place/subject/switch.go":    "the kernel's",
	"internal/work/fleet/read.go":         "visits",
	"internal/work/fleet/visit.go":        "a new file; its folder",
	"internal/guard/checkout/checkout.go": "a new file in a folder of gorun's own",
}

// openers are the functions that open a file by its name.
var openers = map[string][]string{
	"os":        {"Open", "OpenFile", "OpenInRoot", "OpenRoot", "ReadFile", "Create", "WriteFile", "CopyFS"},
	"syscall":   {"Open", "Openat"},
	"unix":      {"Open", "Openat", "Openat2"},
	"ioutil":    {"ReadFile", "WriteFile"},
	"txtar":     {"ParseFile"},
	"buildinfo": {"ReadFile"},
	"elf":       {"Open"},
	"parser":    {"ParseFile", "ParseDir"},
}

// No command opens a file by itself: it could wait in open(2) for ever, and read without an end.
func TestOpeners(t *testing.T) {
	unused := map[string]bool{}
	for file := range mayOpen {
		unused[file] = true
	}
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		base := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (base == "testdata" || base == "tests" || base == "dist" || strings.HasSuffix(base, "test")):
			return filepath.SkipDir
		case entry.IsDir(), !strings.HasSuffix(base, ".go"), strings.HasSuffix(base, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if file.Comments != nil && strings.Contains(file.Comments[0].Text()+file.Comments[0].List[0].Text, "go:build man") {
			return nil // it only makes the man pages
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if is && opens(call) {
				assert.Contains(t, mayOpen, name, "it opens a file: use internal/files/input or internal/files/output")
				delete(unused, name)
			}
			return true
		})
		return nil
	}))
	assert.Empty(t, unused, "they open no file")
}

// opens reports whether a call opens a file by its name.
func opens(call *ast.CallExpr) bool {
	of, is := call.Fun.(*ast.SelectorExpr)
	if !is || len(call.Args) == 0 {
		return false
	}
	pkg, is := of.X.(*ast.Ident)
	if !is || !slices.Contains(openers[pkg.Name], of.Sel.Name) {
		return false
	}
	null, is := call.Args[0].(*ast.SelectorExpr)
	return !is || null.Sel.Name != "DevNull"
}
