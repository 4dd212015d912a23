package numa

import (
	"errors"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/result"
	"gorun/internal/tests/hosts"
	"gorun/internal/topology"
)

func TestMark(t *testing.T) {
	plain := result.NumaRow{
		PreferredNode: None, NUMABalancing: KeepSetting, Mem: Float, CPU: Float,
		BufferBytes: 64 << 20, Pages: "4k", Access: "random",
	}
	with := func(change func(*result.NumaRow)) result.NumaRow {
		row := plain
		change(&row)
		return row
	}
	pages := func(kind string, mem int) result.NumaRow {
		return with(func(r *result.NumaRow) { r.Pages, r.Mem = kind, mem })
	}
	balancing := func(value int) result.NumaRow {
		return with(func(r *result.NumaRow) { r.NUMABalancing = value })
	}
	on := func(mem int) result.NumaRow { return pages("4k", mem) }
	preferred := func(by string, mem, cpu int) result.NumaRow {
		return with(func(r *result.NumaRow) { r.PreferredNode, r.PreferredBy, r.Mem, r.CPU = 1, by, mem, cpu })
	}
	refused := hint.With(errors.New("refused"), "ask nicely")
	for _, c := range []struct {
		name    string
		support Support
		row     result.NumaRow
		want    string
	}{
		{"all is granted", Support{}, plain, ""},

		{"balancing is so", Support{Balancing: 1, SetBalancing: refused}, balancing(1), ""},
		{"balancing is kept", Support{Balancing: 1, SetBalancing: refused}, plain, ""},
		{
			"balancing is otherwise",
			Support{Balancing: 1, SetBalancing: refused},
			balancing(0),
			"NUMA balancing is 1 and cannot be set to 0: refused (ask nicely)",
		},
		{"balancing can be set", Support{Balancing: 1}, balancing(0), ""},
		{
			"balancing is hidden",
			Support{Unread: errors.New("hidden")},
			balancing(0),
			"hidden (--numa-balancing keep leaves it as it is)",
		},
		{"balancing is hidden and kept", Support{Unread: errors.New("hidden"), SetBalancing: refused}, plain, ""},

		{"by prctl", Support{Prctl: refused}, preferred(ByPrctl, 0, 0), "refused (ask nicely)"},
		{"by prctl, granted", Support{Mempolicy: refused}, preferred(ByPrctl, 0, 0), ""},
		{"none by prctl", Support{Prctl: refused}, plain, ""},
		{"by mempolicy", Support{Mempolicy: refused}, preferred(ByMempolicy, Float, 0), "refused (ask nicely)"},
		{"by mempolicy, granted", Support{Prctl: refused}, preferred(ByMempolicy, Float, 0), ""},
		{
			"by mempolicy, bound",
			Support{},
			preferred(ByMempolicy, 1, Float),
			"the memory is bound, so a memory policy cannot prefer another node",
		},

		{
			"a mapping",
			Support{Map: func(o linux.AreaOptions) error {
				if o == (linux.AreaOptions{Bytes: 64 << 20, Node: 1, Pages: linux.Pages2M}) {
					return refused
				}
				return nil
			}},
			pages("2m", 1), "refused (ask nicely)",
		},
		{
			"too small a node",
			Support{Memory: map[int]uint64{0: 1 << 30, 1: 63 << 20}},
			on(1), "node 1 has 63 MiB of memory, less than the buffer's 64 MiB",
		},
		{"a large node", Support{Memory: map[int]uint64{0: 1 << 30, 1: 63 << 20}}, on(0), ""},
	} {
		rows := []result.NumaRow{c.row}
		assert.Equal(t, c.want == "", c.support.Mark(rows), c.name)
		assert.Equal(t, c.want, rows[0].Unsupported, c.name)
	}
	ignored := func(row result.NumaRow, balancing int) result.NumaRow {
		row.NUMABalancing = balancing
		return row
	}
	for _, c := range []struct {
		support Support
		row     result.NumaRow
		want    string
	}{
		{Support{Balancing: 1}, ignored(preferred(ByPrctl, 0, 0), 0), linux.PreferredNodeIgnored},
		{Support{}, preferred(ByPrctl, 0, 0), linux.PreferredNodeIgnored},
		{Support{Balancing: 1}, preferred(ByPrctl, 0, 0), ""},
		{Support{}, ignored(preferred(ByPrctl, 0, 0), 1), ""},
		{Support{Unread: refused}, preferred(ByPrctl, 0, 0), ""},
		{Support{Prctl: refused}, preferred(ByPrctl, 0, 0), ""},
		{Support{}, preferred(ByMempolicy, Float, 0), ""},
		{Support{}, plain, ""},
	} {
		rows := []result.NumaRow{c.row}
		c.support.Mark(rows)
		assert.Equal(t, c.want, rows[0].NoEffect, "%+v, %+v", c.support, c.row)
	}
	rows := []result.NumaRow{preferred(ByPrctl, 0, 0), plain}
	assert.True(t, Support{Prctl: refused}.Mark(rows), "one is left")
	assert.NotEmpty(t, rows[0].Unsupported)
	assert.Empty(t, rows[1].Unsupported)
}

func TestReadSupport(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2")
	s := ReadSupport(fstest.MapFS{"proc/sys/kernel/numa_balancing": {Data: []byte("1\n")}}, m)
	assert.Equal(t, 1, s.Balancing)
	for _, node := range m.Nodes {
		assert.Equal(t, *node.MemoryBytes, s.Memory[node.Node])
	}

	kernel := fstest.MapFS{"proc/sys/kernel/osrelease": &fstest.MapFile{Data: []byte("6.1.0\n")}}
	s = ReadSupport(kernel, m)
	assert.Zero(t, s.Balancing, "it has none")
	assert.NoError(t, s.Unread)
	for _, hidden := range []fstest.MapFS{{}, {"proc/sys/kernel/numa_balancing": &fstest.MapFile{}}} {
		assert.ErrorContains(t, ReadSupport(hidden, m).Unread, "whether NUMA balancing is on cannot be read")
	}

	s = ReadSupport(kernel, hosts.Machine(t, "memoryless-node"))
	assert.Len(t, s.Memory, 1, "the other node has none")
	assert.NotEmpty(t, s.lackMemory(result.NumaRow{Mem: Float, FirstTouch: TouchFar}))
}

// Measure can do what Support reports for this machine; TestMeasure tries it.
func TestProbeThisMachine(t *testing.T) {
	m, err := topology.Read(os.DirFS("/"))
	require.NoError(t, err)
	s := ReadSupport(os.DirFS("/"), m)
	for _, way := range preferredWays {
		s.Probe(m, way.name)
	}
	if file, err := os.OpenFile("/proc/sys/kernel/numa_balancing", os.O_WRONLY, 0); err == nil {
		require.NoError(t, file.Close())
		assert.NoError(t, s.SetBalancing)
	} else {
		assert.Error(t, s.SetBalancing)
	}
}
