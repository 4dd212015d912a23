package fleet

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the expected judgements in testdata/fleet anew")

// Visits by a real Slurm of two nodes (make slurm): in one fleet, another program computes on the CPU of n0.
func TestSlurmVisits(t *testing.T) {
	for name, slow := range map[string][]string{"slurm-slowed": {"n0 latency", "n0 compute-all"}, "slurm-healthy": nil} {
		path := "../../testdata/fleet/" + name + ".txtar"
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		dir := t.TempDir()
		for _, file := range archive.Files[1:] {
			to := filepath.Join(dir, file.Name)
			require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o777))
			require.NoError(t, os.WriteFile(to, file.Data, 0o666))
		}
		o := options()
		o.Slot, o.Margin = 7*time.Second, 0.2
		j := judgeDir(t, dir, o)
		var named []string
		for _, s := range j.Slow {
			named = append(named, s.Node+" "+s.Measure)
		}
		assert.Equal(t, slow, named, name)
		table := shown(t, j, "table")
		if *update {
			archive.Files[0].Data = []byte(table)
			require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o666))
		}
		assert.Equal(t, string(archive.Files[0].Data), table)
	}
}
