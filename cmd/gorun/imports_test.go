package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
)

// withinWork has the packages of internal/work that may import another one of it: c2c begins its threads as contend does, and a visit of
// fleet takes samples of experiments.
var withinWork = map[string][]string{
	"c2c": {"contend"}, "fleet": {"c2c", "contend", "memory", "primes"},
}

// A package imports only what stands before it in the list of folders in CONTRIBUTING.md. cmd/gorun joins all of them. csrc stands on base.
// .depguard.yml has the libraries that each package may import.
func TestImports(t *testing.T) {
	text := tests.Read(t, "../../CONTRIBUTING.md")
	folders := []string{"cmd"}
	for _, row := range regexp.MustCompile(`(?m)^    ([a-z]+) {2,}`).FindAllStringSubmatch(string(text), -1) {
		folders = append(folders, row[1])
	}
	entries, err := os.ReadDir("../../internal")
	require.NoError(t, err)
	for _, entry := range entries {
		assert.Contains(t, folders, entry.Name(), "CONTRIBUTING.md lists all folders")
	}
	assert.Len(t, folders, len(entries)+1, "and no others")

	module, err := exec.Command("go", "list", "-m").Output()
	require.NoError(t, err)
	root := strings.TrimSpace(string(module)) + "/"
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	list.Dir = "../.."
	out, err := list.Output()
	require.NoError(t, err)
	split := func(path string) (folder, name string) {
		path = strings.TrimPrefix(strings.TrimPrefix(path, root), "internal/")
		folder, name, _ = strings.Cut(path, "/")
		return folder, name
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		folder, name := split(words[0])
		if folder == "cmd" {
			continue
		}
		for _, path := range words[1:] {
			of, imported := split(path)
			switch {
			case !strings.HasPrefix(path, root):
			case folder == "csrc":
				assert.Equal(t, "base", of, "%s imports %s", words[0], path)
			case of == "csrc":
			case of == "dev":
				assert.True(t, folder == "dev" || strings.HasSuffix(name, "test"), "%s imports %s", words[0], path)
			case of == folder && of == "work":
				assert.Contains(t, withinWork[name], imported, "%s imports %s", words[0], path)
			default:
				assert.LessOrEqual(t, slices.Index(folders, of), slices.Index(folders, folder), "%s imports %s", words[0], path)
			}
		}
	}
}
