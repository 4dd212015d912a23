// Package hosts gives tests the captured machines of testdata/hosts.
package hosts

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/topology"
)

// dir is the folder of the machines. Tests run in the folder of their package, which is somewhere below.
var dir = func() string {
	dir := "testdata/hosts/"
	for range 9 {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = "../" + dir
	}
	return dir
}()

// Names returns the names of all machines.
func Names(t testing.TB) []string { return named(t, "*") }

// Damaged returns the names of the machines of which one file is damaged.
func Damaged(t testing.TB) []string { return named(t, "damaged/*") }

func named(t testing.TB, pattern string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(dir + pattern + ".txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(file, dir), ".txtar"))
	}
	return names
}

// Archive returns the files of a machine as they are recorded.
func Archive(t testing.TB, name string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(dir + name + ".txtar")
	require.NoError(t, err)
	return archive
}

// Root returns the files of a machine.
func Root(t testing.TB, name string) fs.FS {
	t.Helper()
	root, err := sysfs.OpenRoot(dir + name + ".txtar")
	require.NoError(t, err)
	return root
}

// Machine returns the topology of a machine.
func Machine(t testing.TB, name string) *topology.Machine {
	t.Helper()
	m, err := topology.Read(Root(t, name))
	require.NoError(t, err)
	return m
}

// All returns all machines by name.
func All(t testing.TB) map[string]*topology.Machine {
	t.Helper()
	all := map[string]*topology.Machine{}
	for _, name := range Names(t) {
		all[name] = Machine(t, name)
	}
	return all
}
