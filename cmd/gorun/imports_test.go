package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// onlyIn says which packages alone may import a package: the doors of the house.
var onlyIn = map[string][]string{
	"golang.org/x/sys/unix":               {"gorun/internal/linux", "gorun/internal/perf"},
	"github.com/spf13/cobra":              {"gorun/cmd/gorun"},
	"github.com/prometheus/client_golang": {"gorun/internal/metrics"},
	"gorun/csrc":                          {},
	"gorun/internal/render":               {"gorun/cmd/gorun"},
	"gorun/internal/metrics":              {"gorun/cmd/gorun"},
	"github.com/jedib0t/go-pretty/v6":     {"gorun/internal/render"},
	"github.com/prometheus/procfs":        {"gorun/internal/measure"},
	"golang.org/x/tools/txtar":            {"gorun/internal/sysfs", "gorun/internal/topology"},
}

// stages is the way data flows: a package imports only what stands before it, or beside it in no direction.
var stages = []string{
	"hint", "cpuset", "sysfs", "result", "topology", "cgroup", "linux", "perf", "placement", "measure", "primes", "render",
	"metrics",
}

// The imports of the whole module, tests left out, keep the rules above; what is new must be given its place here.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "gorun/...").Output()
	require.NoError(t, err)
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		err := dec.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		stage, internal := strings.CutPrefix(pkg.ImportPath, "gorun/internal/")
		at := slices.Index(stages, stage)
		if internal {
			require.GreaterOrEqual(t, at, 0, "%s has no place in the flow of data", pkg.ImportPath)
		}
		for _, imported := range pkg.Imports {
			for door, owners := range onlyIn {
				if imported == door || strings.HasPrefix(imported, door+"/") {
					require.Contains(t, owners, pkg.ImportPath, "%s imports %s", pkg.ImportPath, imported)
				}
			}
			if before, ok := strings.CutPrefix(imported, "gorun/internal/"); ok && internal {
				require.Less(t, slices.Index(stages, before), at, "%s imports %s: data flows one way", pkg.ImportPath, imported)
			}
		}
	}
}
