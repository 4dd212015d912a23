package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/machine/topology/topologytest"
)

// dryRuns are the plans whose cost may grow with the machine. MACHINE stands for --sysroot and its directory. With a budget
// of 0 no run is refused for taking too long.
var dryRuns = []struct{ name, args string }{
	{"topo", "topo MACHINE"},
	{"primes", "primes --dry-run MACHINE"},
	{"contend", "contend --dry-run --budget 0 MACHINE"},
	{"c2c", "c2c --dry-run --budget 0 MACHINE"},
	{"numa", "numa --dry-run --budget 0 MACHINE"},
	{"pair", "pair --auto --dry-run --budget 0 MACHINE"},
	{"bind", "bind --dry-run MACHINE"},
	{"futex", "futex --dry-run --budget 0 MACHINE"},
	{"migrate", "migrate --dry-run --budget 0 MACHINE"},
	{"memory", "memory --dry-run --budget 0 MACHINE"},
	{"exec-auto", "exec --placements auto --dry-run --budget 0 MACHINE -- true"},
	{"classic-matrix", "matrix primes --preset classic --dry-run --budget 0 MACHINE"},
	{"pinned-matrix", "matrix primes --pin-cpus all,one-per-core --workers 1,2,4,8,16 --dry-run --budget 0 MACHINE"},
}

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
			require.Zero(t, execute(t.Context(), strings.Fields(strings.Replace(c.args, "MACHINE", "--sysroot="+sysroot, 1)), e), errs.String())
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
