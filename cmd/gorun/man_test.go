package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var manDir = flag.String("man", "", "write the man pages to this directory")

// TestMan makes a man page of every command: `make man` keeps them, so that the generator is not in the binary.
func TestMan(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	root := newRoot(defaultEnv())
	root.DisableAutoGenTag = true // no date: the same sources give the same pages
	header := &doc.GenManHeader{Section: "1", Source: "gorun " + version, Manual: "gorun"}
	require.NoError(t, doc.GenManTree(root, header, dir))
	forEach(root, func(cmd *cobra.Command) {
		if !cmd.IsAvailableCommand() && cmd != root {
			return
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		page, err := os.ReadFile(filepath.Join(dir, name+".1"))
		require.NoError(t, err)
		assert.Contains(t, string(page), cmd.Short)
	})
}
