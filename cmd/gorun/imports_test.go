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

// stages is the way data flows: a package imports only what stands before it.
var stages = []string{
	"hint", "catalog", "cpuset", "sysfs", "stats", "result", "topology", "cgroup", "linux", "perf", "placement", "measure", "matrix",
	"experiment", "render", "primes", "contend", "c2c", "load", "numa", "process", "launch", "report", "metrics", "run",
}

// The imports of our own packages, tests left out, follow the stages; what is new must be given its place here. Which
// package may import which library is in .depguard.yml.
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
			if before, ok := strings.CutPrefix(imported, "gorun/internal/"); ok && internal {
				require.False(t, stage == "render" && before == "measure", "results are shown without being taken")
				require.Less(t, slices.Index(stages, before), at, "%s imports %s: data flows one way", pkg.ImportPath, imported)
			}
		}
	}
}
