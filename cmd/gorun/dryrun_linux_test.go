package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/machine/topology/topologytest"
)

// A dry run reads the machine once, however many cells it has: it opens no file once for each cell.
func TestDryRunReadsTheMachineOnce(t *testing.T) {
	const cpus = 16
	const most = 3 // other parts read some files too: the caches of the first CPU, the list of online CPUs
	whole := 0     // the files that topo opens
	sysroot := t.TempDir()
	require.NoError(t, topologytest.Large{CPUs: cpus, Nodes: 2}.WriteDir(sysroot))
	for _, c := range dryRuns {
		t.Run(c.name, func(t *testing.T) {
			opened := topologytest.WatchOpens(t, sysroot)
			var errs strings.Builder
			e := defaultEnv()
			e.Stdout, e.Stderr = io.Discard, &errs
			require.Zero(t, execute(t.Context(), dryRunOn(c.args, sysroot), e), errs.String())
			all := 0
			for name, n := range opened() {
				if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
					require.LessOrEqual(t, n, most, name)
					all += n
				}
			}
			if whole == 0 {
				whole = all
				require.Greater(t, whole, cpus*10, "it is read at all")
			}
			require.Less(t, all, whole+50)
		})
	}
}
