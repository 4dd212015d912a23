package numa

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/child"
	"gorun/internal/guardian"
	"gorun/internal/result"
)

// A row that keeps NUMA balancing has the value from before the run, also after a row that has set another one.
func TestKeepIsTheValueBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "numa_balancing")
	require.NoError(t, os.WriteFile(path, []byte("1\n"), 0o600))
	held, err := guardian.New(child.Self{}).Hold(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, held.Restore()) }()
	p := &prober{balancing: held}
	for _, set := range []bool{true, false} { // without the flag, rows keep it in a matrix
		require.NoError(t, os.WriteFile(path, []byte("0\n"), 0o600)) // the row before
		require.NoError(t, p.balance(Cell{Request: Request{Row: result.NumaRow{NUMABalancing: Keep}}, SetBalancing: set}))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "1\n", string(text))
	}
	require.NoError(t, (&prober{}).balance(Cell{}), "no row sets it")
}
