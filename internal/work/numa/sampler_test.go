package numa

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/experiment"
	"gorun/internal/guard/guardian"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

// A row that keeps a setting has the value from before the run, also after a row that changed it.
func TestKeepIsTheValueBefore(t *testing.T) {
	for name, c := range map[string]struct {
		value func(Cell) int
		keep  []Cell
	}{
		"NUMA balancing": {Cell.balancing, []Cell{
			{Request: Request{Row: result.NumaRow{NUMABalancing: KeepSetting}}, SetBalancing: true},
			{Request: Request{Row: result.NumaRow{NUMABalancing: KeepSetting}}}, // without the flag, rows keep it in a matrix
		}},
		"migration cost": {func(c Cell) int { return migrationCost.number(c, linux.MigrationCost) }, []Cell{{}}},
	} {
		path := filepath.Join(t.TempDir(), "setting")
		require.NoError(t, os.WriteFile(path, []byte("1\n"), 0o600), name)
		file, err := guardian.New(launch.Self{}).Hold(path)
		require.NoError(t, err, name)
		for _, cell := range c.keep {
			require.NoError(t, os.WriteFile(path, []byte("0\n"), 0o600)) // by the previous row
			require.NoError(t, heldFile{file, c.value}.set(cell), name)
			text := tests.Read(t, path)
			assert.Equal(t, "1\n", string(text), name)
		}
		require.NoError(t, release([]heldFile{{file, c.value}}), name)
	}
}

func TestKnobNumbers(t *testing.T) {
	c := Cell{Request: Request{Row: result.NumaRow{ScanDelay: 0.05, MigrationCost: 50e-6}}}
	assert.Equal(t, 50, scanDelay.number(c, linux.NUMAScanDelay))
	assert.Equal(t, 50, scanDelay.number(c, linux.NUMAScanPeriod))
	assert.Equal(t, 50000, migrationCost.number(c, linux.MigrationCost))
	assert.Equal(t, asBefore, scanDelay.number(Cell{}, linux.NUMAScanDelay))
}

// If this process may not set a flag's value, the plan is refused, and the error names the flag and the remedy.
func TestKnobsNeedPrivilege(t *testing.T) {
	file, err := linux.MigrationCost.File()
	if err == nil {
		err = linux.MaySetKernelFile(file, 1)
	}
	if err == nil {
		t.Skip("needs a user who may not set the migration cost")
	}
	m := thisMachine(t)
	_, err = withFlags(t, map[string]string{"migration-cost": "50us"}).Resolve(experiment.Machine{Machine: m, CPUs: m.Allowed(), Root: this, Live: true})
	require.ErrorContains(t, err, "--migration-cost 50µs: ")
	assert.Contains(t, hint.Of(err), "root")
}
