package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/tests"
)

// writePages returns a directory with the man pages, and their names.
func writePages(t *testing.T) (dir string, pages []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "new/pages")
	o := dryRun(t, []string{"man", dir})
	require.Zero(t, o.code, o.stderr)
	assert.Empty(t, o.stdout+o.stderr)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		pages = append(pages, entry.Name())
	}
	return dir, pages
}

// Each command has a page, with its flags and its topic, and so has each topic without a command. There are no other pages.
func TestMan(t *testing.T) {
	dir, pages := writePages(t)
	root, want := newRoot(defaultEnv()), 0
	root.InitDefaultCompletionCmd()
	forEach(root, func(cmd *cobra.Command) {
		section := ".1"
		if cmd.IsAdditionalHelpTopicCommand() {
			section = ".7"
		} else if !cmd.IsAvailableCommand() && cmd.HasParent() {
			return
		}
		want++
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + section
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		page := strings.ReplaceAll(string(text), `\-`, "-")
		assert.Contains(t, page, strings.ReplaceAll(cmd.Short, "'", `\(aq`), name)
		for _, g := range groupFlags(cmd.LocalFlags()) {
			for _, flag := range g.names() {
				everyRun := strings.Contains(page, "gorun-flags")
				assert.True(t, everyRun || strings.Contains(page, flag), "%s describes %s", name, flag)
			}
		}
	})
	assert.Len(t, pages, want)
	text, err := os.ReadFile(filepath.Join(dir, "gorun-contend.1"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "one\\-iteration", "the topic of a command is on its page")
	assert.Contains(t, string(text), `\fB\-\-load pattern\fP`, "its flags are")
}

// Earlier pages are replaced. A directory in which a page cannot be written keeps its files, and the error is one line and a
// hint.
func TestManRefused(t *testing.T) {
	dir, pages := writePages(t)
	old := filepath.Join(dir, pages[0])
	require.NoError(t, os.WriteFile(old, []byte("old"), 0o644))
	require.Zero(t, dryRun(t, []string{"man", dir}).code)
	text, err := os.ReadFile(old)
	require.NoError(t, err)
	assert.NotEqual(t, "old", string(text))

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	taken := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(taken, "gorun.1"), 0o755))
	for args, want := range map[string]string{
		"man":                  "gorun: error: man takes one directory, but got 0 arguments\ngorun: hint: gorun man DIR writes files into DIR\n",
		"man a b":              "gorun: error: man takes one directory, but got 2 arguments\ngorun: hint: gorun man DIR writes files into DIR\n",
		"man " + file:          "gorun: error: cannot write to " + file + ": not a directory\ngorun: hint: give a directory in which you may make files\n",
		"man " + file + "/dir": "gorun: error: cannot write to " + file + "/dir: not a directory\ngorun: hint: give a directory in which you may make files\n",
		"man " + taken: "gorun: error: " + filepath.Join(taken, "gorun.1") +
			": is a directory\ngorun: hint: name a file that you may write, in a directory that exists\n",
	} {
		o := dryRun(t, strings.Fields(args))
		assert.Equal(t, exitUsage, o.code, args)
		assert.Equal(t, want, o.stderr, args)
		assert.Empty(t, o.stdout, args)
	}
	left, err := os.ReadDir(taken)
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing is written but all")
}

// groff(1), with which man(1) formats pages, gives no warning.
func TestManWarnings(t *testing.T) {
	tests.Tools(t, "groff", "preconv") // the latter reads UTF-8 (Debian: groff-base)
	warnings := func(pages ...string) string {
		t.Helper()
		cmd := exec.Command("groff", append(strings.Fields("-man -Tutf8 -Kutf8 -ww -rLL=78n -z"), pages...)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Run(), stderr.String())
		return stderr.String()
	}
	dir, pages := writePages(t)
	for i, page := range pages {
		pages[i] = filepath.Join(dir, page)
	}
	assert.Empty(t, warnings(pages...))
	broken := filepath.Join(dir, "broken.1")
	require.NoError(t, os.WriteFile(broken, []byte(".TH X 1\n.NOSUCH\n"), 0o644))
	assert.NotEmpty(t, warnings(append(pages, broken)...), "a warning is seen, on the last page too")
}
