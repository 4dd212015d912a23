package reference

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/result"
)

func TestRead(t *testing.T) {
	table, err := Read("numa")
	require.NoError(t, err)
	assert.Contains(t, table.Source, "How effective is numa_preferred_nid")
	assert.Contains(t, table.Machines["intel"], "8167M")
	assert.Contains(t, table.Machines["amd"], "7551")
	assert.Contains(t, table.Notes, "Seconds of the probe")
	row := table.Find(func(row Row) bool { return row["machine"] == "amd" && row["row"] == "20" })
	require.NotNil(t, row)
	columns := []result.ReferenceColumn{{Name: "avg"}, {Name: "cpu"}, {Name: "nothing"}}
	assert.Equal(t, map[string]float64{"avg": 280.36}, row.Figures(columns), "F is no figure")
	assert.Nil(t, table.Find(func(row Row) bool { return row["machine"] == "arm" }))

	_, err = Read("absent")
	require.Error(t, err)
}

// Every table names its source and its machine.
func TestTables(t *testing.T) {
	for _, name := range []string{"goroutines", "pair", "bind", "contend", "numa", "migrations"} {
		table, err := Read(name)
		require.NoError(t, err, name)
		assert.NotEmpty(t, table.Notes, name)
		for _, row := range table.Rows {
			assert.Contains(t, table.Machines, row["machine"], name)
		}
	}
}
