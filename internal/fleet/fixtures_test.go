package fleet

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// fixture writes the visits of a recorded fleet into a directory.
func fixture(t testing.TB, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("../../testdata/fleet", name+".txtar"))
	require.NoError(t, err)
	dir := t.TempDir()
	for _, file := range archive.Files {
		path := filepath.Join(dir, file.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, file.Data, 0o666))
	}
	return dir
}

// Two nodes of a real Kubernetes, of which one was slowed (testdata/kubernetes/run): it alone is named. The visit that was killed counts
// as cut, and that of the pod that followed it is there.
func TestKubernetesFixture(t *testing.T) {
	j := judgeDir(t, fixture(t, "kubernetes"), Options{Margin: 0.2, FDR: 0.05, Slot: 20 * time.Second, Now: time.Now().AddDate(100, 0, 0)})
	var named []string
	for _, s := range j.Slow {
		named = append(named, s.Node+" "+s.Measure)
	}
	assert.ElementsMatch(t, []string{"b compute-one", "b compute-all", "b latency"}, named)
	assert.Equal(t, 1, j.Visits.Cut)
	assert.Equal(t, map[State]int{Judged: 2}, j.States)
	assert.Len(t, j.Classes, 1)
	assert.Empty(t, j.Wrong)
	assert.Empty(t, j.Warnings)
}
