package sysfs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/machine/topology/topologytest"
)

// Reading a recorded directory opens each file once, and each directory once if its files are read one after another:
// a machine with thousands of CPUs has a hundred thousand.
func TestTreeOpensEachFileOnce(t *testing.T) {
	const cpus, files = 8, 5
	dir := t.TempDir()
	names := []string{}
	for cpu := range cpus {
		for file := range files {
			names = append(names, fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/file%d", cpu, file))
			put(t, dir, names[len(names)-1], "1")
		}
	}
	fsys, err := OpenRoot(dir)
	require.NoError(t, err)
	opened := topologytest.WatchOpens(t, dir)
	for _, name := range names {
		_, err := ReadInt(fsys, name)
		require.NoError(t, err)
	}
	const common = 4 // sys/devices/system/cpu
	total := 0
	for _, n := range opened() {
		total += n
	}
	require.Equal(t, common+2*cpus+cpus*files, total)
}
