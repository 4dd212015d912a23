// Package hosts gives tests the captured machines of testdata/hosts. The tests are of packages two directories below the root.
package hosts

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/sysfs"
	"gorun/internal/topology"
)

const dir = "../../testdata/hosts/"

// Names returns the names of all machines.
func Names(t testing.TB) (names []string) {
	t.Helper()
	files, err := filepath.Glob(dir + "*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".txtar"))
	}
	return names
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
