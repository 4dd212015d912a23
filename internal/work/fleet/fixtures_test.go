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

// Fleets of two real nodes each, which make slurm and make kubernetes recorded: of some, one node was slowed, and it alone is named. The
// first file of an archive is what is shown of the others.
func TestRecordedFleets(t *testing.T) {
	for name, f := range map[string]struct {
		slot time.Duration
		slow []string
		cut  int
	}{
		"slurm-slowed":  {slot: 7 * time.Second, slow: []string{"n0 latency", "n0 compute-all"}},
		"slurm-healthy": {slot: 7 * time.Second},
		"kubernetes":    {slot: 20 * time.Second, slow: []string{"b compute-one", "b latency", "b compute-all"}, cut: 1},
	} {
		path := filepath.Join("../../../testdata/fleet", name+".txtar")
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		dir := t.TempDir()
		for _, file := range archive.Files[1:] {
			to := filepath.Join(dir, file.Name)
			require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o777))
			require.NoError(t, os.WriteFile(to, file.Data, 0o666))
		}
		o := options()
		o.Slot, o.Margin = f.slot, 0.2
		j := judgeDir(t, dir, o)
		var named []string
		for _, s := range j.Slow {
			named = append(named, s.Node+" "+s.Measure)
		}
		assert.Equal(t, f.slow, named, name)
		assert.Equal(t, f.cut, j.Visits.Cut, name)
		table := shown(t, j, "table")
		if *update {
			archive.Files[0].Data = []byte(table)
			require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o666))
		}
		assert.Equal(t, string(archive.Files[0].Data), table, name)
	}
}
